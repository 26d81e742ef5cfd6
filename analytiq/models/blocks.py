"""Blocks: the structure of a text as ranges of it, never as copies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from analytiq.models.boxes import Box


class BlockKind(StrEnum):
    """The role of a range of text."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    QUOTE = "quote"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    FURNITURE = "furniture"
    """Running heads, running feet and page numbers."""
    IMAGE = "image"
    """The description of a picture."""
    PASSAGE = "passage"
    """A whole text that is one chunk, such as a question with its answer."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """The columns of a table, and the range of each row.

    Attributes:
        header: the name of each column, "" for a column without one; empty if no column has a name.
        rows: (start, end) of each row below the header, in order, in characters of the same text as the block.
    """

    header: tuple[str, ...] = ()
    rows: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A block: `text[start:end]`, in characters, without the marks of Markdown before its words.

    Attributes:
        level: of a heading, 1 (highest) to 9; of a list item, its depth from 1; else 0.
        table: set for tables alone.
        language: the programming language of code, as its source names it, else "".
        box: the place on its page, if known.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    table: TableShape | None = None
    language: str = ""
    box: Box | None = None

    def moved(self, distance: int) -> "Block":
        """Return the same block in a text that has `distance` more characters before it."""
        table = self.table
        if table is not None:
            table = replace(table, rows=tuple((start + distance, end + distance) for start, end in table.rows))
        return replace(self, start=self.start + distance, end=self.end + distance, table=table)

    def before(self, position: int) -> "Block":
        """Return the part of the block that ends at `position` at the latest; its start is before that."""
        if self.end <= position:
            return self
        table = self.table
        if table is not None:
            rows = ((start, min(end, position)) for start, end in table.rows if start < position)
            table = replace(table, rows=tuple(rows))
        return replace(self, end=position, table=table)

    def after(self, position: int) -> "Block":
        """Return the part of the block from `position` on, without the rows before it; its end is after that."""
        if self.start >= position:
            return self
        table = self.table
        if table is not None:
            rows = ((max(start, position), end) for start, end in table.rows if end > position)
            table = replace(table, rows=tuple(rows))
        return replace(self, start=position, table=table)


def sound_blocks(blocks: Iterable[Block], length: int) -> Iterator[Block]:
    """Yield the blocks that are ranges of a text of `length` characters, in order and without overlap.

    Parsers run hostile input: what contradicts the text is left out, and the text itself is kept.
    """
    position = 0
    for block in blocks:
        if position <= block.start < block.end <= length and _is_sound(block):
            yield block
            position = block.end


def _is_sound(block: Block) -> bool:
    if block.table is None:
        return block.kind is not BlockKind.TABLE
    position = block.start
    for start, end in block.table.rows:
        if not position <= start <= end <= block.end:
            return False
        position = end
    return block.kind is BlockKind.TABLE
