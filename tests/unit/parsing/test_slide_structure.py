"""The structure of slides: lists, tables with merged cells, diagrams, pictures, hidden shapes, titles."""

from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches, Pt

from analytiq.ingestion.parsing.numbering import counted, shown_number
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedPage
from tests.unit.parsing.test_pptx import BOX, TITLE_AND_BODY, read, titled, write
from tests.unit.parsing.test_xlsx import rewrite

DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.pptx"


def kinds(page: ParsedPage) -> list[tuple[BlockKind, str]]:
    return [(block.kind, page.text[block.start : block.end]) for block in page.blocks]


def fill_table(slide: Any, rows: list[list[str]]) -> Any:
    table = slide.shapes.add_table(len(rows), len(rows[0]), *BOX).table
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            table.cell(number, column).text = text
    return table


def test_slide_has_a_name_and_blocks(path: Path) -> None:
    def fill(slide: Any) -> None:
        slide.shapes.title.text = "Plans"
        frame = slide.placeholders[1].text_frame
        frame.text = "Grow quinces"
        below = frame.add_paragraph()
        below.text, below.level = "in the south", 1
        slide.shapes.add_textbox(*BOX).text_frame.text = "A remark"
        slide.notes_slide.notes_text_frame.text = "Say it slowly."

    write(path, fill, layout=TITLE_AND_BODY)
    document = read(path)
    page = document.pages[0]
    assert page.name == "Plans"
    assert document.title == "Plans"
    assert kinds(page) == [
        (BlockKind.HEADING, "Plans"),
        (BlockKind.LIST_ITEM, "Grow quinces"),
        (BlockKind.LIST_ITEM, "in the south"),
        (BlockKind.PARAGRAPH, "A remark"),
        (BlockKind.HEADING, "Notes"),
        (BlockKind.PARAGRAPH, "Say it slowly."),
    ]
    assert [block.level for block in page.blocks] == [1, 1, 2, 0, 2, 0]


def test_price_in_a_table_stands_under_its_merged_header(path: Path) -> None:
    def fill(slide: Any) -> None:
        table = fill_table(
            slide,
            [["Model", "2024", ""], ["", "Net", "Gross"], ["Basic", "100", "119"], ["Enterprise", "4200", "4998"]],
        )
        table.cell(0, 0).merge(table.cell(1, 0))
        table.cell(0, 1).merge(table.cell(0, 2))

    write(path, fill)
    page = read(path).pages[0]
    assert page.text.splitlines() == [
        "Model | 2024 Net | 2024 Gross",
        "Model: Basic; 2024 Net: 100; 2024 Gross: 119",
        "Model: Enterprise; 2024 Net: 4200; 2024 Gross: 4998",
    ]
    table = page.blocks[0].table
    assert table is not None
    assert table.header == ("Model", "2024 Net", "2024 Gross")
    assert len(table.rows) == 2


def test_stated_header_may_be_numbers(path: Path) -> None:
    write(path, lambda slide: fill_table(slide, [["Region", "2023", "2024"], ["East", "7", "8"]]))
    assert read(path).pages[0].text.splitlines()[-1] == "Region: East; 2023: 7; 2024: 8"


def test_numbered_paragraphs_keep_their_numbers(path: Path) -> None:
    def fill(slide: Any) -> None:
        slide.shapes.add_textbox(*BOX).text_frame.text = "x"

    write(path, fill)
    items = "".join(
        f'<a:p><a:pPr lvl="{level}"><a:buAutoNum type="{kind}"{start}/></a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>'
        for level, kind, start, text in (
            (0, "arabicPeriod", ' startAt="3"', "three"),
            (1, "alphaLcParenR", "", "a"),
            (1, "alphaLcParenR", "", "b"),
            (0, "arabicPeriod", ' startAt="3"', "four"),
            (1, "alphaLcParenR", "", "again"),
        )
    ).encode()
    rewrite(path, "ppt/slides/slide1.xml", lambda xml: xml.replace(b"<a:p><a:r><a:t>x</a:t></a:r></a:p>", items))
    assert read(path).pages[0].text.splitlines() == ["3. three", "  a) a", "  b) b", "4. four", "  a) again"]


