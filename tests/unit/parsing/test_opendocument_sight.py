"""Words of OpenDocument files that nobody sees are out and counted; those on painted grounds stay."""

from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from lxml import etree

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.odf_styles import Styles
from analytiq.ingestion.parsing.odf_words import sheet_pieces
from analytiq.ingestion.parsing.opendocument import OpenDocumentParser
from analytiq.models.text import ParsedDocument
from tests.unit.parsing.test_opendocument import cell, row
from tests.unit.parsing.test_opendocument_structure import NAMESPACES, p

XSL = 'xmlns:xsl="urn:xsl"'
Parse = Callable[..., ParsedDocument]


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """Writes a document of the body's XML, of automatic styles and of master styles, and reads it."""

    def parsed(kind: str, body: str, *, styles: str, masters: str = "") -> ParsedDocument:
        path = tmp_path / "document.odf"
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            archive.writestr(
                "content.xml",
                f"<office:document-content {NAMESPACES} {XSL}><office:automatic-styles>{styles}"
                f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}></office:body>"
                "</office:document-content>",
            )
            archive.writestr(
                "styles.xml", f"<office:document-styles {NAMESPACES} {XSL}>{masters}</office:document-styles>"
            )
        return OpenDocumentParser().parse(path, ParseOptions(), lambda done, total: None)

    return parsed


def style(name: str, family: str, *properties: str, parent: str = "") -> str:
    inside = "".join(f"<style:{each}/>" for each in properties)
    above = f' style:parent-style-name="{parent}"' if parent else ""
    return f'<style:style style:name="{name}" style:family="{family}"{above}>{inside}</style:style>'


WHITE = 'text-properties xsl:color="#ffffff"'
TINY = 'text-properties xsl:font-size="0.5pt"'


def span(name: str, text: str) -> str:
    return f'<text:span text:style-name="{name}">{text}</text:span>'


def test_white_and_tiny_words_of_a_text_are_out_unless_their_ground_is_painted(parse: Parse) -> None:
    styles = (
        style("W", "text", WHITE)
        + style("T", "text", TINY)
        + style("Dark", "text", 'text-properties xsl:color="#ffffff" xsl:background-color="#000080"')
        + style("PW", "paragraph", WHITE)
        + style("PC", "paragraph", parent="PW")
        + style("PD", "paragraph", 'paragraph-properties xsl:background-color="#000000"', WHITE)
        + style("Cell", "table-cell", 'table-cell-properties xsl:background-color="#334455"')
    )
    document = parse(
        "text",
        p(f"one {span('W', 'out')}{span('T', 'out')}{span('Dark', 'two')}")
        + f'<text:p text:style-name="PC">out {span("Dark", "three")} out</text:p>'
        + '<text:p text:style-name="PD">four</text:p>'
        + '<table:table><table:table-row><table:table-cell table:style-name="Cell"><text:p text:style-name="PW">five'
        + "</text:p></table:table-cell></table:table-row></table:table>",
        styles=styles,
    )
    assert document.pages[0].text.split() == ["one", "two", "three", "four", "five"]
    assert document.warnings == ("4 hidden words are not read; unhide what is to be searched",)


def test_white_words_on_a_painted_page_stay(parse: Parse) -> None:
    masters = (
        '<style:page-layout style:name="L"><style:page-layout-properties xsl:background-color="#102030"/>'
        '</style:page-layout><office:master-styles><style:master-page style:name="M" style:page-layout-name="L"/>'
        "</office:master-styles>"
    )
    document = parse("text", p(span("W", "seen")), styles=style("W", "text", WHITE), masters=masters)
    assert document.pages[0].text == "seen"


