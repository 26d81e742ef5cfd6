"""Tables of PDF files and presentations are typed, and one table where they go on over pages."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pptx import Presentation
from pptx.util import Inches

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.pdf import PdfParser
from analytiq.ingestion.parsing.pptx import PptxParser
from analytiq.ingestion.tables import engine
from analytiq.ingestion.tables.collecting import CollectedTable, RowCollector, collecting_rows
from analytiq.ingestion.tables.deriving import write_tables
from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.tables import ColumnType, TableQuery, TablesRead
from analytiq.models.text import DocumentText, ParsedPage, TextSource, join_pages
from tests.unit.parsing.test_pdf_pages import document_of, show

MADE = Path(__file__).parents[2] / "data" / "pdf_structure"
NAMES = ("Region", "Quarter", "Revenue")


def read_tables(
    path: Path, parser: PdfParser | PptxParser
) -> tuple[TablesRead, Sequence[CollectedTable], DocumentText, bytes]:
    collector = RowCollector()
    with collecting_rows(collector):
        document = parser.parse(path, ParseOptions(), lambda _done, _total: None)
    text = join_pages(document.pages)
    rows = io.BytesIO()
    read = write_tables(collector.tables(), text, rows, needs_header=True)
    return read, collector.tables(), text, rows.getvalue()


def lines_of(table: CollectedTable, text: DocumentText) -> list[str]:
    starts = {page.page_number: page.start for page in text.pages}
    return [text.text[starts[page] + start : starts[page] + end] for page, start, end in table.spans]


@pytest.mark.parametrize("name", ["t_grid20", "t_none20"])
def test_table_over_the_pages_of_a_pdf_is_one(name: str, tmp_path: Path) -> None:
    read, collected, text, rows = read_tables(MADE / f"{name}.pdf", PdfParser())
    (table,) = read.tables
    assert (table.row_count, table.page_number, len(text.pages)) == (760, 1, 19)
    assert {column.name: column.type for column in table.columns} == {
        "Article": ColumnType.TEXT,
        "Description": ColumnType.TEXT,
        "Unit": ColumnType.TEXT,
        "Price EUR": ColumnType.DECIMAL,
        "Stock": ColumnType.INTEGER,
    }
    lines = lines_of(collected[0], text)
    assert all(
        f"Article: {row[0]}; Description: {row[1]}" in line for row, line in zip(collected[0].rows, lines, strict=True)
    )
    assert text.has_tables
    path = tmp_path / "rows"
    path.write_bytes(rows)
    connection = engine.connected(256 * 1024 * 1024)
    try:
        answer = engine.answer(connection, path, table, TableQuery("SELECT * FROM rows ORDER BY Article DESC LIMIT 1"))
    finally:
        connection.close()
    (row,) = answer.source_rows
    assert row.page_number == collected[0].spans[row.number - 1][0]
    assert [page for page, _ in read.page_digests] == list(range(1, 20))


def drawn(rows: Sequence[Sequence[str]], *, above: str = "") -> str:
    """Return the content of a page: a line of text, and a table whose cells have lines."""
    content = [show(50, 740, above)] if above else []
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            x, y = 50 + 120 * column, 700 - 20 * number
            content += [f"{x} {y - 6} 120 20 re S", show(x + 4, y, cell)]
    return " ".join(content)


def sales(first: int) -> list[tuple[str, ...]]:
    return [
        NAMES,
        *((f"North {number}", f"Q{number % 4 + 1}", f"{number},500.00") for number in range(first, first + 6)),
    ]


@pytest.mark.parametrize(
    ("above", "counts"),
    [("", [12]), ("Table 1 (continued)", [12]), ("Sales of France", [6, 6])],
)
def test_repeated_header_goes_on_unless_a_title_stands_above(tmp_path: Path, above: str, counts: list[int]) -> None:
    path = tmp_path / "sales.pdf"
    intro = "The sales of the year are listed here, region by region and quarter by quarter, as they were booked."
    document_of(
        path, show(50, 760, intro) + " " + drawn(sales(1), above="Sales of Germany"), drawn(sales(7), above=above)
    )
    read, collected, text, _ = read_tables(path, PdfParser())
    assert [table.row_count for table in read.tables] == counts
    assert {page for table in collected for page, _, _ in table.spans} == {1, 2}
    lines = [line for table in collected for line in lines_of(table, text)]
    assert lines[-1] == "Region: North 12; Quarter: Q1; Revenue: 12,500.00"


@pytest.mark.parametrize(
    ("titles", "counts"),
    [
        (["Sales", "Sales (continued)", "Sales – Fortsetzung"], [6]),
        (["Sales 1/2", "Sales 2/2"], [4]),
        (["Germany", "France"], [2, 2]),
        (["Sales", "Costs", "Sales"], [2, 2, 2]),
        (["", ""], [2, 2]),
    ],
)
def test_table_goes_on_over_slides_of_one_title(tmp_path: Path, titles: Sequence[str], counts: list[int]) -> None:
    path = tmp_path / "deck.pptx"
    deck = Presentation()
    for number, title in enumerate(titles):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        assert slide.shapes.title is not None
        slide.shapes.title.text = title
        table = slide.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(8), Inches(2)).table
        for row, cells in enumerate((NAMES, ("North", "Q1", f"{number}.5"), ("South", "Q2", f"{number}.25"))):
            for column, cell in enumerate(cells):
                table.cell(row, column).text = cell
    deck.save(str(path))
    read, collected, text, _ = read_tables(path, PptxParser())
    assert [table.row_count for table in read.tables] == counts
    assert [table.page_number for table in read.tables] == list(range(1, len(titles) + 1))[: len(counts)]
    lines = [line for table in collected for line in lines_of(table, text)]
    assert lines == [
        line
        for number in range(len(titles))
        for line in (
            f"Region: North; Quarter: Q1; Revenue: {number}.5",
            f"Region: South; Quarter: Q2; Revenue: {number}.25",
        )
    ]


def test_titles_of_hostile_length_are_compared_in_linear_time() -> None:
    collector = RowCollector()
    for page in (1, 2):
        collector.begin("(" * 1_000_000)
        collector.add(1, NAMES, ("a", "b", "c"), 0, 5)
        collector.end_page(1, page, " " * 1_000_000 + "x")
    assert [len(table.rows) for table in collector.tables()] == [2]


def test_scanned_pages_promise_no_tables() -> None:
    shape = TableShape(NAMES, ((0, 5),))
    page = ParsedPage(1, "a | b", blocks=(Block(BlockKind.TABLE, 0, 5, table=shape),))
    assert join_pages([page]).has_tables
    assert not join_pages([replace(page, source=TextSource.OCR)]).has_tables
    nameless = replace(page, blocks=(Block(BlockKind.TABLE, 0, 5, table=TableShape((), ((0, 5),))),))
    assert not join_pages([nameless]).has_tables
