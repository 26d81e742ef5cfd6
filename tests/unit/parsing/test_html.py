from pathlib import Path

import pytest

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.html import HtmlParser, readable_text
from analytiq.ingestion.parsing.visible_text import visible_text

PARAGRAPH = "The committee met on Tuesday and agreed, after a long debate, on the new rules for the harbour. "


def read(tmp_path: Path, data: bytes, *, charset_hint: str | None = None) -> str:
    path = tmp_path / "page.html"
    path.write_bytes(data)
    options = ParseOptions(charset_hint=charset_hint)
    return HtmlParser().parse(path, options, lambda _done, _total: None).pages[0].text


def test_article_is_read_without_the_navigation() -> None:
    links = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(10))
    article = f"<article><h1>Harbour</h1><p>{PARAGRAPH * 5}</p></article>"
    html = f"<html><body><nav><ul>{links}</ul></nav>{article}</body></html>"
    text = readable_text(html)
    assert "agreed, after a long debate" in text
    assert "Section 7" not in text


def test_title_that_the_article_lost_is_put_in_front() -> None:
    html = (
        f"<html><head><title>Harbour rules</title></head><body><article><p>{PARAGRAPH * 5}</p></article></body></html>"
    )
    assert readable_text(html).startswith("# Harbour rules")


def test_page_without_an_article_keeps_all_its_words() -> None:
    rows = "".join(f"<tr><td>part {n}</td><td>{n * 7} mm</td></tr>" for n in range(30))
    text = readable_text(f"<html><body><table>{rows}</table></body></html>")
    assert all(f"part {n}" in text and f"{n * 7} mm" in text for n in range(30))


@pytest.mark.slow
def test_page_nested_beyond_any_tree_keeps_its_text() -> None:
    html = "<html><body>" + "<div>" * 50_000 + "words at the bottom" + "</div>" * 50_000
    assert "words at the bottom" in readable_text(html)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("a<script>var hidden = '<p>no</p>';</script>b", "ab"),
        ("a<STYLE>p {}</style >b", "ab"),
        ("a<!-- <p>no</p> -->b", "ab"),
        ("5 < 6 &amp; 7 &gt; 6", "5 < 6 & 7 > 6"),
        ("<head><title>no</title></head>yes", "yes"),
        ("text<script>never closed", "text"),
        ("text<!-- never closed", "text"),
        ("text<a href='never closed", "text"),
        ("", ""),
    ],
)
def test_visible_text_is_what_a_browser_shows(html: str, expected: str) -> None:
    assert visible_text(html) == expected


def test_charset_of_the_page_itself_is_followed(tmp_path: Path) -> None:
    html = "<html><head><meta charset='windows-1251'></head><body><p>Привет, мир</p></body></html>"
    assert "Привет, мир" in read(tmp_path, html.encode("cp1251"))


def test_charset_that_the_sender_declared_wins_over_the_page(tmp_path: Path) -> None:
    html = "<html><head><meta charset='windows-1251'></head><body><p>Привет, мир</p></body></html>"
    assert "Привет, мир" in read(tmp_path, html.encode("koi8-r"), charset_hint="koi8-r")


def test_utf16_page_is_read(tmp_path: Path) -> None:
    assert "naïve 文" in read(tmp_path, "<html><body><p>naïve 文</p></body></html>".encode("utf-16"))


def test_xhtml_with_an_xml_declaration_is_read(tmp_path: Path) -> None:
    html = '<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>Größe</p></body></html>'
    assert "Größe" in read(tmp_path, html.encode("latin-1"))