def test_unseen_cells_are_out_by_their_own_style_or_that_of_their_row_or_column(parse: Parse) -> None:
    plain = style("W", "table-cell", WHITE) + style("T", "table-cell", TINY)
    dark = style("D", "table-cell", 'table-cell-properties xsl:background-color="#112233"', WHITE)
    body = (
        '<table:table table:name="S"><table:table-column/><table:table-column table:default-cell-style-name="W"/>'
        + row(cell("Name"), cell("out"), cell("Price"))
        + row(cell("Chair", style_name="D"), cell("out"), cell("12"))
        + '<table:table-row table:default-cell-style-name="T">'
        + cell("out")
        + cell("13", style_name="D")
        + "</table:table-row></table:table>"
    )
    document = parse("spreadsheet", body, styles=plain + dark)
    assert document.pages[0].text.splitlines()[2:] == ["Name | Price", "Name: Chair; Price: 12", "13"]
    assert document.warnings == ("3 hidden words are not read; unhide what is to be searched",)


def test_shapes_that_are_hidden_or_beside_the_slide_are_out_and_hidden_slides_named(parse: Parse) -> None:
    def frame(text: str, more: str = "") -> str:
        return f"<draw:frame {more}><draw:text-box>{p(text)}</draw:text-box></draw:frame>"

    at = 'svg:x="{0}" svg:y="1cm" svg:width="5cm" svg:height="2cm"'
    masters = (
        '<style:page-layout style:name="L"><style:page-layout-properties xsl:page-width="28cm" xsl:page-height="21cm"/>'
        '</style:page-layout><office:master-styles><style:master-page style:name="M" style:page-layout-name="L"/>'
        "</office:master-styles>"
    )
    slides = (
        '<draw:page draw:master-page-name="M">'
        + frame("one", at.format("2cm"))
        + frame("out", at.format("-9cm"))
        + frame("out", at.format("11.5in"))
        + frame("out", 'draw:display="none"')
        + frame(span("W", "out"))
        + f"<draw:custom-shape>{p(span('W', 'on blue'))}</draw:custom-shape></draw:page>"
        + f'<draw:page draw:master-page-name="M">{frame(span("W", "out"))}</draw:page>'
        + f'<draw:page draw:style-name="H" draw:master-page-name="M">{frame("spare")}</draw:page>'
    )
    hidden = style("H", "drawing-page", 'drawing-page-properties presentation:visibility="hidden"')
    document = parse("presentation", slides, styles=style("W", "text", WHITE) + hidden, masters=masters)
    # White words of a slide with a painted shape may stand on it.
    assert [page.text.split() for page in document.pages] == [["one", "out", "on", "blue"], [], ["spare"]]
    assert document.warnings == (
        "hidden slides are read too: 3; delete the slides that are not to be searched",
        "4 hidden words are not read; unhide what is to be searched",
    )


def test_cell_without_a_shown_text_gives_its_value(parse: Parse) -> None:
    values = (
        'office:value-type="float" office:value="77.25"',
        'office:value-type="date" office:date-value="2024-03-05"',
        'office:value-type="percentage" office:value="0.25"',
        'office:value-type="currency" office:value="9.5" office:currency="EUR"',
        'office:value-type="boolean" office:boolean-value="true"',
        'office:value-type="string" office:string-value="words"',
        'office:value-type="float"',
    )
    cells = "".join(f"<table:table-cell {value}/>" for value in values)
    page = parse("spreadsheet", f'<table:table table:name="S">{row(cells)}</table:table>', styles="").pages[0]
    assert page.text.splitlines()[-1] == "77.25 | 2024-03-05 | 25% | 9.5 EUR | TRUE | words"


def test_second_reading_of_a_sheet_leaves_out_hidden_rows_and_columns() -> None:
    table = etree.fromstring(
        f'<table:table {NAMESPACES}><table:table-column/><table:table-column table:visibility="collapse"/>'
        f'{row(cell("a"), cell("hidden"), cell("b"))}<table:table-row table:visibility="filter">{cell("hidden")}'
        f"</table:table-row></table:table>"
    )
    assert list(sheet_pieces(table, Styles())) == ["a", "b"]
