import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.pptx import PptxParser
from analytiq.models.text import ParsedDocument
from tests.unit.parsing.test_formats import write_compound
from tests.unit.parsing.test_xlsx import rewrite

TITLE_AND_BODY, TITLE_ONLY = 1, 5
BOX = (Inches(1), Inches(1), Inches(4), Inches(2))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.pptx"


def read(path: Path, **options: Any) -> ParsedDocument:
    return PptxParser().parse(path, ParseOptions(**options), lambda done, total: None)


def write(path: Path, *fills: Callable[[Any], object], layout: int = TITLE_ONLY) -> None:
    """A presentation with a slide for each function, which fills it."""
    presentation = Presentation()
    for fill in fills:
        fill(presentation.slides.add_slide(presentation.slide_layouts[layout]))
    presentation.save(str(path))


def titled(title: str) -> Callable[[Any], object]:
    def fill(slide: Any) -> None:
        slide.shapes.title.text = title

    return fill


def test_each_slide_is_a_page_that_begins_with_its_title(path: Path) -> None:
    def fill(slide: Any) -> None:
        slide.shapes.title.text = "Plans"
        frame = slide.placeholders[1].text_frame
        frame.text = "Grow quinces"
        below = frame.add_paragraph()
        below.text, below.level = "in the south", 1

    write(path, fill, fill, layout=TITLE_AND_BODY)
    document = read(path)
    assert [page.text for page in document.pages] == ["# Plans\n\n- Grow quinces\n  - in the south"] * 2
    assert [page.page_number for page in document.pages] == [1, 2]


def test_title_comes_first_wherever_it_stands_among_the_shapes(path: Path) -> None:
    def fill(slide: Any) -> None:
        slide.shapes.title.text = "Last drawn"
        slide.shapes.add_textbox(*BOX).text_frame.text = "A box"
        tree = slide.shapes._spTree
        tree.append(slide.shapes.title._element)

    write(path, fill)
    assert read(path).pages[0].text == "# Last drawn\n\nA box"


def test_notes_stand_below_their_slide(path: Path) -> None:
    def fill(slide: Any) -> None:
        slide.notes_slide.notes_text_frame.text = "Say it slowly."

    write(path, fill, titled("Next"))
    document = read(path)
    assert document.pages[0].text == "## Notes\n\nSay it slowly."
    assert document.pages[1].text == "# Next"


def test_row_of_a_table_says_what_its_values_are(path: Path) -> None:
    def fill(slide: Any) -> None:
        table = slide.shapes.add_table(2, 2, *BOX).table
        for place, text in {(0, 0): "Fruit", (0, 1): "Price", (1, 0): "Quince", (1, 1): "3.50"}.items():
            table.cell(*place).text = text

    write(path, fill)
    assert read(path).pages[0].text == "Fruit | Price\nFruit: Quince; Price: 3.50"


def test_group_is_read_where_it_stands(path: Path) -> None:
    def fill(slide: Any) -> None:
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(*BOX).text_frame.text = "inside"
        group.shapes.add_group_shape().shapes.add_textbox(*BOX).text_frame.text = "deeper"
        slide.shapes.add_textbox(*BOX).text_frame.text = "after"

    write(path, fill)
    assert read(path).pages[0].text == "inside\n\ndeeper\n\nafter"


def test_chart_gives_its_title_and_numbers(path: Path) -> None:
    def fill(slide: Any) -> None:
        numbers = CategoryChartData()
        numbers.categories = ["East", "West"]
        numbers.add_series("Sales", (19.2, 21))
        numbers.add_series("Costs", (7, None))
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, numbers).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "By region"

    write(path, fill)
    assert read(path).pages[0].text == "By region\n\nSales | Costs\nEast; Sales: 19.2; Costs: 7\nWest; Sales: 21"


def test_hidden_slide_is_read_and_told_and_keeps_its_number(path: Path) -> None:
    def hide(slide: Any) -> None:
        titled("Hidden")(slide)
        slide._element.set("show", "0")

    write(path, titled("First"), hide, titled("Third"))
    document = read(path)
    assert [page.text for page in document.pages] == ["# First", "# Hidden", "# Third"]
    assert document.warnings == ("hidden slides are read too: 2; delete the slides that are not to be searched",)


def test_presentation_with_a_password_says_what_to_do(path: Path) -> None:
    write_compound(path, "EncryptedPackage")
    with pytest.raises(EncryptedFileError, match="remove its password"):
        read(path)


def test_presentation_without_slides_is_refused(path: Path) -> None:
    write(path)
    with pytest.raises(CorruptFileError, match="no slides"):
        read(path)


def test_more_slides_than_pages_may_be_are_refused(path: Path) -> None:
    write(path, *[titled("x")] * 3)
    with pytest.raises(LimitExceededError, match="3 slides"):
        read(path, max_pages=2)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("ppt/slides/slide1.xml", lambda xml: xml[: len(xml) // 2]),
        ("ppt/presentation.xml", lambda xml: b"<oops/>"),
        ("ppt/_rels/presentation.xml.rels", lambda xml: re.sub(rb"slides/slide1", b"slides/slide9", xml)),
    ],
)
def test_damaged_part_is_a_corrupt_file(path: Path, part: str, change: Callable[[bytes], bytes]) -> None:
    write(path, titled("x"))
    rewrite(path, part, change)
    with pytest.raises(CorruptFileError, match="undamaged copy"):
        read(path)


def test_diagram_and_comments_in_parts_of_their_own_are_read(path: Path) -> None:
    write(path, titled("Process"))
    relations = (
        b'<Relationship Id="rId91" Target="../diagrams/data1.xml" Type="http://schemas.openxmlformats.org/'
        b'officeDocument/2006/relationships/diagramData"/><Relationship Id="rId92" Target="../comments/comment1.xml" '
        b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"/></Relationships>'
    )
    rewrite(path, "ppt/slides/_rels/slide1.xml.rels", lambda xml: xml.replace(b"</Relationships>", relations))
    with ZipFile(path, "a") as archive:
        archive.writestr(
            "ppt/diagrams/data1.xml",
            '<d:dataModel xmlns:d="d" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
            "<a:p><a:r><a:t>Plant, then water</a:t></a:r></a:p></d:dataModel>",
        )
        archive.writestr(
            "ppt/comments/comment1.xml", '<p:cmLst xmlns:p="p"><p:cm><p:text>Too short?</p:text></p:cm></p:cmLst>'
        )
    assert read(path).pages[0].text == "# Process\n\nPlant, then water\n\n## Comments\n\nToo short?"
