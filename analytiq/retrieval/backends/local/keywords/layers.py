"""An index and the changes since its last merge: each commit is searchable at once, the index's own comes later.

A commit of the library waits for the disk (65 ms beside a bulk load). So changes go into fresh rows in memory, and a
merge in the background commits many of them at once. During a merge there are two parts of fresh rows: the sealed one,
which is being merged, and the one that takes later changes.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from analytiq.retrieval.backends.local.keywords.fresh import FreshRows, FreshView, empty_view
from analytiq.retrieval.backends.local.keywords.index import State, WordIndex
from analytiq.retrieval.backends.local.keywords.schema import Row, rows_of
from analytiq.retrieval.backends.local.keywords.view import Base, View
from analytiq.storage.repositories.index_contents import ChunkText

MOST_FRESH_ROWS = 2000
"""Fresh rows and removals from which on a merge is due. With chunks of 180 words: 17 MiB of postings, 1.9 ms of
processor time of a search beside the 1.1 ms in an index of 20,000 chunks."""
FEWEST_FRESH_ROWS = 64
FRESH_SHARE = 1 / 8
"""Share of the index's rows from which on a merge is due, within these bounds: average lengths of fields are those
of the last merge for the rows in the index."""
DIRECT_ROWS = 4000
"""Fresh rows beyond which a change is written to the index at once, as a build is, so that memory stays bounded."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The writes of a merge to the index: rows, removed generations, and the state that they lead to."""

    rows: Sequence[Row]
    removed: Collection[str]
    state: State


@dataclass(frozen=True, slots=True)
class _Published:
    """The searchable layers: `masked` maps removed generations to their number of rows in the index."""

    base: Base
    masked: dict[str, int]
    sealed: FreshView | None
    active: FreshView

    @property
    def view(self) -> View:
        parts = (self.active,) if self.sealed is None else (self.sealed, self.active)
        return View(self.base, self.masked, tuple(part for part in parts if part.live_rows))


@dataclass(slots=True)
class Layers:
    """The searchable layers of one knowledge base, changed by one task at a time. Its methods block."""

    index: WordIndex
    _published: _Published = field(init=False)

    def __init__(self, index: WordIndex, base: Base) -> None:
        self.index = index
        self._published = _Published(base, {}, None, empty_view())

    @property
    def fresh_rows(self) -> int:
        """The number of rows and removals that wait for a merge, with those being merged and those not published."""
        published = self._published
        sealed = 0 if published.sealed is None else len(published.sealed.source.rows)
        return sealed + len(self._source.rows) + len(self._source.removals)

    @property
    def is_merging(self) -> bool:
        """True between `seal` and `merged`."""
        return self._published.sealed is not None

    @property
    def has_changes(self) -> bool:
        """True if there is something to merge."""
        return bool(self._source.rows or self._source.removals)

    @property
    def is_merge_due(self) -> bool:
        """True if searches should not wait for a pause until the next merge."""
        share = int(self._published.base.searcher.num_docs * FRESH_SHARE)
        bound = min(MOST_FRESH_ROWS, max(FEWEST_FRESH_ROWS, share))
        return len(self._source.rows) + len(self._source.removals) > bound

    def add(self, chunks: Sequence[ChunkText], languages: dict[str, str]) -> None:
        """Add chunks, invisible until `publish`. `languages`: see `rows_of`."""
        for row in rows_of(chunks, languages):
            self._source.add(row)

    def publish(self, removed: Iterable[str]) -> View:
        """Show the added chunks, without the removed generations; unknown generations are ignored."""
        before = self._published
        sealed, active, masked = before.sealed, before.active.extended(), dict(before.masked)
        removals: list[str] = []
        for generation_id in removed:
            active = active.without(active.source.places_of(generation_id))
            places = sealed.source.places_of(generation_id) if sealed is not None else ()
            merged = self.index.rows_of_generation(before.base, generation_id)
            if sealed is not None and places:
                sealed = sealed.without(places)
            if merged:
                masked[generation_id] = merged
            if merged or places:
                removals.append(generation_id)
        self._published = _Published(before.base, masked, sealed, active)
        self._source.removals += removals
        return self._published.view

    def discard(self) -> None:
        """Forget the chunks added since the last `publish`."""
        active = self._published.active
        hidden = range(len(active.alive), len(active.source.rows))
        self._published = replace(self._published, active=active.extended().without(hidden))

    def seal(self, state: State) -> Batch:
        """Begin a merge of everything published, which leads to a state."""
        active = self._published.active
        self._published = replace(self._published, sealed=active, active=empty_view())
        rows = [active.source.rows[place] for place in active.places]
        return Batch(rows, tuple(active.source.removals), state)

    def write(self, batch: Batch) -> Base:
        """Commit a batch to the index; meanwhile the layers may change."""
        self.index.remove(batch.removed)
        self.index.add_rows(batch.rows)
        self.index.commit(batch.state)
        return self.index.view().base

    def merged(self, base: Base) -> View:
        """End the merge: search the index as it is now, and what has changed since `seal`."""
        active = self._published.active
        counts = {one: self.index.rows_of_generation(base, one) for one in active.source.removals}
        self._published = _Published(base, {one: rows for one, rows in counts.items() if rows}, None, active)
        return self._published.view

    @property
    def _source(self) -> FreshRows:
        return self._published.active.source
