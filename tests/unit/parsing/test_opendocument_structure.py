"""The structure of OpenDocument files: numbers, tables, hidden words, formulas, charts, notes of cells, titles."""

from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.opendocument import OpenDocumentParser
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument, ParsedPage
from tests.unit.parsing.test_opendocument import cell, row

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:{name}"'
    for name in ("office", "text", "table", "draw", "style", "presentation", "svg", "xlink", "dc", "math", "chart")
)
Parse = Callable[..., ParsedDocument]
NUMBERED = (
    '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="1" text:display-levels="2"/>'
    "</text:list-style>"
)


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """Writes a document of the body's XML and of further parts, and reads it."""

    def parsed(kind: str, body: str, *, styles: str = "", parts: Mapping[str, str] | None = None) -> ParsedDocument:
        path = tmp_path / "document.odf"
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            archive.writestr(
                "content.xml",
                f"<office:document-content {NAMESPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
                f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            )
            for name, content in (parts or {}).items():
                archive.writestr(name, content)
        return OpenDocumentParser().parse(path, ParseOptions(), lambda done, total: None)

    return parsed


def kinds(page: ParsedPage) -> list[tuple[BlockKind, int, str]]:
    return [(block.kind, block.level, page.text[block.start : block.end]) for block in page.blocks]


def item(*content: str) -> str:
    return f"<text:list-item>{''.join(content)}</text:list-item>"


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def numbered(*items: str, more: str = "") -> str:
    return f'<text:list text:style-name="L"{more}>{"".join(items)}</text:list>'


def test_lists_show_their_numbers(parse: Parse) -> None:
    page = parse(
        "text",
        numbered(item(p("Scope"), f"<text:list>{item(p('Parts'))}{item(p('Labour'))}</text:list>"), item(p("Term")))
        + p("between")
        + numbered(item(p("Price")), more=' text:continue-numbering="true"')
        + numbered(item(p("Anew"))),
        styles=NUMBERED,
    ).pages[0]
    assert page.text == ("1. Scope\n  1.1 Parts\n  1.2 Labour\n2. Term\n\nbetween\n\n3. Price\n1. Anew")
    assert kinds(page)[1] == (BlockKind.LIST_ITEM, 2, "Parts")


def test_heading_within_a_list_is_a_heading_with_its_number(parse: Parse) -> None:
    page = parse(
        "text",
        numbered(item('<text:h text:outline-level="1">Scope</text:h>'))
        + numbered(
            item("<text:list>" + item('<text:h text:outline-level="2">Parts</text:h>') + "</text:list>"),
            more=' text:continue-numbering="true"',
        ),
        styles=NUMBERED,
    ).pages[0]
    assert kinds(page) == [(BlockKind.HEADING, 1, "1. Scope"), (BlockKind.HEADING, 2, "1.1 Parts")]


def test_outline_numbers_headings(parse: Parse) -> None:
    outline = (
        f"<office:document-styles {NAMESPACES}><office:styles><text:outline-style>"
        '<text:outline-level-style text:level="1" style:num-format="I"/></text:outline-style></office:styles>'
        "</office:document-styles>"
    )
    heading = '<text:h text:outline-level="1">{}</text:h>'
    page = parse("text", heading.format("One") + heading.format("Two"), parts={"styles.xml": outline}).pages[0]
    assert page.text == "# I One\n\n# II Two"


def test_table_states_its_header_and_fills_its_spans(parse: Parse) -> None:
    covered = "<table:covered-table-cell/>"
    page = parse(
        "text",
        '<table:table table:name="T"><table:table-header-rows>'
        f"{row(cell('Model', number_rows_spanned='2'), cell('2024', number_columns_spanned='2'), covered)}"
        f"{row(covered, cell('Net'), cell('Gross'))}</table:table-header-rows>"
        f"{row(cell('Basic'), cell('100'), cell('119'))}</table:table>",
    ).pages[0]
    assert page.text.splitlines() == ["Model | 2024 Net | 2024 Gross", "Model: Basic; 2024 Net: 100; 2024 Gross: 119"]
    table = page.blocks[0].table
    assert table is not None
    assert table.header == ("Model", "2024 Net", "2024 Gross")


def test_hidden_words_are_left_out_and_counted(parse: Parse) -> None:
    hidden = (
        '<style:style style:name="{0}" style:family="{1}"><style:text-properties text:display="none"/></style:style>'
    )
    child = '<style:style style:name="C" style:family="paragraph" style:parent-style-name="P"/>'
    document = parse(
        "text",
        '<text:p>Shown<text:span text:style-name="S"> not this</text:span></text:p>'
        '<text:p text:style-name="C">nor this</text:p>'
        '<text:section text:display="none"><text:p>nor that one</text:p></text:section>'
        '<text:p><text:hidden-paragraph text:is-hidden="true"/>or it</text:p>'
        '<text:p>End<text:hidden-text text:is-hidden="true" text:string-value="secret"/></text:p>',
        styles=hidden.format("S", "text") + hidden.format("P", "paragraph") + child,
    )
    assert document.pages[0].text == "Shown\n\nEnd"
    assert document.warnings == ("10 hidden words are not read; unhide what is to be searched",)


