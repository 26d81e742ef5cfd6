from pathlib import Path

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.plain_text import PlainTextParser
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
