import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.outlook_message import OutlookMessageParser
from analytiq.ingestion.parsing.outlook_properties import decompressed_rtf
from analytiq.models.text import ParsedDocument
from tests.unit.parsing.compound_documents import compound, outlook_message
from tests.unit.parsing.test_archives import unpacked

SUBJECT, PLAIN, HTML, RTF, CODE_PAGE = 0x0037, 0x1000, 0x1013, 0x1009, 0x3FDE
SENDER, SENDER_SMTP, SENT_AT = 0x0C1A, 0x5D01, 0x0039
KIND, NAME, SMTP = 0x0C15, 0x3001, 0x39FE
DATA, FILE_NAME, MEDIA_TYPE, CONTENT_ID = 0x3701, 0x3707, 0x370E, 0x3712
NOON = 133_779_600_000_000_000
"""2024-12-06 12:00 UTC as the number of 100 nanoseconds since 1601."""

Parse = Callable[[bytes], ParsedDocument]


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    def parsed(data: bytes) -> ParsedDocument:
        path = tmp_path / "mail.msg"
        path.write_bytes(data)
        assert detect_content_type(path, file_name="download") == "application/vnd.ms-outlook"
        return OutlookMessageParser().parse(path, ParseOptions(), lambda done, total: None)

    return parsed


def uncompressed_rtf(text: bytes) -> bytes:
    return struct.pack("<LL4sL", len(text) + 12, len(text), b"MELA", 0) + text


def test_message_begins_with_its_subject_and_who_wrote_to_whom(parse: Parse) -> None:
    data = outlook_message(
        {SUBJECT: "\x01\x05RE: Lünch", SENDER: "Ann", SENDER_SMTP: "ann@example.com", SENT_AT: NOON, PLAIN: "At noon."},
        recipients=[{NAME: "Bob", SMTP: "bob@example.com", KIND: 1}, {NAME: "Carol", KIND: 2}],
    )
    document = parse(data)
    assert document.pages[0].text == (
        "# RE: Lünch\n\nFrom: Ann <ann@example.com>\nTo: Bob <bob@example.com>\nCc: Carol\n"
        "Date: Fri, 06 Dec 2024 12:00:00 +0000\n\nAt noon."
    )
    assert document.title == "RE: Lünch"


def test_html_is_read_in_its_code_page_and_not_twice(parse: Parse) -> None:
    html = "<h1>Größe</h1><p>Zwölf Boxkämpfer</p>".encode("cp1252")
    document = parse(outlook_message({HTML: html, CODE_PAGE: 1252, PLAIN: "Größe\r\n\r\nZwölf Boxkämpfer"}))
    assert document.pages[0].text == "# Größe\n\nZwölf Boxkämpfer"


def test_rich_text_is_read_where_it_is_the_only_body(parse: Parse) -> None:
    document = parse(outlook_message({RTF: uncompressed_rtf(rb"{\rtf1\ansi One.\par Two.}")}))
    assert document.pages[0].text == "One.\n\nTwo."


def test_compressed_rich_text_repeats_what_stood_before() -> None:
    # The example of MS-OXRTFCP 3.1.1.
    data = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert decompressed_rtf(data, 1000) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert decompressed_rtf(data, 5) == b"{\\rtf"


def test_attachments_are_named_and_attached_messages_read(parse: Parse, tmp_path: Path) -> None:
    data = outlook_message(
        {SUBJECT: "Outer", PLAIN: "See below."},
        attachments=[
            {FILE_NAME: "Menü.pdf", MEDIA_TYPE: "application/pdf", DATA: b"%PDF-1.7"},
            {FILE_NAME: "logo.png", MEDIA_TYPE: "image/png", CONTENT_ID: "<logo>", DATA: b"\x89PNG"},
        ],
        attached_message={SUBJECT: "Inner", PLAIN: "The price is 12 EUR."},
    )
    document = parse(data)
    assert document.pages[0].text.startswith("# Outer\n\nAttachments: Menü.pdf\n\nSee below.")
    assert document.pages[0].text.endswith("## Inner\n\nThe price is 12 EUR.")
    found, _, warnings = unpacked(OutlookMessageParser(), tmp_path / "mail.msg")
    assert found == {"Menü.pdf": b"%PDF-1.7"}
    assert warnings == ()


def test_message_with_a_workbook_attached_is_a_message(parse: Parse) -> None:
    workbook = compound({"Workbook": b"\x09\x08", "WordDocument": b"\xec\xa5", "EncryptedPackage": b"x"})
    document = parse(outlook_message({SUBJECT: "Prices"}, attachments=[{FILE_NAME: "prices.xls", DATA: workbook}]))
    assert document.title == "Prices"


def test_streams_over_the_same_sectors_are_refused(tmp_path: Path) -> None:
    attachment = {FILE_NAME: "a", DATA: bytes(100_000)}
    data = bytearray(outlook_message({SUBJECT: "S"}, attachments=[attachment] * 4))
    name = "__substg1.0_37010102".encode("utf-16-le")
    starts = [at for at in range(0, len(data), 128) if data.startswith(name, at)]
    assert len(starts) == 4
    for start in starts[1:]:
        data[start + 116 : start + 120] = data[starts[0] + 116 : starts[0] + 120]
    path = tmp_path / "mail.msg"
    for start in starts:
        struct.pack_into("<Q", data, start + 120, 400_000)
    path.write_bytes(data)
    with pytest.raises(LimitExceededError, match="larger than the file"):
        unpacked(OutlookMessageParser(), path)


def test_chain_that_loops_ends(parse: Parse) -> None:
    data = bytearray(outlook_message({SUBJECT: "S", PLAIN: "x" * 5000}))
    table = struct.unpack_from("<L", data, 76)[0]
    struct.pack_into("<128L", data, (table + 1) * 512, *[0] * 128)
    assert parse(bytes(data)).title == "S"


def test_file_without_a_directory_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "mail.msg"
    path.write_bytes(outlook_message({SUBJECT: "S"})[:512])
    with pytest.raises(CorruptFileError, match="directory"):
        OutlookMessageParser().parse(path, ParseOptions(), lambda done, total: None)
