"""The builder of pages: every block is the range of its words."""

from analytiq.ingestion.parsing.sheet_text import sheet_lines
from analytiq.ingestion.parsing.table_lines import lines_below_header
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.text import ParsedPage


def texts(page: ParsedPage) -> list[tuple[BlockKind, str]]:
    return [(block.kind, page.text[block.start : block.end]) for block in page.blocks]


def test_blocks_are_the_ranges_of_their_words() -> None:
    builder = TextBuilder()
    builder.heading("Rates\nand  terms", 2)
    builder.paragraph("The rate\ris five\x00 per cent.")
    builder.list_item("first", marker="1.")
    builder.list_item("nested", depth=2)
    builder.quote("As agreed.")
    builder.code("if x:\n    y()\n", language="python")
    builder.paragraph("   ")
    page = builder.page(3, name="Annex")

    assert page.text == (
        "## Rates and terms\n\nThe rate\nis five per cent.\n\n1. first\n  - nested\n\n> As agreed.\n\n"
        "```python\nif x:\n    y()\n```"
    )
    assert texts(page) == [
        (BlockKind.HEADING, "Rates and terms"),
        (BlockKind.PARAGRAPH, "The rate\nis five per cent."),
        (BlockKind.LIST_ITEM, "first"),
        (BlockKind.LIST_ITEM, "nested"),
        (BlockKind.QUOTE, "As agreed."),
        (BlockKind.CODE, "if x:\n    y()"),
    ]
    assert [block.level for block in page.blocks] == [2, 0, 1, 2, 0, 0]
    assert (page.page_number, page.name, page.blocks[-1].language) == (3, "Annex", "python")
    assert builder.is_empty


def test_table_has_its_header_and_a_range_for_each_row() -> None:
    builder = TextBuilder()
    header = [["Prices", "Prices", "Prices"], ["", "2024", "2024"], ["Part", "Actual", "Plan"]]
    builder.table(lines_below_header(header, [["Bolt", "3", ""], ["", "", ""], ["Nut", "", "5"]]))
    page = builder.page(1)

    assert page.text == (
        "Prices\n\nPart | 2024 Actual | 2024 Plan\nPart: Bolt; 2024 Actual: 3\nPart: Nut; 2024 Plan: 5"
    )
    caption, table = page.blocks
    assert caption.kind is BlockKind.CAPTION
    assert table.table is not None
    assert table.table.header == ("Part", "2024 Actual", "2024 Plan")
    assert [page.text[start:end] for start, end in table.table.rows] == [
        "Part: Bolt; 2024 Actual: 3",
        "Part: Nut; 2024 Plan: 5",
    ]


def test_names_that_change_midway_begin_another_table() -> None:
    builder = TextBuilder()
    builder.table(sheet_lines([["Town", "Sales"], ["Ulm", "3"], [], ["Depot", "Rent"], ["East", "9"], ["West", "8"]]))
    shapes = [block.table for block in builder.page(1).blocks]
    assert [shape and (shape.header, len(shape.rows)) for shape in shapes] == [
        (("Town", "Sales"), 1),
        (("Depot", "Rent"), 2),
    ]


def test_rows_without_names_are_a_table_without_header() -> None:
    builder = TextBuilder()
    builder.table(lines_below_header([], [["1", "2"], ["3", "4"]]))
    page = builder.page(1)
    assert page.text == "1 | 2\n3 | 4"
    assert page.blocks == (Block(BlockKind.TABLE, 0, 11, table=TableShape((), ((0, 5), (6, 11)))),)
