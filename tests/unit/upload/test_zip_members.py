"""Files of uploaded ZIPs, honest and hostile."""

import io
import stat
import zipfile
from collections.abc import Mapping

import pytest

from analytiq.errors import AnalytiqError, CorruptFileError, LimitExceededError
from analytiq.ingestion.upload.zip_members import UploadedZip

MEBIBYTE = 1024 * 1024


def packed(files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def opened(content: bytes, *, max_members: int = 100, max_member_bytes: int = 64 * MEBIBYTE) -> UploadedZip:
    return UploadedZip(io.BytesIO(content), max_members=max_members, max_member_bytes=max_member_bytes)


def refusals(content: bytes, **limits: int) -> dict[str, str | None]:
    return {item.path: item.error and item.error.code for item in opened(content, **limits).members()}


def test_files_are_read_with_their_folders_and_folders_are_none() -> None:
    archive = opened(packed({"a/": b"", "a/b.txt": b"one", "ä.txt": b"", "c.bin": bytes(600_000)}))
    read = {item.path: b"".join(archive.blocks(item)) for item in archive.members()}
    assert read == {"a/b.txt": b"one", "ä.txt": b"", "c.bin": bytes(600_000)}


@pytest.mark.parametrize("name", ["../out.txt", "/etc/passwd", "a/../../b.txt", "C:/x.txt", "a/" * 600 + "x"])
def test_path_that_leaves_the_folder_is_refused_alone(name: str) -> None:
    assert refusals(packed({name: b"x", "good.txt": b"x"})) == {name: "invalid_input", "good.txt": None}


def test_encrypted_file_is_refused_alone() -> None:
    content = bytearray(packed({"locked.txt": b"x", "good.txt": b"x"}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    assert refusals(bytes(content)) == {"locked.txt": "encrypted_file", "good.txt": None}


def test_link_is_refused_alone() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("good.txt", "x")
    assert refusals(file.getvalue()) == {"link": "unsupported_format", "good.txt": None}


def test_bomb_and_large_file_are_refused_before_they_are_unpacked() -> None:
    content = packed({"bomb": bytes(20 * MEBIBYTE), "small.txt": b"x"})
    assert refusals(content) == {"bomb": "limit_exceeded", "small.txt": None}
    content = packed({"large.txt": bytes(11), "small.txt": b"x"})
    assert refusals(content, max_member_bytes=10) == {"large.txt": "limit_exceeded", "small.txt": None}


def test_files_that_together_unpack_to_too_much_are_refused_from_there_on() -> None:
    content = bytearray(packed({f"{number}": b"x" for number in range(4)}, method=zipfile.ZIP_STORED))
    at = content.index(b"PK\x01\x02")
    for _ in range(4):  # the directory may say anything: 200 MB each
        content[at + 20 : at + 28] = (200 * MEBIBYTE).to_bytes(4, "little") * 2
        at = content.find(b"PK\x01\x02", at + 1)
    found = refusals(bytes(content), max_member_bytes=300 * MEBIBYTE)
    assert list(found.values()) == [None, None, "limit_exceeded", "limit_exceeded"]


def test_damaged_file_is_told_when_it_is_read() -> None:
    content = bytearray(packed({"a.txt": b"0123456789" * 10}, method=zipfile.ZIP_STORED))
    content[content.index(b"0123456789")] ^= 1
    archive = opened(bytes(content))
    with pytest.raises(CorruptFileError):
        list(archive.blocks(archive.members()[0]))


def test_too_many_files_are_refused_whole() -> None:
    with pytest.raises(LimitExceededError):
        opened(packed({f"{number}.txt": b"" for number in range(11)}), max_members=10)


def test_directory_beyond_its_bound_is_not_read() -> None:
    files = {f"{number}-{'x' * 200}": b"" for number in range(6_000)}
    with pytest.raises(LimitExceededError, match="directory"):
        opened(packed(files), max_members=10)


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"no zip at all", packed({"a": b"x"})[:-30], b"PK\x05\x06" + bytes(10)],
    # The packed one has the time in it.
    ids=["empty", "two bytes", "other text", "cut", "no directory"],
)
def test_what_is_no_zip_is_refused(content: bytes) -> None:
    with pytest.raises(AnalytiqError) as refused:
        opened(content).members()
    assert refused.value.code == "corrupt_file"
