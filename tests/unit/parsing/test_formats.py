import re
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analytiq.ingestion.parsing.formats import (
    canonical_content_type,
    detect,
    detect_content_type,
    hints_of,
    text_by_name,
)
from analytiq.ingestion.parsing.registry import PASSAGE_TYPE

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return tmp_path / "stored"


def write_zip(path: Path, *names: str) -> None:
    with ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "content")


def write_compound(path: Path, stream: str) -> None:
    """The header of an OLE file, its directory in the first sector."""
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\x00"))
    struct.pack_into("<H", header, 30, 9)
    struct.pack_into("<L", header, 48, 300)
    entry = stream.encode("utf-16-le").ljust(128, b"\x00")
    path.write_bytes(bytes(header) + bytes(300 * 512) + entry)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"%PDF-1.7\n", "application/pdf"),
        (b"rubbish before\n%PDF-1.4\n", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0....", "image/jpeg"),
        (b"II*\x00....", "image/tiff"),
        (b"MM\x00*....", "image/tiff"),
        (b"GIF89a....", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00(\x00\x00\x00", "image/bmp"),
        (b"\x00\x00\x00\x18ftypheic\x00", "image/heic"),
        (b"{\\rtf1 text}", "application/rtf"),
        (b"\x1f\x8b\x08", "application/gzip"),
    ],
)
def test_bytes_win_over_a_deceitful_name_and_sender(stored: Path, data: bytes, expected: str) -> None:
    stored.write_bytes(data)
    assert detect_content_type(stored, file_name="notes.txt", declared="text/html") == expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("word/document.xml", DOCX),
        ("xl/workbook.xml", XLSX),
        ("ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
        ("readme.txt", "application/zip"),
    ],
)
def test_office_format_is_told_by_the_parts_of_its_zip(stored: Path, part: str, expected: str) -> None:
    write_zip(stored, "[Content_Types].xml", "_rels/.rels", part)
    assert detect_content_type(stored, file_name="archive.zip") == expected


def test_part_behind_many_others_is_found_in_the_zip_directory(stored: Path) -> None:
    with ZipFile(stored, "w") as archive:
        archive.writestr("[Content_Types].xml", "x" * 200_000)
        archive.writestr("word/document.xml", "content")
    assert detect_content_type(stored) == DOCX


def test_opendocument_and_epub_say_what_they_are_in_their_first_member(stored: Path) -> None:
    with ZipFile(stored, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
    assert detect_content_type(stored) == "application/epub+zip"


def test_book_whose_first_member_is_another_is_told_by_its_container(stored: Path) -> None:
    write_zip(stored, "OEBPS/book.opf", "META-INF/container.xml", "mimetype")
    assert detect_content_type(stored, file_name="book.zip") == "application/epub+zip"


def test_truncated_office_file_is_what_its_name_says(stored: Path) -> None:
    write_zip(stored, "[Content_Types].xml", "word/document.xml")
    stored.write_bytes(stored.read_bytes()[:60])
    assert detect_content_type(stored, file_name="letter.docx") == DOCX


def test_zip_directory_with_absurd_offsets_is_a_plain_zip(stored: Path) -> None:
    stored.write_bytes(b"PK\x03\x04" + bytes(60) + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9, 9, 9, 0xFFFFFFF0, 0))
    assert detect_content_type(stored) == "application/zip"


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("WordDocument", "application/msword"),
        ("Workbook", "application/vnd.ms-excel"),
        ("PowerPoint Document", "application/vnd.ms-powerpoint"),
        ("EncryptedPackage", DOCX),
        ("Strange", "application/x-ole-storage"),
    ],
)
def test_old_office_format_is_told_by_its_streams(stored: Path, stream: str, expected: str) -> None:
    write_compound(stored, stream)
    assert detect_content_type(stored) == expected


FIRST_BYTES = [
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"%PDF-1.7",
    b"RIFF",
    b"\x00\x00\x00\x18ftyp",
    b"BM",
    b"\x89PNG\r\n\x1a\n",
    b"<!doctype html",
    b"From: a@b.c\nTo: ",
]


def test_damaged_word_file_is_what_its_name_says(stored: Path) -> None:
    stored.write_bytes(FIRST_BYTES[0] + bytes(600))
    assert detect_content_type(stored, file_name="letter.doc") == "application/msword"


def test_member_that_declares_no_media_type_declares_none(stored: Path) -> None:
    with ZipFile(stored, "w") as archive:
        archive.writestr("mimetype", "application/x\nSet-Cookie: a=b")
    assert detect_content_type(stored) == "application/zip"


NAMES = ["a.txt", "a.json", "a.xml", "a.md", "a"]


@given(
    start=st.sampled_from(FIRST_BYTES),
    rest=st.binary(max_size=700),
    shift=st.integers(0, 65535),
    at=st.integers(0, 2**32 - 1),
)
@example(start=FIRST_BYTES[0], rest=bytes(600), shift=16, at=0xFFFFFFFE)
def test_damaged_file_has_a_content_type_whatever_its_bytes_say(start: bytes, rest: bytes, shift: int, at: int) -> None:
    content = bytearray(start + rest)
    if len(content) >= 52:
        struct.pack_into("<H", content, 30, shift)
        struct.pack_into("<L", content, 48, at)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "damaged"
        path.write_bytes(content + start)
        assert re.fullmatch(r"[\x20-\x7e]+", detect(path, hints_of("damaged.bin")))


