"""Passages: the texts of chunks as a search reads them, the most recently read ones from memory."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analytiq.models.vector import Passage
from analytiq.retrieval.pipeline.context import Key, SearchContext
from analytiq.retrieval.terms.analysed_text import AnalysedText
from analytiq.storage.repositories.vectors import VectorRepository

KEPT_SECONDS = 300.0
"""Seconds for which an unused passage is kept at most, until the next read: also that of a document deleted since."""
BYTES_BESIDE_TEXT = 1100
"""Of a passage with its key: 1,060 measured for one of four characters."""
BYTES_A_CHARACTER = 3
"""Of a text with its vocabulary: 2.6 measured for 1,075 characters of which few words repeat."""
BYTES_OF_WIDE_CHARACTER = 8
"""The same for texts with other characters than ASCII, which may take four bytes each."""


@dataclass(frozen=True, slots=True)
class KnownPassage:
    """A passage with the analysis of its text."""

    passage: Passage
    analysed: AnalysedText
    counted_bytes: int
    """An upper estimate of its memory, with the analysis that later searches add."""

    @classmethod
    def of(cls, passage: Passage) -> "KnownPassage":
        """Return a passage that has just been read."""
        text = passage.chunk_text
        characters = len(text) + len(passage.context) + sum(map(len, passage.heading_path))
        for_each = BYTES_A_CHARACTER if text.isascii() else BYTES_OF_WIDE_CHARACTER
        return cls(passage, AnalysedText(text), BYTES_BESIDE_TEXT + for_each * characters)


class PassageCache:
    """The passages that recent searches read, by organization and chunk.

    The chunks of a generation never change: a new text, context or setting makes another generation. A search takes
    passages of generations that its check has found to be current, so a passage that has left is never shown.

    Two halves: the older one is dropped whole when the newer one is full or old, so that nothing is ordered or timed
    for each passage. `largest_bytes`: of both; 0: no cache.
    """

    def __init__(self, *, largest_bytes: int, seconds: Callable[[], float] = time.monotonic) -> None:
        self._half_bytes = largest_bytes // 2
        self._seconds = seconds
        self._newer: dict[tuple[str, Key], KnownPassage] = {}
        self._older: dict[tuple[str, Key], KnownPassage] = {}
        self._bytes = 0
        self._turned_at = seconds()

    def find(self, organization_id: str, keys: Iterable[Key]) -> dict[Key, KnownPassage]:
        """Return the known ones of these chunks."""
        self._turn()
        found: dict[Key, KnownPassage] = {}
        for key in keys:
            own = (organization_id, key)
            known = self._newer.get(own)
            if known is None and (known := self._older.pop(own, None)) is not None:
                self._add(own, known)
            if known is not None:
                known.analysed.is_repeated = True
                found[key] = known
        return found

    def keep(self, organization_id: str, passages: Mapping[Key, KnownPassage]) -> None:
        """Add passages that have just been read."""
        for key, known in passages.items():
            self._add((organization_id, key), known)

    def _add(self, own: tuple[str, Key], known: KnownPassage) -> None:
        if known.counted_bytes > self._half_bytes:
            return
        if self._bytes + known.counted_bytes > self._half_bytes:
            self._drop_older()
        self._newer[own] = known
        self._bytes += known.counted_bytes

    def _turn(self) -> None:
        """Drop what was not used for long; after a pause, both halves are old."""
        age = self._seconds() - self._turned_at
        if age > KEPT_SECONDS / 2:
            self._drop_older()
        if age > KEPT_SECONDS:
            self._drop_older()

    def _drop_older(self) -> None:
        self._older, self._newer, self._bytes = self._newer, {}, 0
        self._turned_at = self._seconds()


class PassageReader:
    """Reads passages for searches."""

    def __init__(self, vectors: VectorRepository, cache: PassageCache) -> None:
        self._vectors = vectors
        self._cache = cache

    async def read(self, context: SearchContext, keys: Sequence[Key]) -> dict[Key, Passage]:
        """Return chunks without their vectors, from all knowledge bases at once; missing chunks are left out.

        Also fill in the analysis of their texts. Every key has to be of a generation that the search's check has found
        to be current.
        """
        organization_id = context.organization.id
        found = self._cache.find(organization_id, keys)
        if len(found) < len(keys):
            unknown = [key for key in keys if key not in found]
            parts = await asyncio.gather(
                *(self._read(organization_id, kb_id, unknown) for kb_id in {key[0] for key in unknown})
            )
            read = {key: known for part in parts for key, known in part.items()}
            self._cache.keep(organization_id, read)
            found |= read
        context.analysed |= {key: known.analysed for key, known in found.items()}
        return {key: found[key].passage for key in keys if key in found}

    async def spans(self, context: SearchContext, keys: Sequence[Key]) -> dict[Key, tuple[int, int]]:
        """Return the start and end of the existing chunks in their texts."""
        spans: dict[Key, tuple[int, int]] = {}
        for kb_id in {key[0] for key in keys}:
            found = await self._vectors.spans(context.organization.id, kb_id, _chunks_in(kb_id, keys))
            spans |= {(kb_id, *chunk): span for chunk, span in found.items()}
        return spans

    async def _read(self, organization_id: str, kb_id: str, keys: Sequence[Key]) -> dict[Key, KnownPassage]:
        found = await self._vectors.passages(organization_id, kb_id, _chunks_in(kb_id, keys))
        return {(kb_id, *chunk): KnownPassage.of(passage) for chunk, passage in found.items()}


def _chunks_in(kb_id: str, keys: Sequence[Key]) -> list[tuple[str, int]]:
    return [(generation_id, index) for of_kb, generation_id, index in keys if of_kb == kb_id]
