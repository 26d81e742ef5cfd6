"""Long runs of one kind of character: each pattern reads them once.

A pattern that tries all ways to part such a run would need days at the sizes here, not milliseconds.
"""

import io
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from lxml import etree

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.cell_values import shown_value
from analytiq.ingestion.parsing.drawing_text import described
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.html import HtmlParser
from analytiq.ingestion.parsing.mailbox import MailboxParser
from analytiq.ingestion.parsing.pdf_layout.lost_lines import with_lost_lines
from analytiq.ingestion.parsing.pdf_layout.rows import is_short
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.word.alt_chunks import AltChunk, chunk_blocks
from analytiq.ingestion.parsing.xlsx import XlsxParser
from analytiq.retrieval.pipeline.compress import sentences_of
from benchmarks.growing_packages import numbers_sheet

LONG = 200_000


def test_mailbox_with_a_line_of_many_times_has_one_message(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(b"From a Tue Mar  5 10:00:00 2024\nSubject: a\n\nFrom " + b"00:00 " * LONG + b"\n")
    document = MailboxParser().parse(path, ParseOptions(), lambda done, total: None)
    assert document.pages[0].text.count(".eml") == 1


def test_message_begins_with_a_sender_a_time_and_a_year(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    lines = ("From b at 10:00 in 2024", "From  10:00 2024", "From b 10:00", "From b 2024", "From b 12:2024")
    body = "\n\n".join(f"{line}\nSubject: b" for line in lines)
    path.write_text(f"From a Tue Mar  5 10:00:00 2024\nSubject: a\n\n{body}\n")
    document = MailboxParser().parse(path, ParseOptions(), lambda done, total: None)
    assert document.pages[0].text.count(".eml") == 2


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"<!---->" * 9000 + b"x", "text/plain"),
        (b"<!---->" * 9000 + b"<html>", "text/html"),
        (b"<!-- a -->\n<!-- b --> <html>", "text/html"),
        (b"<!-- a " * 9000, "text/plain"),
    ],
)
def test_comments_before_a_page_are_read_once(tmp_path: Path, content: bytes, content_type: str) -> None:
    path = tmp_path / "page"
    path.write_bytes(content)
    assert detect_content_type(path) == content_type


def test_charset_behind_blanks_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(b"<meta charset=" * 500 + b" " * 900 + b"cp1251><p>" + "насос".encode("cp1251"))
    assert "насос" in HtmlParser().parse(path, ParseOptions(), lambda done, total: None).pages[0].text


def test_number_format_of_brackets_shows_the_number() -> None:
    assert shown_value(1.5, "[$" * LONG) == "1.5"
    assert shown_value(1.5, "[$€-407] 0.00") == "€ 1.50"


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("1" * LONG, ""),
        ("1" * LONG + "!", "1" * LONG + "!"),
        (" " * LONG + "A pump.", "A pump."),
        ("A pump." + " " * LONG + "Description automatically generated", "A pump."),
        ("Picture 12", ""),
        ("scan-12", ""),
        ("Pump 12 of 13", "Pump 12 of 13"),
    ],
)
def test_long_description_of_a_picture(description: str, shown: str) -> None:
    shape = etree.fromstring("<pic><nvPicPr><cNvPr/></nvPicPr></pic>")
    shape[0][0].set("descr", description)
    assert described(shape) == shown


def test_alternative_content_behind_blanks_is_text_or_html() -> None:
    assert [text.strip() for text, _ in chunk_blocks(AltChunk("a", b" " * LONG + b"1 < 2"))] == ["1 < 2"]
    assert list(chunk_blocks(AltChunk("a", b" " * LONG + b"<p>word"))) == [("word", 0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1" * LONG + "abcd", False), ("1" * LONG + "abc", True), ("12.50 €", True), ("(1,200)kg", True), ("a1", False)],
)
def test_long_number_of_a_page(text: str, expected: bool) -> None:
    assert is_short(text) is expected


def test_long_word_of_a_page_is_searched_for_hyphens_once() -> None:
    builder = TextBuilder()
    builder.paragraph("half time")
    page = builder.page(1)
    kept, count = with_lost_lines(page, "a" * LONG + " half-\ntime", ())
    assert count == 1
    assert kept.text.startswith("half time")


def test_sentences_of_stops_are_one() -> None:
    assert sentences_of("." * LONG + "a") == ["." * LONG + "a"]
    assert sentences_of("Wait... Then go. (Now!) End") == ["Wait... ", "Then go. ", "(Now!) ", "End"]


def test_cells_of_open_formulas_are_searched_once(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    sheet = numbers_sheet(1000)
    with ZipFile(io.BytesIO(sheet)) as old, ZipFile(path, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                blanks = b"<f>1</f>" + b" " * LONG
                content = content.replace(b"<v>", blanks * 10 + b"<v>", 1)
            new.writestr(name, content)
    document = XlsxParser().parse(path, ParseOptions(), lambda done, total: None)
    assert not any("formula" in warning for warning in document.warnings)
