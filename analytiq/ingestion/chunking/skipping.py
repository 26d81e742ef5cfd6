"""Chunks of a text without its flawed parts, by any chunker.

The text between two skipped ranges is cut by itself, so that no chunk covers a range, whichever chunker cuts. Offsets
are those of the whole text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from analytiq.ingestion.chunking.base import Chunker
from analytiq.models.blocks import Block, BlockKind
from analytiq.models.chunk import Chunk
from analytiq.models.flaws import FlawKind, ranges_of
from analytiq.models.text import DocumentText, PageSpan

Ranges = Sequence[tuple[int, int]]

_CONTEXT_KINDS = frozenset({BlockKind.HEADING, BlockKind.CODE})
"""Blocks whose words appear in the contexts of other chunks."""


def chunks_of(chunker: Chunker, text: DocumentText, skipped: Collection[FlawKind]) -> Sequence[Chunk]:
    """Cut a text, but for its flaws of the skipped kinds; pure CPU work."""
    ranges = ranges_of(text.flaws, skipped)
    if not ranges:
        return chunker.chunk(text)
    chunks: list[Chunk] = []
    for part, start in _kept(text, ranges):
        for chunk in chunker.chunk(part):
            moved = replace(chunk, chunk_index=len(chunks), start=chunk.start + start, end=chunk.end + start)
            chunks.append(moved)
    return chunks


def outline_without(text: DocumentText, skipped: Collection[FlawKind]) -> DocumentText:
    """Return a text whose headings, definitions and names of columns hold no skipped words, for contexts of chunks."""
    ranges = ranges_of(text.flaws, skipped)
    if not ranges:
        return text
    starts = [start for start, _ in ranges]
    return replace(text, blocks=tuple(_blocks_without(text.blocks, ranges, starts)))


def _blocks_without(blocks: Sequence[Block], ranges: Ranges, starts: Sequence[int]) -> Iterator[Block]:
    for block in blocks:
        if block.kind in _CONTEXT_KINDS and _touches(block.start, block.end, ranges, starts):
            continue
        table = block.table
        if table is not None and table.header:
            header_end = table.rows[0][0] if table.rows else block.end
            if _touches(block.start, header_end, ranges, starts):
                yield replace(block, table=replace(table, header=()))
                continue
        yield block


def _touches(start: int, end: int, ranges: Ranges, starts: Sequence[int]) -> bool:
    before = bisect_left(starts, end) - 1
    return before >= 0 and ranges[before][1] > start


def _kept(text: DocumentText, ranges: Ranges) -> Iterator[tuple[DocumentText, int]]:
    """Yield the parts of a text between the ranges, each as a text of its own, with its start."""
    block_starts = [block.start for block in text.blocks]
    page_starts = [page.start for page in text.pages]
    position = 0
    for start, end in (*ranges, (len(text.text), len(text.text))):
        content = text.text[position:start]
        if content and not content.isspace():
            first = max(bisect_right(block_starts, position) - 1, 0)
            blocks = text.blocks[first : bisect_left(block_starts, start)]
            first = max(bisect_right(page_starts, position) - 1, 0)
            pages = text.pages[first : max(bisect_left(page_starts, start), first + 1)]
            yield (
                DocumentText(
                    content,
                    tuple(_page_within(page, position, start) for page in pages),
                    tuple(_block_within(block, position, start) for block in blocks if block.end > position),
                    text.title,
                ),
                position,
            )
        position = end


def _page_within(page: PageSpan, start: int, end: int) -> PageSpan:
    return replace(page, start=max(page.start - start, 0), end=max(min(page.end, end) - start, 0))


def _block_within(block: Block, start: int, end: int) -> Block:
    return block.before(end).after(start).moved(-start)
