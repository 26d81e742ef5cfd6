"""Listings of a database: all documents, or those with changed rows."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import cast

from pydantic import JsonValue

from analytiq import clock
from analytiq.errors import PermanentError
from analytiq.ingestion.sources.base import PositionExpiredError
from analytiq.ingestion.sources.systems.sql.connection import SqlDatabase
from analytiq.ingestion.sources.systems.sql.documents import RowGroup
from analytiq.ingestion.sources.systems.sql.queries import SourceQuery
from analytiq.ingestion.sources.systems.sql.values import Key, UnreadableValueError, before, collated, read, written

BATCH_GROUPS = 100
BATCH_BYTES = 8 * 1024 * 1024
"""Bytes of rows from which a batch is full."""
MOST_ROWS = 2_000_000
"""Most rows of one listing."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a listing.

    Attributes:
        since: the value from which changed rows are listed; None: all rows.
        after: the key of the last listed document.
        latest: the highest value of the updated column so far.
        rows: number of listed rows.
        is_done: everything is listed.
    """

    since: object = None
    after: Key | None = None
    latest: object = None
    rows: int = 0
    is_done: bool = False

    def written(self) -> str:
        """Return the place as a cursor."""
        after = None if self.after is None else [written(part) for part in self.after]
        return json.dumps([written(self.since), after, written(self.latest), self.rows, self.is_done])

    @classmethod
    def read(cls, cursor: str) -> "Place":
        """Read a cursor.

        Raises:
            PositionExpiredError: it is none.
        """
        try:
            since, after, latest, rows, is_done = cast("list[JsonValue]", json.loads(cursor))
            key = tuple(read(part) for part in after) if isinstance(after, list) else None
            return cls(_read(since), key, _read(latest), int(cast("int", rows)), bool(is_done))
        except (ValueError, TypeError):
            raise PositionExpiredError("The position in the rows is not readable any more.") from None


@dataclass(frozen=True, slots=True)
class Groups:
    """Some documents' rows, with the place behind them."""

    groups: Sequence[RowGroup]
    place: Place


def since_of(text: str) -> object:
    """Return the value that a run before left; None if it is not readable."""
    try:
        return read(cast("JsonValue", json.loads(text)))
    except (UnreadableValueError, ValueError):
        return None


def next_since(place: Place, *, overlap_seconds: int) -> str | None:
    """Return what the next run begins with; None: with everything."""
    latest = place.latest if place.latest is not None else place.since
    if latest is None:
        return None
    if place.latest is None:
        return json.dumps(written(place.since))
    content = written(before(latest, clock.now(), seconds=overlap_seconds))
    return None if content is None else json.dumps(content)


class RowListing:
    """Lists the rows of a source by documents."""

    def __init__(self, database: SqlDatabase, query: SourceQuery, *, most_bytes: int) -> None:
        self._database = database
        self._query = query
        self._most_bytes = most_bytes

    async def batches(self, place: Place) -> AsyncGenerator[Groups]:
        """Yield the documents behind a place, by their keys."""
        statement = self._query.listing(after=place.after, since=place.since)
        open_groups: dict[Key, RowGroup] = {}
        full: list[RowGroup] = []
        collation: Key | None = None
        async with aclosing(self._database.pieces(statement)) as pieces:
            async for piece in pieces:
                for row in piece:
                    values = dict(zip(self._query.columns, row, strict=True))
                    key = self._query.key_of(values)
                    if collated(key) != collation:
                        # Rows of one key may be mixed with those of keys that the database takes for equal.
                        full += open_groups.values()
                        open_groups = {}
                        collation = collated(key)
                        if _is_full(full):
                            place = replace(place, after=full[-1].key)
                            yield Groups(full, place)
                            full = []
                    group = open_groups.setdefault(key, RowGroup(key))
                    group.add(values, most_bytes=self._most_bytes)
                    place = self._counted(place, values)
        full += open_groups.values()
        if full:
            place = replace(place, after=full[-1].key)
        yield Groups(full, replace(place, is_done=True))

    def _counted(self, place: Place, values: dict[str, object]) -> Place:
        if place.rows >= MOST_ROWS:
            raise PermanentError(f"The query has more than {MOST_ROWS:,} rows. Narrow it down.")
        updated = values[self._query.updated] if self._query.updated else None
        latest = place.latest
        if updated is not None and (latest is None or _is_later(updated, latest)):
            latest = updated
        return replace(place, rows=place.rows + 1, latest=latest)


def _is_full(groups: Sequence[RowGroup]) -> bool:
    return len(groups) >= BATCH_GROUPS or sum(group.byte_size for group in groups) >= BATCH_BYTES


def _is_later(one: object, other: object) -> bool:
    try:
        return bool(one > other)  # pyright: ignore[reportOperatorIssue, reportUnknownArgumentType]
    except TypeError:
        raise PermanentError("The updated column has values that cannot be compared.") from None


def _read(content: JsonValue) -> object:
    return None if content is None else read(content)
