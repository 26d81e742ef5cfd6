"""Archives and mailboxes: their parts, by name and bytes, and what is refused."""

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryFile

import pikepdf
import pytest

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing import parts as parts_module
from analytiq.ingestion.parsing.base import ContainerParser, ParseOptions
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.mailbox import MailboxParser
from analytiq.ingestion.parsing.parts import PartCollector, clean_path
from analytiq.ingestion.parsing.pdf import PdfParser
from analytiq.ingestion.parsing.tar_archive import TarArchiveParser
from analytiq.ingestion.parsing.zip_archive import ZipArchiveParser

LETTER = b"Dear Ada, the invoice is attached. Yours, Grace"


def ignore(done: int, total: int) -> None:
    """Take no notice of progress."""


def unpacked(
    parser: ContainerParser, path: Path, *, most: int = 1000, file_name: str = ""
) -> tuple[dict[str, bytes], str, tuple[str, ...]]:
    """Return the bytes of the parts by path, the text, and the warnings."""
    with TemporaryFile() as file:
        parts = PartCollector(file, most=most)
        document = parser.parse_with_parts(path, ParseOptions(file_name=file_name), ignore, parts)
        found = {part.path: os.pread(file.fileno(), part.end - part.start, part.start) for part in parts.found}
    text = "\n\n".join(page.text for page in document.pages)
    return found, text, (*document.warnings, *parts.warnings())


def zip_of(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_files_of_a_zip_are_parts_and_its_text_is_their_list(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"letters/ada.txt": LETTER, "notes.md": b"# Notes\n\nNone."})
    found, text, warnings = unpacked(ZipArchiveParser(), path)
    assert found == {"letters/ada.txt": LETTER, "notes.md": b"# Notes\n\nNone."}
    assert text == "- letters/ada.txt\n- notes.md"
    assert warnings == ()
    assert detect_content_type(path) == "application/zip"


def test_names_that_climb_or_point_elsewhere_stay_below_the_archive(tmp_path: Path) -> None:
    names = ["../../etc/passwd.txt", "/root/key.txt", "C:\\Users\\ada\\a.txt", "a/./b/../c.txt", "x\u202etxt.exe.txt"]
    found, _, _ = unpacked(ZipArchiveParser(), zip_of(tmp_path / "a.zip", dict.fromkeys(names, LETTER)))
    assert list(found) == ["etc/passwd.txt", "root/key.txt", "Users/ada/a.txt", "a/b/c.txt", "x_txt.exe.txt"]


def test_files_of_one_name_are_parts_by_themselves(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    zip_of(path, {f"{number}.txt": f"This is text number {number}.".encode() for number in range(3)})
    content = path.read_bytes()
    for number in range(3):
        content = content.replace(f"{number}.txt".encode(), b"a.txt")
    path.write_bytes(content)
    found, _, _ = unpacked(ZipArchiveParser(), path)
    assert found == {
        name: f"This is text number {number}.".encode()
        for number, name in enumerate(["a.txt", "a (2).txt", "a (3).txt"])
    }


def test_what_is_not_taken_in_is_counted_and_named(tmp_path: Path) -> None:
    path = zip_of(
        tmp_path / "a.zip",
        {
            "kept.txt": LETTER,
            "empty.txt": b"",
            "tool.exe": b"MZ\x90\x00" + bytes(range(256)),
            "__MACOSX/._kept.txt": b"\x00\x05\x16\x07",
            "folder/.DS_Store": b"\x00\x00\x00\x01Bud1",
        },
    )
    with zipfile.ZipFile(path, "a") as archive:
        link = zipfile.ZipInfo("link.txt")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    found, text, warnings = unpacked(ZipArchiveParser(), path)
    assert list(found) == ["kept.txt"]
    assert text == "- kept.txt\n- empty.txt\n- tool.exe\n- link.txt"
    refused, left_out = warnings
    assert refused.startswith("3 parts were not taken in: 'empty.txt' (empty); 'tool.exe' (files of type ")
    assert refused.endswith(" are not read); 'link.txt' (a link)")
    assert left_out.startswith("2 files of the operating system")


def test_files_behind_a_password_are_named_and_the_others_are_taken_in(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"open.txt": LETTER, "secret.txt": LETTER})
    content = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.rindex(mark) + flags] |= 1
    path.write_bytes(content)
    found, _, warnings = unpacked(ZipArchiveParser(), path)
    assert list(found) == ["open.txt"]
    assert warnings[0].startswith("1 part was not taken in: 'secret.txt' (needs a password")