def test_shapes_ruby_and_fields_are_read(parse: Parse) -> None:
    page = parse(
        "text",
        "<office:forms><form:form xmlns:form='f'><form:text form:id='c1' form:current-value='Ada'/></form:form>"
        "</office:forms><text:p>Name <draw:control draw:control='c1'/><draw:custom-shape><text:p>in a shape</text:p>"
        "</draw:custom-shape></text:p><text:p><text:ruby><text:ruby-base>東京</text:ruby-base>"
        "<text:ruby-text>とうきょう</text:ruby-text></text:ruby> on <text:date>5 May 2024</text:date></text:p>"
        '<text:p><draw:frame><draw:image xlink:href="a.png"/><svg:title>Boiler</svg:title></draw:frame></text:p>',
    ).pages[0]
    assert page.text == "Name\n\nAda\n\nin a shape\n\n東京 (とうきょう) on 5 May 2024\n\nBoiler"
    assert kinds(page)[-1] == (BlockKind.IMAGE, 0, "Boiler")


def test_formulas_and_charts_of_their_own_parts_are_read(parse: Parse) -> None:
    formula = (
        '<math xmlns="m"><semantics><mrow><mi>E</mi><mo>=</mo><mfrac><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>'
        '</mfrac></mrow><annotation encoding="StarMath 5.0">E = m over c^2</annotation></semantics></math>'
    )
    table = f"<table:table>{row(cell(''), cell('Sales'))}{row(cell('East'), cell('19'))}</table:table>"
    chart = (
        f"<office:document-content {NAMESPACES}><office:body><office:chart><chart:chart><chart:title><text:p>By region"
        f"</text:p></chart:title>{table}</chart:chart></office:chart></office:body></office:document-content>"
    )
    page = parse(
        "text",
        '<text:p><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p>'
        '<text:p><draw:frame><draw:object xlink:href="./Object 2"/></draw:frame></text:p>',
        parts={"Object 1/content.xml": formula, "Object 2/content.xml": chart},
    ).pages[0]
    assert page.text.startswith("E = \\frac{m}{c^{2}}\n\nBy region\n\n")
    assert page.text.endswith("East; Sales: 19")


def test_notes_and_hidden_parts_of_a_sheet(parse: Parse) -> None:
    noted = (
        "<table:table-cell><office:annotation><dc:creator>Jo</dc:creator><text:p>ask Ann</text:p></office:annotation>"
        "<text:p>5</text:p></table:table-cell>"
    )
    document = parse(
        "spreadsheet",
        '<table:table table:name="S"><table:table-column/><table:table-column/>'
        '<table:table-column table:visibility="collapse"/>'
        f"{row(cell('Name'), cell('Price'), cell('Cost'))}{row(cell('Tea'), noted, cell('1'))}"
        f'<table:table-row table:visibility="filter">{cell("Oil")}{cell("6")}</table:table-row>'
        f"{row(cell('Salt'), cell('7'), cell('2'))}</table:table>",
    )
    page = document.pages[0]
    assert page.text == (
        "# S\n\nName | Price\nName: Tea; Price: 5\nName: Salt; Price: 7\n\n## Notes\n\n- B2 (Tea, 5): ask Ann"
    )
    assert page.name == "S"
    assert document.warnings == ("1 hidden rows and 1 hidden columns are not read; unhide what is to be searched",)


def test_slide_has_its_title_first_and_as_its_name(parse: Parse) -> None:
    frame = "<draw:frame{}><draw:text-box>{}</draw:text-box></draw:frame>"
    document = parse(
        "presentation",
        "<draw:page>"
        + frame.format("", f"<text:list>{item(p('first'))}</text:list>")
        + frame.format(' presentation:class="title"', p("Plans"))
        + "</draw:page>",
    )
    assert document.pages[0].text == "# Plans\n\n- first"
    assert document.pages[0].name == document.title == "Plans"


def test_heads_and_feet_are_read_once_without_their_fields(parse: Parse) -> None:
    places = (
        "<style:header><text:p>Seed works Ltd</text:p></style:header><style:header-first>"
        "<text:p>Seed works Ltd</text:p></style:header-first>"
        "<style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer>"
    )
    styles = (
        f"<office:document-styles {NAMESPACES}><office:master-styles><style:master-page>{places}</style:master-page>"
        "</office:master-styles></office:document-styles>"
    )
    page = parse("text", p("Body"), parts={"styles.xml": styles}).pages[0]
    assert kinds(page) == [(BlockKind.PARAGRAPH, 0, "Body"), (BlockKind.FURNITURE, 0, "Seed works Ltd")]


def test_title_is_that_of_the_properties(parse: Parse) -> None:
    title = "<office:meta><dc:title>Terms</dc:title></office:meta>"
    meta = f"<office:document-meta {NAMESPACES}>{title}</office:document-meta>"
    assert parse("text", p("x"), parts={"meta.xml": meta}).title == "Terms"


def test_words_in_unknown_places_are_appended_and_counted(parse: Parse) -> None:
    document = parse(
        "presentation", "<draw:page><presentation:shapes><text:p>Stray words</text:p></presentation:shapes></draw:page>"
    )
    assert document.pages[0].text == "Stray words"
    assert "2 words stand in unusual places" in document.warnings[0]


def test_notes_within_notes_are_read_once(parse: Parse) -> None:
    depth = 40  # reading each note twice would take 2 to the power of 40 steps
    opened = "".join(f"<text:p>w{number}<text:note>" for number in range(depth))
    text = parse("text", opened + "</text:note></text:p>" * depth).pages[0].text
    assert [text.count(f"w{number} ") for number in range(depth - 1)] == [1] * (depth - 1)
