"""The layout of a document: pages are laid out in groups, so that memory does not grow with their words."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.pdf_layout.frames import PageFrame
from analytiq.ingestion.parsing.pdf_layout.furniture import FurnitureFinder, PageRows
from analytiq.ingestion.parsing.pdf_layout.headings import Outline, mark_headings
from analytiq.ingestion.parsing.pdf_layout.model import (
    ASIDE,
    COMMENT,
    Bounds,
    GridTable,
    Piece,
    Row,
    Style,
    bounds_of_rows,
    placed,
    text_of,
    words_of,
)
from analytiq.ingestion.parsing.pdf_layout.pages import RawPage
from analytiq.ingestion.parsing.pdf_layout.paragraphs import half_points, mark_footnotes, pieces_of, style_of
from analytiq.ingestion.parsing.pdf_layout.reading_order import Item, PlacedTable, ReadingOrder
from analytiq.ingestion.parsing.pdf_layout.tables import MOST_ADOPTED, adopted, settle_header
from analytiq.models.blocks import BlockKind

GROUP = 40
"""Pages that are laid out together: their words are in memory at once, about 1 MB a dense page."""
RUNNING_WORDS = 4
"""Least words of a chunk of running text."""
LONGEST_TITLE = 12
"""Most words of the title of a group of rows, below which the header of the table still stands."""
FOOT = 0.08
"""Part of the page's height in which a last line is no heading."""
ENOUGH_LETTERS = 150
_CONTINUED = re.compile(r"\b(?:continued|cont['’]?d|cont\.|fortsetzung|forts\.|suite)(?!\w)", re.IGNORECASE)
_BESIDE_TABLES = {BlockKind.FURNITURE, BlockKind.CAPTION, BlockKind.FOOTNOTE}


@dataclass(slots=True)
class PageLayout:
    """A page's blocks in reading order."""

    page_number: int
    frame: PageFrame
    pieces: list[Piece]


@dataclass(slots=True)
class LaidOutDocument:
    """The laid out pages by number, and the hidden words of each page that has some."""

    pages: dict[int, PageLayout] = field(default_factory=dict[int, PageLayout])
    hidden: dict[int, list[str]] = field(default_factory=dict[int, list[str]])


class DocumentLayout:
    """Takes the pages of a document one after the other."""

    def __init__(self, outline: Outline, *, keeps_words: bool = False) -> None:
        """Prepare the layout.

        Args:
            outline: the titles of the document's outline.
            keeps_words: True if the pieces shall keep their words, for the places of passages.
        """
        self._outline = outline
        self._keeps_words = keeps_words
        self._group: list[RawPage] = []
        self._furniture = FurnitureFinder()
        self._running: Counter[tuple[float, bool]] = Counter()
        self._all: Counter[tuple[float, bool]] = Counter()
        self._open_table: tuple[int, GridTable] | None = None
        self._document = LaidOutDocument()

    def add(self, page: RawPage) -> None:
        """Add the next page that can be laid out."""
        self._group.append(page)
        if len(self._group) >= GROUP:
            self._lay_out_group()

    def finish(self) -> LaidOutDocument:
        """Return the layout of all pages."""
        self._lay_out_group()
        pages = [(number, page.pieces) for number, page in self._document.pages.items()]
        mark_headings(pages, self._body(), self._outline)
        return self._document

    def _lay_out_group(self) -> None:
        group, self._group = self._group, []
        for page in group:
            self._count_sizes(page)
        areas = [page.frame.upright for page in group]
        found = self._furniture.find(
            [
                PageRows(page.rows, area.y0, area.y1, _letters_in_tables(page))
                for page, area in zip(group, areas, strict=True)
            ]
        )
        body = self._body()
        for page, indexes in zip(group, found, strict=True):
            pieces = self._pieces(page, indexes, body)
            if not self._keeps_words:
                for piece in pieces:
                    piece.words = []
                    if piece.table is not None:
                        piece.table.words = []
            self._document.pages[page.page_number] = PageLayout(page.page_number, page.frame, pieces)
            if page.hidden:
                self._document.hidden[page.page_number] = page.hidden

    def _pieces(self, page: RawPage, furniture: set[int], body: Style) -> list[Piece]:
        rows = [row for index, row in enumerate(page.rows) if index not in furniture]
        items = self._adopt(page.page_number, _items(page, rows))
        pieces = pieces_of(items, body, page.tags)
        area = page.frame.upright
        mark_footnotes(pieces, body, area)
        for part in page.parts:
            pieces += _pieces_of_part(part, page, body)
        _set_foot_aside(pieces, area)
        self._settle_tables(page.page_number, pieces)
        middle = (area.y0 + area.y1) / 2
        running = [page.rows[index] for index in sorted(furniture)]
        heads = [_furniture_piece(row) for row in running if row[0].y0 > middle]
        feet = [_furniture_piece(row) for row in running if row[0].y0 <= middle]
        return [*heads, *pieces, *_stamp_pieces(page, body), *_comment_pieces(page, body), *feet]

    def _adopt(self, page_number: int, items: list[Item]) -> list[Item]:
        """Turn rows at the top of a page that go on with the table of the page before into a table."""
        if self._open_table is None or self._open_table[0] != page_number - 1:
            return items
        count = next((index for index, item in enumerate(items) if not isinstance(item, list)), len(items))
        if not 0 < count <= MOST_ADOPTED:
            return items
        tables: list[Item] = []
        for item in items[:count]:
            table = adopted(item, self._open_table[1]) if isinstance(item, list) else None
            if table is None or not isinstance(item, list):
                break
            tables.append(PlacedTable(table, bounds_of_rows([item])))
        return [*tables, *items[len(tables) :]]

    def _settle_tables(self, page_number: int, pieces: Sequence[Piece]) -> None:
        before = self._open_table[1] if self._open_table and self._open_table[0] == page_number - 1 else None
        last: GridTable | None = None
        is_parted = is_titled = False
        for piece in pieces:
            if piece.table is not None:
                settle_header(piece.table, before, is_parted=is_parted)
                piece.table.goes_on = (
                    last is None and before is not None and not is_titled and _repeats(piece.table, before)
                )
                before = last = piece.table
                is_parted = not _is_adopted(piece.table)
            elif piece.lines == 1 and before is not None and len(piece.text.split()) <= LONGEST_TITLE:
                is_parted = True
                is_titled |= _CONTINUED.search(piece.text) is None
            elif piece.kind not in _BESIDE_TABLES:
                before = last = None
        self._open_table = (page_number, last) if last is not None else None

    def _count_sizes(self, page: RawPage) -> None:
        for ruled in page.tables:
            for word in ruled.table.words:
                self._all[half_points(word.size), word.bold] += len(word.text)
        for row in page.rows:
            for chunk in row:
                for word in chunk.words:
                    key = (half_points(word.size), word.bold)
                    self._all[key] += len(word.text)
                    if len(chunk.words) >= RUNNING_WORDS:
                        self._running[key] += len(word.text)

    def _body(self) -> Style:
        """Return the looks of running text."""
        for counted in (self._running, self._all):
            if counted.total() > ENOUGH_LETTERS or counted is self._all:
                for (size, bold), _ in counted.most_common(1):
                    return Style(size, bold)
        return Style(10.0, bold=False)