@pytest.mark.parametrize(
    ("charset", "name"), [("cp437", "Grüße aus Köln.txt"), ("utf-8", "Übersicht.txt"), ("cp866", "Отчёт за март.txt")]
)
def test_names_without_a_mark_for_utf8_are_read_in_their_charset(tmp_path: Path, charset: str, name: str) -> None:
    raw = name.encode(charset)
    path = zip_of(tmp_path / "a.zip", {"x" * len(raw): LETTER})
    path.write_bytes(path.read_bytes().replace(b"x" * len(raw), raw))
    found, _, _ = unpacked(ZipArchiveParser(), path)
    assert list(found) == [name]


def test_damaged_file_of_a_zip_is_named_and_the_others_are_taken_in(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bad.txt", b"This will be damaged.")
        archive.writestr("good.txt", LETTER)
    path.write_bytes(path.read_bytes().replace(b"This will", b"That will"))
    found, _, warnings = unpacked(ZipArchiveParser(), path)
    assert list(found) == ["good.txt"]
    assert warnings == ("1 part was not taken in: 'bad.txt' (damaged)",)


def test_zip_bomb_is_refused_by_its_directory(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"zeros.txt": bytes(32 * 1024 * 1024)})
    with pytest.raises(LimitExceededError, match="as a zip bomb does"):
        unpacked(ZipArchiveParser(), path)


def test_archive_unpacks_to_a_bounded_number_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "MAX_UNPACKED_BYTES", 1000)
    path = zip_of(tmp_path / "a.zip", {f"{number}.txt": LETTER * 10 for number in range(3)})
    with pytest.raises(LimitExceededError, match="unpacks to more than"):
        unpacked(ZipArchiveParser(), path)


def test_parts_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {f"{number}.txt": LETTER for number in range(30)})
    found, text, warnings = unpacked(ZipArchiveParser(), path, most=10)
    assert (len(found), text.count("\n")) == (10, 29)
    assert warnings[0].startswith("20 parts were not taken in: '10.txt', ")
    assert warnings[0].endswith("(more than 10 parts); and 10 more")
    found, _, warnings = unpacked(ZipArchiveParser(), path, most=0)
    assert found == {}
    assert "packed too deep in other files" in warnings[0]


def test_empty_archives_say_so(tmp_path: Path) -> None:
    assert unpacked(ZipArchiveParser(), zip_of(tmp_path / "a.zip", {})) == ({}, "", ("the archive is empty",))
    with tarfile.open(tmp_path / "a.tar", "w"):
        pass
    assert unpacked(TarArchiveParser(), tmp_path / "a.tar") == ({}, "", ("the archive is empty",))


