"""The stored shape of a text's blocks: compressed JSON with distances instead of positions.

A text of 300,000 paragraphs takes 0.3 MB in its head, which MongoDB limits to 16 MB.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.boxes import Box

MAX_PACKED_BYTES = 8 * 1024 * 1024
"""Most bytes of a text's packed blocks; a text with more is stored without blocks and chunked by its lines."""

_BOX_UNITS = 10_000


def packed_blocks(blocks: Sequence[Block]) -> bytes | None:
    """Return the stored form of blocks; None for no blocks, or for too many."""
    if not blocks:
        return None
    packed = zlib.compress(_encoded(blocks), level=6)
    return packed if len(packed) <= MAX_PACKED_BYTES else None


def unpacked_blocks(packed: bytes | None) -> tuple[Block, ...]:
    """Return the blocks of a stored form."""
    if packed is None:
        return ()
    return tuple(_decoded(json.loads(zlib.decompress(packed))))


def blocks_digest(blocks: Sequence[Block]) -> bytes:
    """Return the bytes that identify blocks within the hash of their text."""
    return _encoded(blocks) if blocks else b""


def _encoded(blocks: Sequence[Block]) -> bytes:
    return json.dumps(list(_rows(blocks)), ensure_ascii=True, separators=(",", ":")).encode()


def _rows(blocks: Sequence[Block]) -> Iterator[list[Any]]:
    position = 0
    for block in blocks:
        row: list[Any] = [block.kind.value, block.start - position, block.end - block.start]
        row += [block.level, block.language, _box_row(block.box), _table_row(block)]
        while not row[-1]:
            row.pop()
        yield row
        position = block.end


def _box_row(box: Box | None) -> list[int]:
    if box is None:
        return []
    return [round(side * _BOX_UNITS) for side in (box.left, box.top, box.right, box.bottom)]


def _table_row(block: Block) -> list[Any]:
    if block.table is None:
        return []
    distances: list[int] = []
    position = block.start
    for start, end in block.table.rows:
        distances += (start - position, end - start)
        position = end
    return [list(block.table.header), distances]


def _decoded(rows: list[list[Any]]) -> Iterator[Block]:
    position = 0
    for row in rows:
        kind, distance, length, level, language, box, table = [*row, *_EMPTY[len(row) :]]
        start = position + distance
        position = start + length
        yield Block(
            kind=BlockKind(kind),
            start=start,
            end=position,
            level=level,
            table=_table(table, start) if table else None,
            language=language,
            box=Box(*(side / _BOX_UNITS for side in box)) if box else None,
        )


_EMPTY: list[Any] = ["", 0, 0, 0, "", [], []]


def _table(row: list[Any], position: int) -> TableShape:
    header, distances = row
    rows: list[tuple[int, int]] = []
    for index in range(0, len(distances), 2):
        start = position + distances[index]
        position = start + distances[index + 1]
        rows.append((start, position))
    return TableShape(tuple(header), tuple(rows))
