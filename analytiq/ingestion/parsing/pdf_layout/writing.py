"""A page's blocks as text."""

from collections.abc import Iterator

from analytiq.ingestion.parsing.pdf_layout.document import PageLayout
from analytiq.ingestion.parsing.pdf_layout.model import GridTable
from analytiq.ingestion.parsing.rows import render_row
from analytiq.ingestion.parsing.table_lines import HeaderLine, RowLine, TableLine, lines_below_header
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedPage


def written(page: PageLayout) -> ParsedPage:
    """Write the blocks of a page."""
    builder = TextBuilder()
    for piece in page.pieces:
        box = page.frame.box_of(piece.bounds)
        if piece.table is not None:
            builder.table(_lines_of(piece.table), box=box)
        elif piece.kind is BlockKind.HEADING:
            builder.heading(piece.text, piece.level, box=box)
        elif piece.kind is BlockKind.LIST_ITEM:
            builder.list_item(piece.text, depth=piece.level or 1, marker=piece.marker or "-", box=box)
        elif piece.kind is BlockKind.QUOTE:
            builder.quote(piece.text, box=box)
        else:
            builder.paragraph(piece.text, kind=piece.kind, box=box)
    return builder.page(page.page_number)


def _lines_of(table: GridTable) -> Iterator[TableLine]:
    """Yield the lines of a table; names of columns from the page before are not repeated as a line."""
    if table.header_rows:
        count = table.header_rows
        yield from lines_below_header(table.rows[:count], table.rows[count:], goes_on=table.goes_on)
        return
    if table.names:
        yield HeaderLine("", table.names)
    is_named = any(table.names)
    for row in table.rows:
        # Words of nameless cells stay a phrase: a tab is white space to search.
        text = render_row(row, table.names) if is_named else "\t".join(cell for cell in row if cell)
        if text:
            yield RowLine(text, row, table.names) if is_named else RowLine(text)
