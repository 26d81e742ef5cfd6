from pathlib import Path

import pytest
from lxml import etree

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.html import HtmlParser, decode_html, html_document, write_html
from analytiq.ingestion.parsing.html_tree import html_tree
from analytiq.ingestion.parsing.html_words import append_lost_html
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind

PARAGRAPH = "The committee met on Tuesday and agreed, after a long debate, on the new rules for the harbour. "
TWO_ROWS_OF_NAMES = (
    "<table><caption>Fees</caption><thead><tr><th rowspan=2>Area<th colspan=2>2024<tr><th>Plan<th>Real</thead>"
    "<tr><td>North<td>1<td>2</table>"
)
SAMPLES = sorted((Path(__file__).parents[2] / "data" / "documents" / "html").glob("*.html"))


def read(tmp_path: Path, data: bytes, *, charset_hint: str | None = None) -> str:
    path = tmp_path / "page.html"
    path.write_bytes(data)
    options = ParseOptions(charset_hint=charset_hint)
    return HtmlParser().parse(path, options, lambda _done, _total: None).pages[0].text


def text_of(html: str) -> str:
    return html_document(html).pages[0].text


def test_article_is_read_without_the_navigation() -> None:
    links = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(10))
    article = f"<article><h1>Harbour</h1><p>{PARAGRAPH * 5}</p></article>"
    aside = "<aside><h3>Contact</h3><p>Call 5550</p></aside>"
    for menu in (f"<nav><ul>{links}</ul></nav>", f"<div><ul>{links}</ul></div>"):
        text = text_of(f"<html><body>{menu}{aside}{article}</body></html>")
        assert "agreed, after a long debate" in text
        assert "Section 7" not in text
        assert "### Contact\n\nCall 5550" in text


def test_links_within_an_article_and_a_page_of_links_stay() -> None:
    links = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(10))
    assert "Section 7" in text_of(f"<p>{PARAGRAPH}</p><ul>{links}</ul><p>{PARAGRAPH}</p>")
    assert "Section 7" in text_of(f"<nav><ul>{links}</ul></nav><p>Welcome</p>")


def test_title_is_a_heading_where_the_page_shows_none() -> None:
    html = f"<html><head><title>Harbour rules</title></head><body><article><p>{PARAGRAPH * 5}</p></article>"
    assert text_of(html).startswith("# Harbour rules")
    document = html_document("<title>Harbour rules | Town</title><h1>Harbour rules</h1>")
    assert document.title == "Harbour rules | Town"
    assert document.pages[0].text == "# Harbour rules"
    assert text_of("<title>Application</title><div id=app></div>") == ""