@pytest.mark.parametrize(
    ("number", "style", "shown"),
    [(4, "i", "iv"), (1994, "I", "MCMXCIV"), (27, "a", "aa"), (2, "A", "B"), (7, "1", "7")],
)
def test_number_shows_in_its_style(number: int, style: str, shown: str) -> None:
    assert counted(number, style) == shown
    assert shown_number(9, "romanUcParenBoth") == "(IX)"


def test_diagram_is_a_list_by_its_connections(path: Path) -> None:
    write(path, titled("Process"))
    relation = (
        b'<Relationship Id="rId91" Target="../diagrams/data1.xml" Type="http://schemas.openxmlformats.org/'
        b'officeDocument/2006/relationships/diagramData"/></Relationships>'
    )
    rewrite(path, "ppt/slides/_rels/slide1.xml.rels", lambda xml: xml.replace(b"</Relationships>", relation))
    points = "".join(
        f'<d:pt modelId="{name}"><d:t><a:p><a:r><a:t>{name}</a:t></a:r></a:p></d:t></d:pt>'
        for name in ("water", "plant", "spade")
    )
    connections = "".join(
        f'<d:cxn srcId="{above}" destId="{below}" srcOrd="{order}"/>'
        for above, below, order in (("0", "plant", 0), ("0", "water", 1), ("plant", "spade", 0), ("spade", "plant", 0))
    )
    with ZipFile(path, "a", ZIP_DEFLATED) as archive:
        archive.writestr(
            "ppt/diagrams/data1.xml",
            f'<d:dataModel xmlns:d="d" {DRAWING}><d:ptLst><d:pt modelId="0" type="doc"/>{points}</d:ptLst>'
            f"<d:cxnLst>{connections}</d:cxnLst></d:dataModel>",
        )
    assert read(path).pages[0].text == "# Process\n\n- plant\n  - spade\n- water"


def test_hidden_shapes_are_left_out_and_counted(path: Path) -> None:
    def fill(slide: Any) -> None:
        box = slide.shapes.add_textbox(*BOX)
        box.text_frame.text = "secret"
        box._element.nvSpPr.cNvPr.set("hidden", "1")
        slide.shapes.add_textbox(*BOX).text_frame.text = "shown"

    write(path, fill)
    document = read(path)
    assert document.pages[0].text == "shown"
    assert document.warnings == ("1 hidden shapes are not read; show what is to be searched",)


def test_alternative_for_older_programs_is_not_read(path: Path) -> None:
    write(path, titled("Sum"))
    shape = (
        b'<mc:AlternateContent xmlns:mc="m"><mc:Choice><p:sp><p:nvSpPr><p:cNvPr id="9" name="n"/></p:nvSpPr><p:txBody>'
        b"<a:p><a:r><a:t>E = mc2</a:t></a:r></a:p></p:txBody></p:sp></mc:Choice><mc:Fallback><p:sp><p:nvSpPr>"
        b'<p:cNvPr id="9" name="n"/></p:nvSpPr><p:txBody><a:p><a:r><a:t>not available</a:t></a:r></a:p></p:txBody>'
        b"</p:sp></mc:Fallback></mc:AlternateContent></p:spTree>"
    )
    rewrite(path, "ppt/slides/slide1.xml", lambda xml: xml.replace(b"</p:spTree>", shape))
    assert read(path).pages[0].text == "# Sum\n\nE = mc2"


@pytest.mark.parametrize(("stated", "title"), [("Roadmap 2025", "Roadmap 2025"), ("PowerPoint Presentation", "First")])
def test_title_is_that_of_the_properties_or_of_the_first_slide(path: Path, stated: str, title: str) -> None:
    presentation = Presentation()
    presentation.core_properties.title = stated
    titled("First")(presentation.slides.add_slide(presentation.slide_layouts[5]))
    presentation.save(str(path))
    assert read(path).title == title


