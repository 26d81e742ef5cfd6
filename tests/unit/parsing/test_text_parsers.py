from pathlib import Path

import pytest

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import detect, hints_of
from analytiq.ingestion.parsing.plain_text import PlainTextParser
from analytiq.ingestion.parsing.registry import default_registry, load_parser
from analytiq.ingestion.parsing.sanitize import sanitize_document, sanitize_text
from analytiq.models.text import ParsedDocument, ParsedPage


def test_xml_is_decoded_as_it_declares(tmp_path: Path) -> None:
    path = tmp_path / "data.xml"
    path.write_bytes('<?xml version="1.0" encoding="koi8-r"?><город>Москва</город>'.encode("koi8-r"))
    text = PlainTextParser().parse(path, ParseOptions(), lambda _done, _total: None).pages[0].text
    assert "Москва" in text


def test_charset_hint_reaches_the_decoder(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_bytes("Привет".encode("cp1251"))
    options = ParseOptions(charset_hint="windows-1251")
    assert PlainTextParser().parse(path, options, lambda _done, _total: None).pages[0].text == "Привет"


def test_sanitizing_keeps_tabs_lines_form_feeds_and_every_alphabet() -> None:
    text = "tab\tline\nfeed\f naïve 文 🎉 العربية"
    assert sanitize_text(text) == text


def test_sanitizing_a_document_cleans_its_warnings_too() -> None:
    document = sanitize_document(ParsedDocument((ParsedPage(3, "a\x00b\rc"),), ("w\x00",)))
    assert document == ParsedDocument((ParsedPage(3, "ab\nc"),), ("w",))


_LETTER = b"Subject: note\nContent-Type: text/plain\n\n"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.csv", b"name;note\n", b";1\n"),
        ("a.tsv", b"name\tnote\n", b"\t1\n"),
        ("a.md", b"# ", b"\n"),
        ("a.html", b"<p>", b"</p>"),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n", b"\n"),
        ("a.py", b"# ", b"\n"),
        ("a.json", b'{"a": "', b'"}'),
        ("a.ipynb", b'{"cells": [{"cell_type": "raw", "source": "', b'"}]}'),
        ("a.eml", _LETTER, b"\n"),
        ("b.eml", _LETTER.replace(b"plain", b"html"), b"<br>\n"),
    ],
)
def test_unsure_charset_is_told_for_every_kind_of_text(tmp_path: Path, name: str, before: bytes, after: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(before + b"ca\xf1on \xa4" + after)
    parser = load_parser(default_registry().entry_for(detect(path, hints_of(name))).reference)
    document = parser.parse(path, ParseOptions(), lambda done, total: None)
    assert "cañon ¤" in document.pages[0].text
    assert [warning for warning in document.warnings if warning.startswith("The charset was guessed: cp1252.")]
