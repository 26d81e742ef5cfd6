"""The structure of plain text by its marks of Markdown: headings, fenced code, tables and paragraphs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.text import DocumentText, unstructured

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)?")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+\S")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)")
_RULE = re.compile(r"[\s|:-]+$")


@dataclass(slots=True)
class MarkdownPart:
    """A range with its kind; `rows` of a table, `code_start` to `code_end` of code between its fences."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    rows: tuple[tuple[int, int], ...] = ()
    code_start: int = 0
    code_end: int = 0
    language: str = ""


def markdown_parts(text: str, start: int, end: int) -> Iterator[MarkdownPart]:
    """Yield the parts of `text[start:end]` in order, without the blanks between them; linear."""
    block: list[tuple[int, int]] = []
    fence = ""
    for line_start, line_end in _lines(text, start, end):
        line = text[line_start:line_end]
        mark = _FENCE.match(line)
        if fence:
            block.append((line_start, line_end))
            if mark and mark[1].startswith(fence):
                yield _code(text, block, is_closed=True)
                block, fence = [], ""
        elif mark:
            yield from _paragraph(text, block)
            block, fence = [(line_start, line_end)], mark[1]
        elif not line.strip():
            yield from _paragraph(text, block)
            block = []
        elif heading := _HEADING.match(line):
            yield from _paragraph(text, block)
            block = []
            yield MarkdownPart(BlockKind.HEADING, *_bare(text, line_start, line_end), level=len(heading[1]))
        else:
            block.append((line_start, line_end))
    if fence:
        yield _code(text, block, is_closed=False)
    else:
        yield from _paragraph(text, block)


def markdown_text(text: str) -> DocumentText:
    """Return a text of one page with the blocks that its marks of Markdown state."""
    blocks: list[Block] = []
    for part in markdown_parts(text, 0, len(text)):
        start, end, table = part.start, part.end, None
        if part.kind is BlockKind.HEADING:
            start = _bare(text, text.index("#", start) + part.level, end)[0]
        elif part.kind is BlockKind.CODE:
            start, end = part.code_start, part.code_end
        elif part.kind is BlockKind.TABLE:
            table = TableShape(rows=part.rows)
        if start < end:
            blocks.append(Block(part.kind, start, end, part.level, table, part.language))
    return replace(unstructured(text), blocks=tuple(blocks))


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        found = _LINE.match(text, start, end)
        stop = found.end() if found else end
        yield start, stop
        start = stop


def _paragraph(text: str, lines: list[tuple[int, int]]) -> Iterator[MarkdownPart]:
    if not lines:
        return
    start, end = _bare(text, lines[0][0], lines[-1][1])
    is_table = len(lines) > 1 and all(text[first:last].lstrip().startswith("|") for first, last in lines)
    if not is_table:
        yield MarkdownPart(BlockKind.PARAGRAPH, start, end)
        return
    below = 2 if _RULE.match(text[lines[1][0] : lines[1][1]]) else 0
    rows = tuple(_bare(text, first, last) for first, last in lines[below:])
    yield MarkdownPart(BlockKind.TABLE, start, end, rows=rows)


def _code(text: str, lines: list[tuple[int, int]], *, is_closed: bool) -> MarkdownPart:
    start, end = _bare(text, lines[0][0], lines[-1][1])
    mark = _FENCE.match(text, *lines[0])
    inner = lines[0][1], lines[-1][0] if is_closed else lines[-1][1]
    language = mark[2] if mark else ""
    return MarkdownPart(BlockKind.CODE, start, end, code_start=inner[0], code_end=max(inner), language=language)


def _bare(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
