"""The stored shape of a text's flaws: compressed JSON with distances instead of positions."""

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from analytiq.models.flaws import SKIPPABLE, Flaw, FlawKind

MAX_PACKED_BYTES = 2 * 1024 * 1024
"""Most bytes of a text's packed flaws; a text with more is stored without, and indexed whole."""


def packed_flaws(flaws: Sequence[Flaw]) -> bytes | None:
    """Return the stored form of flaws; None for no flaws, or for too many."""
    if not flaws:
        return None
    packed = zlib.compress(_encoded(flaws), level=6)
    return packed if len(packed) <= MAX_PACKED_BYTES else None


def unpacked_flaws(packed: bytes | None) -> tuple[Flaw, ...]:
    """Return the flaws of a stored form."""
    return () if packed is None else tuple(_decoded(json.loads(zlib.decompress(packed))))


def flaws_digest(flaws: Sequence[Flaw]) -> bytes:
    """Return the bytes that identify the flaws that shape chunks, within the hash of their text."""
    ranges = [flaw for flaw in flaws if flaw.kind in SKIPPABLE]
    return b"|flaws" + _encoded(ranges) if ranges else b""


def _encoded(flaws: Sequence[Flaw]) -> bytes:
    return json.dumps(list(_rows(flaws)), ensure_ascii=True, separators=(",", ":")).encode()


def _rows(flaws: Sequence[Flaw]) -> Iterator[list[Any]]:
    position = 0
    for flaw in flaws:
        yield [flaw.kind.value, flaw.start - position, flaw.end - flaw.start, flaw.reason]
        position = flaw.end


def _decoded(rows: list[list[Any]]) -> Iterator[Flaw]:
    position = 0
    for kind, distance, length, reason in rows:
        start = position + distance
        position = start + length
        yield Flaw(FlawKind(kind), start, position, reason)
