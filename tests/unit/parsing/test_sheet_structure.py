"""Structure of a workbook beside its plain cells: spans, headers, tables, notes, shapes, charts, hidden parts."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Font, PatternFill
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from openpyxl.worksheet.table import Table

from analytiq.errors import LimitExceededError
from analytiq.ingestion.parsing import sheet_pages, sheet_text
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.table_lines import RowLine
from analytiq.ingestion.parsing.xlsx import XlsxParser
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument, ParsedPage
from tests.unit.parsing.test_xlsx import rewrite

RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "book.xlsx"


def read(path: Path) -> ParsedDocument:
    return XlsxParser().parse(path, ParseOptions(), lambda done, total: None)


def written(path: Path, *rows: list[Any], fill: Callable[[Any], object] = lambda sheet: None) -> ParsedDocument:
    book = Workbook()
    sheet = book.worksheets[0]
    for row in rows:
        sheet.append(row)
    fill(sheet)
    book.save(path)
    return read(path)


def lines(document: ParsedDocument) -> list[str]:
    return [line for line in document.pages[0].text.splitlines()[1:] if line]


def kinds(page: ParsedPage) -> list[tuple[BlockKind, str]]:
    return [(block.kind, page.text[block.start : block.end]) for block in page.blocks]


def merge(*ranges: str) -> Callable[[Any], None]:
    def fill(sheet: Any) -> None:
        for cells in ranges:
            sheet.merge_cells(cells)

    return fill


def relate(path: Path, relations: dict[str, str], parts: dict[str, str]) -> None:
    """Give the first sheet further parts."""
    with ZipFile(path, "a", ZIP_DEFLATED) as archive:
        stated = "".join(
            f'<Relationship Id="x{number}" Type="{kind}" Target="{part}"/>'
            for number, (part, kind) in enumerate(relations.items())
        )
        archive.writestr("xl/worksheets/_rels/sheet1.xml.rels", f"<Relationships xmlns='r'>{stated}</Relationships>")
        for name, content in parts.items():
            archive.writestr(name, content)


def test_header_of_two_merged_lines_is_joined_and_its_title_stands_apart(path: Path) -> None:
    document = written(
        path,
        ["Sales by product", None, None, None, None],
        ["Product", 2023, None, 2024, None],
        [None, "Plan", "Actual", "Plan", "Actual"],
        ["Tea", 5, 6, 7, 8],
        ["Oil", 1, 2, 3, 4],
        fill=merge("A1:E1", "A2:A3", "B2:C2", "D2:E2"),
    )
    page = document.pages[0]
    assert lines(document) == [
        "Sales by product",
        "Product | 2023 Plan | 2023 Actual | 2024 Plan | 2024 Actual",
        "Product: Tea; 2023 Plan: 5; 2023 Actual: 6; 2024 Plan: 7; 2024 Actual: 8",
        "Product: Oil; 2023 Plan: 1; 2023 Actual: 2; 2024 Plan: 3; 2024 Actual: 4",
    ]
    assert kinds(page)[:2] == [(BlockKind.HEADING, "Sheet"), (BlockKind.CAPTION, "Sales by product")]
    table = page.blocks[2].table
    assert table is not None
    assert table.header == ("Product", "2023 Plan", "2023 Actual", "2024 Plan", "2024 Actual")
    assert [page.text[start:end].split(";")[0] for start, end in table.rows] == ["Product: Tea", "Product: Oil"]


def test_group_above_an_empty_corner_is_no_title(path: Path) -> None:
    document = written(path, [None, 2024, None], ["Product", "Plan", "Actual"], ["Tea", 7, 8], fill=merge("B1:C1"))
    assert lines(document)[-1] == "Product: Tea; 2024 Plan: 7; 2024 Actual: 8"


def test_value_merged_downwards_is_in_each_of_its_rows(path: Path) -> None:
    document = written(path, ["Region", "Item", "Fee"], ["North", "Boat", 11], [None, "Barge", 12], fill=merge("A2:A3"))
    assert lines(document)[1:] == ["Region: North; Item: Boat; Fee: 11", "Region: North; Item: Barge; Fee: 12"]


def test_section_merged_over_a_table_is_said_once(path: Path) -> None:
    document = written(
        path,
        ["Item", "Price", "Stock"],
        ["Tools", None, None],
        ["Saw", 9, 4],
        fill=merge("A2:C2"),
    )
    assert document.pages[0].text.count("Tools") == 1
    assert lines(document)[-1] == "Item: Saw; Price: 9; Stock: 4"


@pytest.mark.slow
def test_spans_that_cover_too_many_cells_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_text.CellBudget.__init__, "__defaults__", (100_000,))

    def fill(sheet: Any) -> None:
        for number in range(1, 20):
            sheet.cell(number, 1, "far")
            sheet.cell(number, 2, "off")
            sheet.merge_cells(start_row=number, end_row=number, start_column=2, end_column=16_384)

    with pytest.raises(LimitExceededError, match="cells"):
        written(path, fill=fill)


def test_price_in_a_sheet_of_5000_rows_stands_beside_its_product(path: Path) -> None:
    rows = [[f"Pump P-{number:04}", f"{number % 7} kW", number / 4] for number in range(5_000)]
    page = written(path, ["Product", "Power", "Price"], *rows).pages[0]
    assert "Product: Pump P-3210; Power: 4 kW; Price: 802.5" in page.text.splitlines()
    table = page.blocks[1].table
    assert table is not None
    assert len(table.rows) == 5_000


def test_defined_table_has_the_header_that_it_states(path: Path) -> None:
    def fill(sheet: Any) -> None:
        sheet.add_table(Table(displayName="Staff_costs", ref="A3:B5"))

    # By its looks, the first row is no header: "Anna" stands below it, too.
    rows = [["Budget", "draft"], [None], ["Anna", "Cost"], ["Anna", "Cost"], ["Ben", "4"]]
    document = written(path, *rows, fill=fill)
    assert lines(document)[-4:] == ["Staff costs", "Anna | Cost", "Anna: Anna; Cost: Cost", "Anna: Ben; Cost: 4"]


def test_hidden_rows_columns_and_cells_are_left_out_and_counted(path: Path) -> None:
    def fill(sheet: Any) -> None:
        sheet.row_dimensions[3].hidden = True
        sheet.column_dimensions["C"].hidden = True
        sheet["B2"].number_format = ";;;"
        sheet["A3"].comment = Comment("kept secret", "Ann")

    document = written(
        path, ["Name", "City", "Pay"], ["Ann", "Ulm", 7], ["Bob", "Bonn", 8], ["Cy", "Ulm", 9], fill=fill
    )
    assert lines(document) == ["Name | City", "Name: Ann", "Name: Cy; City: Ulm"]
    assert "1 hidden rows and 1 hidden columns and 1 hidden cells" in document.warnings[0]


def test_note_stands_with_its_cell_and_the_key_of_its_row(path: Path) -> None:
    def fill(sheet: Any) -> None:
        sheet["B2"].comment = Comment("ask Ann", "Ben")

    document = written(path, ["Name", "Price"], ["Tea", 5], fill=fill)
    assert document.pages[0].text.endswith("## Notes\n\n- B2 (Tea, 5): ask Ann")


def test_thread_of_comments_replaces_the_note_for_older_programs(path: Path) -> None:
    written(path, ["Name", "Price"], ["Tea", 5])
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relate(
        path,
        {
            "../comments1.xml": f"{RELATIONSHIPS}/comments",
            "../threadedComments/threadedComment1.xml": (
                "http://schemas.microsoft.com/office/2017/10/relationships/threadedComment"
            ),
        },
        {
            "xl/comments1.xml": f'<comments xmlns="{main}"><commentList><comment ref="A2"><text><t>[Threaded comment] '
            "Your version of Excel</t></text></comment></commentList></comments>",
            "xl/threadedComments/threadedComment1.xml": '<ThreadedComments xmlns="t"><threadedComment ref="A2"><text>'
            'Green tea?</text></threadedComment><threadedComment ref="A2"><text>Black.</text></threadedComment>'
            "</ThreadedComments>",
        },
    )
    assert read(path).pages[0].text.endswith("- A2 (Tea): Green tea? / Black.")


def test_text_boxes_and_described_pictures_are_read(path: Path) -> None:
    written(path, ["x"])
    shapes = (
        '<d:wsDr xmlns:d="d" xmlns:a="a"><d:twoCellAnchor><d:sp><d:nvSpPr><d:cNvPr name="Box"/></d:nvSpPr><d:txBody>'
        "<a:p><a:r><a:t>Prices are net</a:t></a:r></a:p></d:txBody></d:sp></d:twoCellAnchor><d:twoCellAnchor><d:pic>"
        '<d:nvPicPr><d:cNvPr name="P" descr="A boiler with its valves"/></d:nvPicPr></d:pic></d:twoCellAnchor>'
        '<d:oneCellAnchor><d:pic><d:nvPicPr><d:cNvPr name="Q" descr="IMG_0042.png"/></d:nvPicPr></d:pic>'
        "</d:oneCellAnchor></d:wsDr>"
    )
    relate(path, {"../drawings/drawing1.xml": f"{RELATIONSHIPS}/drawing"}, {"xl/drawings/drawing1.xml": shapes})
    assert kinds(read(path).pages[0])[2:] == [
        (BlockKind.PARAGRAPH, "Prices are net"),
        (BlockKind.IMAGE, "A boiler with its valves"),
    ]


@pytest.mark.parametrize("is_hidden", [False, True])
def test_chart_repeats_no_cells_that_are_read(path: Path, is_hidden: bool) -> None:
    book = Workbook()
    data = book.create_sheet("Data")
    for row in (["Region", "Sales"], ["East", 19], ["West", 21]):
        data.append(row)
    data.sheet_state = "hidden" if is_hidden else "visible"
    chart = BarChart()
    chart.title = "By region"
    chart.y_axis.title = "Millions"
    chart.add_data(Reference(data, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    book.worksheets[0].add_chart(chart)
    book.save(path)
    cached = (
        "<c:numRef><c:f>'Data'!$B$2:$B$3</c:f><c:numCache><c:pt idx=\"0\"><c:v>19</c:v></c:pt></c:numCache></c:numRef>"
    )

    def with_values(xml: bytes) -> bytes:
        text = xml.decode().replace("<numRef><f>'Data'!$B$2:$B$3</f></numRef>", cached.replace("c:", ""))
        assert "numCache" in text
        return text.encode()

    rewrite(path, "xl/charts/chart1.xml", with_values)
    text = read(path).pages[0].text
    assert "By region" in text
    assert "Millions" in text
    assert ("19" in text) is is_hidden


def test_escapes_of_characters_are_decoded(path: Path) -> None:
    document = written(path, ["done_x000D_\nnext", "snake_x005F_x0041_case", "smile _xD83D__xDE00_"])
    assert lines(document) == ["done next | snake_x0041_case | smile 😀"]


def test_printed_heads_and_feet_are_furniture(path: Path) -> None:
    def fill(sheet: Any) -> None:
        sheet.oddHeader.center.text = "Confidential R&&D"
        sheet.oddFooter.right.text = "&P / &N"

    page = written(path, ["x"], fill=fill).pages[0]
    assert kinds(page)[-1] == (BlockKind.FURNITURE, "Confidential R&D")
    assert "/" not in page.text


def test_dates_since_1904_are_read_as_they_show(path: Path) -> None:
    book = Workbook()
    book.epoch = CALENDAR_MAC_1904
    book.worksheets[0]["A1"] = datetime(2024, 3, 5, tzinfo=UTC).replace(tzinfo=None)
    book.save(path)
    assert lines(read(path)) == ["2024-03-05"]


def test_strict_workbook_is_read(path: Path) -> None:
    def strict(xml: bytes) -> bytes:
        for name in (b"spreadsheetml", b"officeDocument", b"drawingml"):
            xml = xml.replace(
                b"http://schemas.openxmlformats.org/%s/2006/" % name, b"http://purl.oclc.org/ooxml/%s/" % name
            )
        return xml

    written(path, ["Fruit", "Price"], ["Quince", 3.5])
    with ZipFile(path) as archive:
        parts = {name: strict(archive.read(name)) for name in archive.namelist() if name != "[Content_Types].xml"}
        types = archive.read("[Content_Types].xml")
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in {"[Content_Types].xml": types, **parts}.items():
            archive.writestr(name, content)
    assert lines(read(path)) == ["Fruit | Price", "Fruit: Quince; Price: 3.5"]


@pytest.mark.parametrize(("stated", "title"), [("Price list 2024", "Price list 2024"), ("Book1", ""), ("a.xlsx", "")])
def test_title_is_that_of_the_properties_unless_a_program_wrote_it(path: Path, stated: str, title: str) -> None:
    book = Workbook()
    book.worksheets[0].append(["x"])
    book.properties.title = stated
    book.save(path)
    document = read(path)
    assert document.title == title
    assert document.pages[0].name == "Sheet"


def test_rows_out_of_order_are_told(path: Path) -> None:
    written(path, ["a"], ["b"], ["c"])
    rewrite(path, "xl/worksheets/sheet1.xml", lambda xml: xml.replace(b'<row r="3"', b'<row r="1"'))
    assert "1 rows are out of order" in read(path).warnings[0]


def test_white_and_tiny_cells_are_left_out_and_counted(path: Path) -> None:
    def fill(sheet: Any) -> None:
        sheet["B2"].font = Font(color="FFFFFFFF")
        sheet["B3"].font = Font(sz=1)
        sheet["B4"].font, sheet["B4"].fill = Font(color="FFFFFFFF"), PatternFill("solid", fgColor="FF000080")

    document = written(path, ["Name", "Note"], ["Ann", "white"], ["Ben", "tiny"], ["Cy", "on blue"], fill=fill)
    assert lines(document) == ["Name | Note", "Name: Ann", "Name: Ben", "Name: Cy; Note: on blue"]
    assert document.warnings == ("2 hidden cells are not read; unhide what is to be searched",)


def test_white_header_of_a_painted_table_is_read(path: Path) -> None:
    def fill(sheet: Any) -> None:
        sheet["A1"].font = sheet["B1"].font = Font(color="FFFFFFFF")
        sheet.add_table(Table(displayName="Prices", ref="A1:B3"))

    document = written(path, ["Name", "Fee"], ["Boat", 3], ["Barge", 4], fill=fill)
    assert "Name: Boat; Fee: 3" in document.pages[0].text


def test_words_of_cells_that_the_lines_lack_are_added_and_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_pages, "sheet_lines", lambda rows: [RowLine("kept") for _ in rows])
    document = written(path, ["kept", "lost"], ["kept", 77])
    assert document.pages[0].text.endswith("lost 77")
    assert document.warnings == ("2 words stand in unusual places; they are at the end of their sheets",)