def test_strict_presentation_is_read(path: Path) -> None:
    write(path, titled("Strictly"))
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            for kind in (b"presentationml", b"officeDocument", b"drawingml"):
                content = content.replace(
                    b"http://schemas.openxmlformats.org/%s/2006/" % kind, b"http://purl.oclc.org/ooxml/%s/" % kind
                )
            archive.writestr(name, content)
    assert read(path).pages[0].text == "# Strictly"


def test_words_that_no_shape_holds_are_appended_and_counted(path: Path) -> None:
    write(path, titled("Plan"))
    stray = b"<p:extLst><p:ext><a:p><a:r><a:t>Stray words</a:t></a:r></a:p></p:ext></p:extLst></p:sld>"
    rewrite(path, "ppt/slides/slide1.xml", lambda xml: xml.replace(b"</p:sld>", stray))
    document = read(path)
    assert document.pages[0].text == "# Plan\n\nStray words"
    assert document.warnings == ("2 words stand in unusual places; they are at the end of their slides",)


def test_chart_with_a_single_series_names_its_values(path: Path) -> None:
    def fill(slide: Any) -> None:
        numbers = CategoryChartData()
        numbers.categories = ["East", "West"]
        numbers.add_series("Sales", (19.2, 21))
        slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, numbers)

    write(path, fill)
    assert read(path).pages[0].text == "Sales\nEast; Sales: 19.2\nWest; Sales: 21"


def put(slide: Any, text: str, *, top: float = 1, left: float = 1, size: float = 18, color: str = "") -> Any:
    box = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(3), Inches(0.5))
    run = box.text_frame.paragraphs[0].add_run()
    run.text, run.font.size = text, Pt(size)
    if color:
        run.font.color.rgb = RGBColor.from_string(color)
    return box


def test_words_that_nobody_sees_are_left_out_and_counted(path: Path) -> None:
    def fill(slide: Any) -> None:
        put(slide, "Seen words", top=1)
        put(slide, "white words", top=2, color="FFFFFF")
        put(slide, "tiny", top=3, size=1)
        put(slide, "on the right", left=30)
        put(slide, "above", top=-9)

    write(path, fill)
    document = read(path)
    assert document.pages[0].text == "Seen words"
    assert document.warnings == (
        "7 hidden words are not read: white on white, transparent, too small, or beside the slide",
    )


def test_white_words_on_a_dark_ground_are_read(path: Path) -> None:
    def on_shape(slide: Any) -> None:
        fill = put(slide, "On a shape", color="FFFFFF").fill
        fill.solid()
        fill.fore_color.rgb = RGBColor(0, 0, 90)

    def over_shape(slide: Any) -> None:
        fill = put(slide, "Below").fill
        fill.solid()
        fill.fore_color.rgb = RGBColor(0, 0, 90)
        put(slide, "Over a shape", color="FFFFFF")

    def on_ground(slide: Any) -> None:
        slide.background.fill.solid()
        slide.background.fill.fore_color.rgb = RGBColor(10, 10, 10)
        put(slide, "On a dark slide", color="FFFFFF")

    write(path, on_shape, over_shape, on_ground)
    document = read(path)
    assert [page.text for page in document.pages] == ["On a shape", "Below\n\nOver a shape", "On a dark slide"]
    assert not document.warnings


def test_title_above_the_slide_names_it(path: Path) -> None:
    def fill(slide: Any) -> None:
        slide.shapes.title.text = "For screen readers"
        title = slide.shapes.title
        title.left, title.top, title.width, title.height = 0, -Inches(2), Inches(5), Inches(1)

    write(path, fill, layout=TITLE_AND_BODY)
    assert read(path).pages[0].text == "# For screen readers"