@pytest.mark.slow
def test_page_nested_beyond_any_tree_keeps_its_text() -> None:
    html = "<html><body>" + "<div>" * 50_000 + "words at the bottom" + "</b>" * 50_000 + "</div>" * 50_000
    assert "words at the bottom" in text_of(html)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<ol start=3><li>three<ul><li>below</ul><li value=7>seven</ol>", "3. three\n  - below\n7. seven"),
        ("<ol type=a><li>one<li>two</ol>", "a. one\nb. two"),
        ("<ol reversed style='list-style-type: upper-roman'><li>one<li>two</ol>", "II. one\nI. two"),
        ("<dl><dt>Lock<dd>a chamber<dt>Open?<dd>Yes.</dl>", "- Lock: a chamber\n- Open? Yes."),
        ("<pre><code class='language-go'>a\n  b</code></pre>", "```go\na\n  b\n```"),
        ("<blockquote><p>said</p></blockquote>he", "> said\n\nhe"),
        ("<div role=heading aria-level=3>Deep</div>words", "### Deep\n\nwords"),
        ("<label>Name</label><input value=Ann><label>City <input value=Ulm></label>", "Name: Ann\nCity: Ulm"),
        ("<label>Tea <select><option>green<option selected>black</select></label>", "Tea: black"),
        ("<input type=checkbox checked> agreed<br><input type=radio> refused", "☒ agreed\n☐ refused"),
        ("<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>へ", "東京(とうきょう)へ"),
        ("10<sup>6</sup> m<sup>2</sup> at the 1<sup>st</sup>", "10^6 m² at the 1st"),
        ("2019<sup><a href='#n1'>1</a></sup>", "2019[1]"),
        ("<span class=k>Model7</span><span class=v>Price700</span>", "Model7 Price700"),
        ("<b>W</b>ord and <i>wo</i><u>rd</u> and soft&shy;hyphen", "Word and word and softhyphen"),
        ("one<br>two<br><br>three", "one\ntwo\n\nthree"),
        ("5 < 6 &amp; 7 &gt; 6, *stars* and snake_case", "5 < 6 & 7 > 6, *stars* and snake_case"),
        ("<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>", "1/2"),
        ("text<script>never closed", "textnever closed"),
        ("text<!-- never closed", "text"),
        ("text<a href='never closed", "text"),
        ("<details><summary>Refund?</summary>Ten days.</details>", "Refund?\n\nTen days."),
        ("", ""),
    ],
)
def test_text_is_what_a_browser_shows(html: str, text: str) -> None:
    assert text_of(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (
            TWO_ROWS_OF_NAMES,
            "Fees\n\nArea | 2024 Plan | 2024 Real\nArea: North; 2024 Plan: 1; 2024 Real: 2",
        ),
        ("<table><tr><th>Founded<td>1911<tr><th>Seat<td>Ulm</table>", "Founded: 1911\nSeat: Ulm"),
        (
            "<table><tr><td>Item<td>Fee<tr><td>Boat<td>1<tr><td>Barge<td>2</table>",
            "Item | Fee\nItem: Boat; Fee: 1\nItem: Barge; Fee: 2",
        ),
        ("<table><tr><td>part 1<td>7 mm<tr><td>part 2<td>9 mm</table>", "part 1 | 7 mm\npart 2 | 9 mm"),
        ("<table><tr><td><h2>News</h2><p>one<td><p>two</table>", "## News\n\none\n\ntwo"),
        ("<table><tr><th>A<th>B<tr><td>1<td><ul><li>x<li>y</ul></table>", "A | B\nA: 1; B: x; y"),
        ("<table><tr><th>A<th>B<tr><td rowspan=2>x<td>1<tr><td>2</table>", "A | B\nA: x; B: 1\nA: x; B: 2"),
        ("<table><tr><th>A<th>B<tr><td colspan=2>whole<tr><td><td>2</table>", "A | B\nwhole\nB: 2"),
    ],
)
def test_table_names_the_value_of_each_cell(html: str, text: str) -> None:
    assert text_of(html) == text


def test_spans_of_a_hostile_table_fill_no_endless_grid() -> None:
    cells = "<td rowspan=1000 colspan=1000>x</td>" * 200
    assert len(text_of(f"<table><tr><th>A</th></tr><tr>{cells}</tr></table>")) < 2_000_000


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>secret</p>",
        "<div style='display: none'>secret</div>",
        "<p style='visibility:hidden'>secret</p>",
        "<span style='font-size:0'>secret</span>",
        "<span style='font-size: 1px'>secret</span>",
        "<p style='color:#fff'>secret</p>",
        "<table bgcolor=black><tr><td style='color:#010101'>secret</td></tr></table>",
        "<p style='position:absolute; left:-9999px'>secret</p>",
        "<template>secret</template>",
        "<style>.gone {display: none !important}</style><p class='a gone'>secret</p>",
    ],
)
def test_hidden_words_are_left_out_and_counted(hidden: str) -> None:
    document = html_document(f"<p>seen</p>{hidden}")
    assert document.pages[0].text == "seen"
    assert document.warnings[0].startswith("1 hidden word not read")


@pytest.mark.parametrize(
    "shown",
    [
        "<style>@media print {.x {display: none}}</style><p class=x>words</p>",
        "<style>.x {display: none}</style><p class=x style='display:block'>words</p>",
        "<div style='background:#00f'><b style='color:white'>words</b></div>",
        "<link rel=stylesheet href=a.css><p style='color:white'>words</p>",
        "<p style='visibility:hidden'><b style='visibility:visible'>words</b></p>",
        "<p aria-hidden=true>words</p>",
    ],
)
def test_words_that_a_browser_shows_stay(shown: str) -> None:
    assert text_of(shown) == "words"
    assert html_document(shown).warnings == ()


