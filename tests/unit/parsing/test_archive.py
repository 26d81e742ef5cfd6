from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing import archive
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.xml_part import parsed_xml


@pytest.fixture
def zip_path(tmp_path: Path) -> Path:
    return tmp_path / "document.zip"


def opened(path: Path) -> None:
    with open_package(path, noun="document"):
        pass


def write_zeros(path: Path, mebibytes: int, members: int = 1) -> None:
    with ZipFile(path, "w", ZIP_DEFLATED) as bomb:
        for number in range(members):
            with bomb.open(f"member{number}", "w") as member:
                for _ in range(mebibytes):
                    member.write(bytes(1024 * 1024))


def test_member_that_grows_a_thousand_times_is_refused(zip_path: Path) -> None:
    write_zeros(zip_path, 20)
    with pytest.raises(LimitExceededError, match="'member0' would grow"):
        opened(zip_path)


def test_small_members_may_pack_well(zip_path: Path) -> None:
    write_zeros(zip_path, 4)
    opened(zip_path)


def test_many_small_bombs_are_refused_by_their_sum(zip_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 10 * 1024 * 1024)
    write_zeros(zip_path, 4, members=3)
    with pytest.raises(LimitExceededError, match="unpacks to"):
        opened(zip_path)


def test_too_many_members_are_refused(zip_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 10)
    write_zeros(zip_path, 0, members=11)
    with pytest.raises(LimitExceededError, match="11 members"):
        opened(zip_path)


def test_file_that_is_no_zip_is_corrupt(zip_path: Path) -> None:
    zip_path.write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(CorruptFileError, match="undamaged copy"):
        opened(zip_path)


def test_member_with_a_password_says_what_to_do(zip_path: Path) -> None:
    with ZipFile(zip_path, "w") as written:
        written.writestr("content.xml", "text")
    content = bytearray(zip_path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flags of the directory's entry
    zip_path.write_bytes(content)
    with pytest.raises(EncryptedFileError, match="The document opens only with a password"):
        opened(zip_path)


def test_member_packed_by_an_unknown_method_is_damage(zip_path: Path) -> None:
    with ZipFile(zip_path, "w") as written:
        written.writestr("content.xml", "text")
    content = bytearray(zip_path.read_bytes())
    content[content.index(b"PK\x01\x02") + 10] = 97
    zip_path.write_bytes(content)
    with (
        pytest.raises(CorruptFileError, match="The document is damaged"),
        open_package(zip_path, noun="document") as package,
    ):
        package.read("content.xml")


@pytest.mark.parametrize("content", ["<a>" * 300 + "</a>" * 300, f"<a>{'x' * 10_000_001}</a>"])
def test_part_beyond_the_limits_of_the_library_is_not_called_damage(zip_path: Path, content: str) -> None:
    with ZipFile(zip_path, "w", ZIP_DEFLATED) as written:
        written.writestr("content.xml", content)
    with (
        pytest.raises(LimitExceededError, match="The document is beyond what is read"),
        open_package(zip_path, noun="document") as package,
    ):
        parsed_xml(package.read("content.xml"))