@given(content=st.binary(max_size=400), start=st.sampled_from([b"", *FIRST_BYTES]), name=st.sampled_from(NAMES))
@example(content=b"text", start=b"", name="a.txt")
def test_text_told_by_its_name_alone_is_what_detection_says(content: bytes, start: bytes, name: str) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        path.write_bytes(start + content)
        hints = hints_of(name, declared=(None, "text/html", f"{PASSAGE_TYPE}; charset=utf-8")[len(content) % 3])
        assert text_by_name(start + content, hints) in {None, detect(path, hints)}


@pytest.mark.parametrize(
    "content",
    [
        b"Why a .csv?\n\na,b",
        b"From: a\nTo: b\nSubject: c\n\nd",
        b"%PDF-1.4 is how one begins.",
        b"<html>",
        b"BZh9 and BM",
    ],
    ids=["csv", "mail", "pdf", "html", "magic"],
)
def test_text_that_its_sender_or_its_name_calls_a_passage_is_one(stored: Path, content: bytes) -> None:
    stored.write_bytes(content)
    for hints in (hints_of("Why a .csv", declared=PASSAGE_TYPE), hints_of("why.passage", declared="text/plain")):
        assert detect(stored, hints) == text_by_name(content, hints) == PASSAGE_TYPE


def test_bytes_that_are_no_text_are_no_passage(stored: Path) -> None:
    content = b"\x89PNG\r\n\x1a\n" + bytes(range(32)) * 4
    stored.write_bytes(content)
    hints = hints_of("a", declared=PASSAGE_TYPE)
    assert detect(stored, hints) == "image/png"
    assert text_by_name(content, hints) is None


def test_office_file_with_a_password_is_what_its_name_says(stored: Path) -> None:
    write_compound(stored, "EncryptedPackage")
    assert detect_content_type(stored, file_name="locked.xlsx") == XLSX
    assert detect_content_type(stored, declared=XLSX) == XLSX


@pytest.mark.parametrize(
    ("name", "declared", "expected"),
    [
        ("notes.md", None, "text/markdown"),
        ("NOTES.MD", "text/plain", "text/markdown"),
        ("table.csv", "application/vnd.ms-excel", "text/csv"),
        ("table.tsv", None, "text/tab-separated-values"),
        ("page.htm", None, "text/html"),
        ("upload", "text/csv; charset=utf-8", "text/csv"),
        ("upload", "Text/Markdown", "text/markdown"),
        ("upload", None, "text/plain"),
        ("main.py", None, "text/x-source-code"),
        ("App.tsx", "video/mp2t", "text/x-source-code"),
        ("records.jsonl", None, "application/x-ndjson"),
        ("compose.yml", "text/yaml", "application/yaml"),
        ("talk.srt", None, "application/x-subrip"),
        ("data.json", None, "application/json"),
        ("letter.docx", DOCX, "text/plain"),
        ("scan.pdf", "application/pdf", "text/plain"),
        ("mail.eml", None, "message/rfc822"),
    ],
)
def test_text_is_what_its_name_says_then_its_sender(
    stored: Path, name: str, declared: str | None, expected: str
) -> None:
    stored.write_text("a;b\n1;2\n")
    assert detect_content_type(stored, file_name=name, declared=declared) == expected


@pytest.mark.parametrize(
    "start",
    [
        "<!DOCTYPE html><title>x",
        "\n <html lang='en'>",
        "<!-- note --><!-- two -->\n<HTML>",
        "<?xml version='1.0'?><html>",
    ],
)
def test_page_without_a_telling_name_is_recognised_by_its_start(stored: Path, start: str) -> None:
    stored.write_text(start)
    assert detect_content_type(stored, file_name="download.xls") == "text/html"


def test_utf16_page_is_recognised_as_well(stored: Path) -> None:
    stored.write_bytes("<!DOCTYPE html><p>words".encode("utf-16"))
    assert detect_content_type(stored) == "text/html"


def test_text_named_txt_stays_plain_even_if_it_quotes_html(stored: Path) -> None:
    stored.write_text("<html> is how a page begins")
    assert detect_content_type(stored, file_name="notes.txt") == "text/plain"


def test_unknown_binary_is_never_text(stored: Path) -> None:
    stored.write_bytes(bytes(range(256)) * 4)
    assert detect_content_type(stored, file_name="notes.txt", declared="text/plain") == "application/octet-stream"


def test_unknown_binary_may_be_what_its_name_says(stored: Path) -> None:
    stored.write_bytes(b"\x00\x01\x02\x03" * 10)
    assert detect_content_type(stored, file_name="film.mpg") == "video/mpeg"


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("application/pdf", "application/pdf"),
        ("IMAGE/JPG", "image/jpeg"),
        ("application/vnd.api+json", "application/json"),
        ("application/octet-stream", None),
        ("; charset=utf-8", None),
        ("", None),
        (None, None),
    ],
)
def test_declared_type_gets_its_usual_name(declared: str | None, expected: str | None) -> None:
    assert canonical_content_type(declared) == expected
