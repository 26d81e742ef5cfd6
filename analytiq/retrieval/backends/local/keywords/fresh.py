"""The rows that are searched before they are merged into the index: postings in memory, appended without a commit."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytiq.retrieval.backends.local.keywords.bm25 import kept_lengths
from analytiq.retrieval.backends.local.keywords.schema import FIELDS, Row
from analytiq.storage.repositories.index_contents import ChunkText

Postings = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Rows of a term, and its frequency in each."""


class FreshRows:
    """Append-only rows of one writer; views read the rows that were there when they were made."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.removals: list[str] = []
        """Generations that the index loses when these rows are merged into it."""
        self.postings: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        self.lengths: dict[str, list[int]] = {name: [] for name in FIELDS}
        self._places: dict[str, list[int]] = {}

    def add(self, row: Row) -> None:
        """Append a row."""
        number = len(self.rows)
        for name in FIELDS:
            terms = row.terms.get(name, "").split()
            self.lengths[name].append(len(terms))
            for term, count in Counter(terms).items():
                numbers, counts = self.postings.setdefault((name, term), ([], []))
                counts.append(count)  # first: a reader takes as many counts as it has numbers
                numbers.append(number)
        self._places.setdefault(row.chunk.generation_id, []).append(number)
        self.rows.append(row)

    def places_of(self, generation_id: str) -> Sequence[int]:
        """Return the numbers of a generation's rows."""
        return self._places.get(generation_id, ())


@dataclass(frozen=True, slots=True)
class FreshView:
    """Fresh rows as a commit left them. `alive`: a mark for each row, False for removed ones."""

    source: FreshRows
    alive: NDArray[np.bool_]
    _kept_lengths: dict[str, NDArray[np.int64]] = field(default_factory=dict[str, NDArray[np.int64]], compare=False)

    @property
    def live_rows(self) -> int:
        """The number of rows that are not removed."""
        return int(self.alive.sum())

    @property
    def terms(self) -> dict[str, float]:
        """The number of terms of the live rows, by field."""
        return {name: float(self._lengths(name)[self.alive].sum()) for name in FIELDS}

    @property
    def languages(self) -> Mapping[str, int]:
        """The number of live rows in each language."""
        rows = self.source.rows
        return Counter(language for place in self.places if (language := rows[place].language) is not None)

    @property
    def places(self) -> list[int]:
        """The numbers of the live rows."""
        return np.flatnonzero(self.alive).tolist()

    def postings(self, name: str, term: str) -> Postings:
        """Return the live rows with a term, and its frequencies."""
        numbers, counts = self.source.postings.get((name, term), ((), ()))
        rows = np.asarray(numbers, dtype=np.int64)
        frequencies = np.asarray(counts[: len(rows)], dtype=np.float64)
        is_seen = rows < len(self.alive)
        rows, frequencies = rows[is_seen], frequencies[is_seen]
        is_live = self.alive[rows]
        return rows[is_live], frequencies[is_live]

    def kept_lengths(self, name: str) -> NDArray[np.int64]:
        """Return the length of a field in each row, as BM25 reads it."""
        if name not in self._kept_lengths:
            self._kept_lengths[name] = kept_lengths(self._lengths(name))
        return self._kept_lengths[name]

    def chunk(self, number: int) -> ChunkText:
        """Return the chunk of a row."""
        return self.source.rows[number].chunk

    def extended(self) -> "FreshView":
        """Return a view of all present rows; rows without a mark are live."""
        alive = np.ones(len(self.source.rows), dtype=np.bool_)
        alive[: len(self.alive)] = self.alive
        return FreshView(self.source, alive)

    def without(self, places: Collection[int]) -> "FreshView":
        """Return the view without some rows."""
        if not places:
            return self
        alive = self.alive.copy()
        alive[list(places)] = False
        return FreshView(self.source, alive)

    def _lengths(self, name: str) -> NDArray[np.int64]:
        return np.asarray(self.source.lengths[name][: len(self.alive)], dtype=np.int64)


def empty_view() -> FreshView:
    """Return a view of new rows, none so far."""
    return FreshView(FreshRows(), np.zeros(0, dtype=np.bool_))