def _letters_in_tables(page: RawPage) -> int:
    return sum(len(word.text) for ruled in page.tables for word in ruled.table.words)


def _repeats(table: GridTable, before: GridTable) -> bool:
    """Return True if a table has the header of the one on the page before; blanks within names may differ."""
    names, others = (["".join(name.split()) for name in one.names] for one in (table, before))
    return table.header_rows > 0 and names == others


def _is_adopted(table: GridTable) -> bool:
    return len(table.rows) == 1 and bool(table.names) and table.header_rows == 0


def _items(page: RawPage, rows: Sequence[Row]) -> list[Item]:
    """Return the lines and tables of a page: ruled tables part the rows around them."""
    pending = sorted(page.tables, key=lambda table: -table.bounds.y1)
    order = ReadingOrder(page.edges)
    part: list[Row] = []
    for row in rows:
        while pending and row[0].y1 < (pending[0].bounds.y0 + pending[0].bounds.y1) / 2:
            order.add(part)
            part = []
            table = pending.pop(0)
            order.items.append(PlacedTable(table.table, table.bounds))
        part.append(row)
    order.add(part)
    order.items += (PlacedTable(table.table, table.bounds) for table in pending)
    return order.items


def _set_foot_aside(pieces: Sequence[Piece], area: Bounds) -> None:
    """Keep a last line at the foot of the page from being a heading: nothing follows it."""
    if pieces:
        last = pieces[-1]
        is_at_foot = last.bounds.y1 < area.y0 + FOOT * (area.y1 - area.y0)
        if is_at_foot and last.kind is BlockKind.PARAGRAPH and last.lines == 1 and not last.tag:
            last.tag = ASIDE


def _furniture_piece(row: Row) -> Piece:
    words = words_of(row)
    return Piece(BlockKind.FURNITURE, text_of(row), bounds_of_rows([row]), words, style_of(words))


def _pieces_of_part(part: RawPage, page: RawPage, body: Style) -> Iterator[Piece]:
    """Yield the blocks of text in another direction, with their places in the page's upright coordinates."""
    for piece in pieces_of(_items(part, part.rows), body, page.tags):
        piece.bounds = _on_page(piece.bounds, part, page)
        piece.words = [placed(word, _on_page(word.bounds, part, page)) for word in piece.words]
        yield piece


def _on_page(bounds: Bounds, part: RawPage, page: RawPage) -> Bounds:
    return page.frame.turning.bounds(part.frame.turning.back(bounds))


def _stamp_pieces(page: RawPage, body: Style) -> Iterator[Piece]:
    """Yield short text in another direction, such as a stamp in the margin."""
    for text, bounds in page.stamps:
        yield Piece(BlockKind.PARAGRAPH, text, bounds, [], body, tag=ASIDE)


def _comment_pieces(page: RawPage, body: Style) -> Iterator[Piece]:
    for text, bounds in page.comments:
        yield Piece(BlockKind.PARAGRAPH, f"Comment: {text}", bounds, [], body, tag=COMMENT)