def test_blocks_are_exact_and_tell_what_they_are() -> None:
    html = (
        "<h2>Locks</h2><p>Words.</p><figure><img src=a alt='Map of the canal'><figcaption>A map</figcaption></figure>"
        "<section role=doc-endnotes><ol><li>A note. <a href='#r' role=doc-backlink>↩</a></ol></section>"
    )
    page = html_document(html).pages[0]
    assert [(block.kind, page.text[block.start : block.end]) for block in page.blocks] == [
        (BlockKind.HEADING, "Locks"),
        (BlockKind.PARAGRAPH, "Words."),
        (BlockKind.IMAGE, "Map of the canal"),
        (BlockKind.CAPTION, "A map"),
        (BlockKind.FOOTNOTE, "1. A note."),
    ]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_no_visible_word_of_a_page_is_lost(path: Path) -> None:
    html = decode_html(path.read_bytes(), declared=None).text
    builder = TextBuilder()
    write_html(builder, html_tree(html))
    text = "".join(builder.page(1).text.split())
    assert [piece for piece in _visible_pieces(html) if "".join(piece.split()) not in text] == []


def _visible_pieces(html: str) -> list[str]:
    """Return the texts of a page, read by another library, without what is hidden, raised or chosen from."""
    root = etree.HTML(html)
    silent = "ancestor::script|ancestor::style|ancestor::noscript|ancestor::head|ancestor::template|ancestor::select"
    hidden = "ancestor::*[@hidden or contains(translate(@style, ' ', ''), 'display:none')]"
    pieces = root.xpath(f"//text()[not({silent}|{hidden}|ancestor::sup|ancestor::svg|ancestor::math)]")
    assert isinstance(pieces, list)
    return [str(piece) for piece in pieces]


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


@pytest.mark.parametrize(
    "style",
    [
        "position:absolute;clip:rect(0,0,0,0)",
        "clip-path:inset(50%)",
        "height:0;overflow:hidden",
        "width:1px;overflow:hidden",
        "max-height:0px;overflow:hidden",
        "transform:scale(0)",
        "color:transparent",
        "color:rgba(0,0,0,0)",
    ],
)
def test_words_that_styles_cut_away_are_left_out_and_counted(style: str) -> None:
    document = html_document(f"<p>Seen</p><div style='{style}'>injected order</div>")
    assert document.pages[0].text == "Seen"
    assert document.warnings == ("2 hidden words not read: readers of the document do not see such text",)


@pytest.mark.parametrize(
    "style", ["height:20px;overflow:hidden", "height:0", "transform:scale(0.5)", "clip-path:inset(5%)"]
)
def test_words_that_styles_leave_in_sight_are_read(style: str) -> None:
    assert text_of(f"<div style='{style}'>seen order</div>") == "seen order"


def test_navigation_that_is_left_out_is_counted() -> None:
    document = html_document(f"<nav><a href=/>Start page</a></nav><h1>Harbour</h1><p>{PARAGRAPH * 3}</p>")
    assert document.warnings == ("2 words of menus and other navigation not read",)


def test_words_that_no_reader_of_blocks_gives_are_added() -> None:
    builder = TextBuilder()
    builder.paragraph("Kept words, 5 m²")
    root = html_tree("<p>Kept words, 5 m<sup>2</sup><p>lost words<p hidden>hidden<nav>menu</nav>")
    append_lost_html(builder, root, left_out=frozenset(id(one) for one in root.walk() if one.tag == "nav"))
    assert builder.text == "Kept words, 5 m²\n\nlost words"


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_readers_of_blocks_lose_no_words_of_a_sample(path: Path) -> None:
    root = html_tree(decode_html(path.read_bytes(), declared=None).text)
    builder = TextBuilder()
    write_html(builder, root)
    before = builder.text
    append_lost_html(builder, root)
    assert builder.text == before