def tar_of(path: Path, pack: Callable[[bytes], bytes]) -> Path:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in {"letters/ada.txt": LETTER, "../up.txt": LETTER}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, kind in {"link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "pipe": tarfile.FIFOTYPE}.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "letters/ada.txt"
            archive.addfile(member)
    path.write_bytes(pack(packed.getvalue()))
    return path


@pytest.mark.parametrize(
    ("pack", "suffix", "content_type"),
    [
        (bytes, ".tar", "application/x-tar"),
        (gzip.compress, ".tar.gz", "application/gzip"),
        (bz2.compress, ".tar.bz2", "application/x-bzip2"),
        (lzma.compress, ".tar.xz", "application/x-xz"),
    ],
)
def test_files_of_a_tar_are_parts_however_it_is_compressed(
    tmp_path: Path, pack: Callable[[bytes], bytes], suffix: str, content_type: str
) -> None:
    path = tar_of(tmp_path / f"a{suffix}", pack)
    found, text, warnings = unpacked(TarArchiveParser(), path)
    assert found == {"letters/ada.txt": LETTER, "up.txt": LETTER}
    assert text == "- letters/ada.txt\n- up.txt\n- link\n- hard\n- pipe"
    assert warnings == ("3 parts were not taken in: 'link', 'hard' (a link); 'pipe' (a device)",)
    assert detect_content_type(path) == content_type


@pytest.mark.parametrize(("pack", "suffix"), [(gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")])
def test_compressed_file_has_one_part_of_its_name(tmp_path: Path, pack: Callable[[bytes], bytes], suffix: str) -> None:
    path = tmp_path / "original"
    path.write_bytes(pack(b"name,price\nzebra,4000\n"))
    found, _, _ = unpacked(TarArchiveParser(), path, file_name=f"prices.csv{suffix}")
    assert found == {"prices.csv": b"name,price\nzebra,4000\n"}


def test_compressed_bomb_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"word " * 10_000_000))
    with pytest.raises(LimitExceededError, match="as a bomb does"):
        unpacked(TarArchiveParser(), path)


def test_truncated_tar_keeps_the_parts_before_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("first.txt", "second.txt"):
            member = tarfile.TarInfo(name)
            member.size = 3000
            archive.addfile(member, io.BytesIO(b"word " * 600))
    path.write_bytes(path.read_bytes()[:5000])
    found, _, warnings = unpacked(TarArchiveParser(), path)
    assert "first.txt" in found
    assert any("damaged" in warning for warning in warnings)


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(CorruptFileError, match="damaged"):
        unpacked(ZipArchiveParser(), path)


MESSAGE = (
    "From {sender} Thu Mar  5 10:00:00 2024\n"
    "From: {sender}\nTo: team@example.org\nSubject: {subject}\nDate: Tue, 5 Mar 2024 10:00:00 +0000\n\n{body}\n\n"
)


def test_messages_of_a_mailbox_are_parts(tmp_path: Path) -> None:
    path = tmp_path / "team.mbox"
    bodies = ["Hello\n\nFrom here on nothing begins.\n>From the start.", "Second", "Third"]
    subjects = ["Minutes: a/b", "Plan", "Plan"]
    path.write_text(
        "".join(
            MESSAGE.format(sender="ada@example.org", subject=subject, body=body)
            for subject, body in zip(subjects, bodies, strict=True)
        )
    )
    found, text, warnings = unpacked(MailboxParser(), path)
    assert list(found) == ["2024-03-05 Minutes a b.eml", "2024-03-05 Plan.eml", "2024-03-05 Plan (2).eml"]
    first = found["2024-03-05 Minutes a b.eml"]
    assert first.startswith(b"From: ada@example.org\n")
    assert first.endswith(b"Hello\n\nFrom here on nothing begins.\nFrom the start.\n")
    assert text.startswith("- 2024-03-05 Minutes a b.eml\n")
    assert warnings == ()
    path.rename(tmp_path / "unnamed")
    assert detect_content_type(tmp_path / "unnamed") == "application/mbox"


def test_office_files_stay_what_they_are_and_an_archive_of_their_folders_is_an_archive(tmp_path: Path) -> None:
    office = {"[Content_Types].xml": b"<Types/>", "_rels/.rels": b"<r/>", "word/document.xml": b"<w/>"}
    word = detect_content_type(zip_of(tmp_path / "a.zip", office))
    assert word.endswith("wordprocessingml.document")
    unpacked_office = {f"letter/{name}": content for name, content in office.items()}
    assert detect_content_type(zip_of(tmp_path / "b.zip", unpacked_office)) == "application/zip"


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        ("", "unnamed"),
        ("..", "unnamed"),
        ("a//b", "a/b"),
        ("a\x00b\n", "a_b_"),
        ("d" * 300 + "/" + "f" * 300 + ".txt", "d" * 200 + "/" + "f" * 196 + ".txt"),
        ("/".join(["d" * 150] * 10) + "/a.txt", "/".join(["d" * 150] * 4) + "/a.txt"),
    ],
)
def test_paths_are_cleaned(path: str, clean: str) -> None:
    assert clean_path(path) == clean


def test_files_in_a_pdf_are_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.attachments["prices.csv"] = pikepdf.AttachedFileSpec(
            pdf, b"name,price\nzebra,4000\n", filename="prices.csv"
        )
        pdf.save(path)
    found, _, _ = unpacked(PdfParser(), path)
    assert found == {"prices.csv": b"name,price\nzebra,4000\n"}
