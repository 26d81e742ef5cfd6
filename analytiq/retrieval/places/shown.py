"""The parts of a page's stored text that the page shows. Pure.

Marks of Markdown, and the names of columns before each value, are in the text alone.
"""

from collections.abc import Iterator, Sequence

from analytiq.models.blocks import Block, TableShape

NEXT_NAMES = 30
"""Most names of columns that are compared with the beginning of a value; empty cells leave names out."""
_BETWEEN_NAMED = "; "
_BETWEEN_CELLS = " | "

Part = tuple[int, int]


def shown_parts(text: str, blocks: Sequence[Block]) -> Iterator[Part]:
    """Yield the ranges of a page's text whose words stand on the page; without blocks, all of it."""
    if not blocks:
        yield 0, len(text)
        return
    for block in blocks:
        if block.table is None:
            yield block.start, block.end
        else:
            yield from _of_table(text, block, block.table)


def _of_table(text: str, block: Block, table: TableShape) -> Iterator[Part]:
    first = table.rows[0][0] if table.rows else block.end
    yield from _cells(text, block.start, first)
    names = [name for name in table.header if name]
    for start, end in table.rows:
        if names:
            yield from _values(text, start, end, names)
        else:
            yield from _cells(text, start, end)


def _cells(text: str, start: int, end: int) -> Iterator[Part]:
    while start < end:
        at = text.find(_BETWEEN_CELLS, start, end)
        if at < 0:
            yield start, end
            return
        yield start, at
        start = at + len(_BETWEEN_CELLS)


def _values(text: str, start: int, end: int, names: Sequence[str]) -> Iterator[Part]:
    following = 0
    while start < end:
        for index in range(following, min(following + NEXT_NAMES, len(names))):
            if text.startswith(f"{names[index]}: ", start, end):
                start += len(names[index]) + 2
                following = index + 1
                break
        at = text.find(_BETWEEN_NAMED, start, end)
        if at < 0:
            yield start, end
            return
        yield start, at
        start = at + len(_BETWEEN_NAMED)
