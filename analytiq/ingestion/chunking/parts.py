"""Parts: a text's blocks with the marks around them, and what stands in no block, as ranges of the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from analytiq.ingestion.chunking.markdown_parts import markdown_parts
from analytiq.models.blocks import Block, BlockKind
from analytiq.models.text import DocumentText

_LONGEST_MARK = 40
_OPENING_FENCE = re.compile(r"[ \t]*(?:```|~~~)[^\n]*\n$")
_CLOSING_FENCE = re.compile(r"\n[ \t]*(?:```+|~~~+)")


@dataclass(frozen=True, slots=True)
class Part:
    """A range of the text with one role; begins and ends with a nonblank character.

    Attributes:
        level: of a heading, from 1.
        rows: of a table, below its header.
        code: the range of code between its fences, and its language.
        follows_furniture: a running head, a running foot or a page number stands before the part.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    rows: tuple[tuple[int, int], ...] = ()
    code: tuple[int, int, str] | None = None
    follows_furniture: bool = False

    @property
    def leads(self) -> bool:
        """Return True for a part that must not be separated from the next one."""
        return self.kind in {BlockKind.HEADING, BlockKind.CAPTION}


def parts_of(document: DocumentText) -> Iterator[Part]:
    """Yield the parts of a text in order; all of its words but furniture are in one.

    Headings, tables and code of a text without blocks are recognized by their marks of Markdown.
    """
    furniture = {BlockKind.FURNITURE}
    if all(block.kind in furniture for block in document.blocks):
        yield from _unblocked(document.text, 0, len(document.text), follows_furniture=False)
        return
    text, position, follows = document.text, 0, False
    for block in document.blocks:
        start, end = _with_marks(text, position, block)
        for part in _unblocked(text, position, start, follows_furniture=follows):
            yield part
            follows = False
        position = end
        if block.kind in furniture:
            follows = True
        elif text[start:end].strip():
            yield _part(block, start, end, follows_furniture=follows)
            follows = False
    yield from _unblocked(text, position, len(text), follows_furniture=follows)


def _part(block: Block, start: int, end: int, *, follows_furniture: bool) -> Part:
    return Part(
        block.kind,
        start,
        end,
        level=block.level if block.kind is BlockKind.HEADING else 0,
        rows=block.table.rows if block.table else (),
        code=(block.start, block.end, block.language) if block.kind is BlockKind.CODE else None,
        follows_furniture=follows_furniture,
    )


def _with_marks(text: str, position: int, block: Block) -> tuple[int, int]:
    """Return the block's range with the marks of its line and the fences of its code."""
    start, end = block.start, block.end
    line = max(text.rfind("\n", position, start) + 1, position)
    if start - line <= _LONGEST_MARK:
        start = line
    if block.kind is BlockKind.CODE and start > position:
        fence = max(text.rfind("\n", position, start - 1) + 1, position)
        if start - fence <= _LONGEST_MARK and _OPENING_FENCE.match(text[fence:start]):
            start = fence
    if block.kind is BlockKind.CODE and (closing := _CLOSING_FENCE.match(text, end)):
        end = closing.end()
    while start < block.start and text[start].isspace():
        start += 1
    return start, end


def _unblocked(text: str, start: int, end: int, *, follows_furniture: bool) -> Iterator[Part]:
    for found in markdown_parts(text, start, end):
        code = (found.code_start, found.code_end, found.language) if found.kind is BlockKind.CODE else None
        yield Part(found.kind, found.start, found.end, found.level, found.rows, code, follows_furniture)
        follows_furniture = False
