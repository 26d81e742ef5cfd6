"""Positions in a list that is ordered by the time of the last change, oldest first.

Pages are asked for by that time, and not by number: an entry that changes meanwhile goes to the end of the list, and
all behind it move up by one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

MOST_SEEN = 2000
"""Most numbers of a position. Entries beyond are listed twice, which a run recognizes."""


class ListPosition(BaseModel):
    """The position behind a page: a time, entries since then that are listed, and a page number within that time."""

    since: datetime | None = None
    page: int = 1
    seen: tuple[int, ...] = ()

    @property
    def is_first(self) -> bool:
        """Return True if nothing is listed yet."""
        return self.page == 1 and not self.seen

    def behind(self, entries: Sequence[tuple[int, datetime]]) -> "ListPosition":
        """Return the position behind a page of entries, by their numbers and times of the last change."""
        if not entries:
            return self
        since = second_before(entries[-1][1])
        if self.since is not None and since <= self.since:
            # All of the page changed within a second, as after a bulk edit.
            seen = tuple(dict.fromkeys([*self.seen, *(number for number, _ in entries)]))
            return ListPosition(since=self.since, page=self.page + 1, seen=seen[-MOST_SEEN:])
        return ListPosition(since=since, seen=tuple(number for number, time in entries if time >= since))


def second_before(time: datetime) -> datetime:
    """Return the time a second earlier: lists since a time need not have what happened in that second."""
    return (time - timedelta(seconds=1)).astimezone(UTC)


def latest(before: datetime | None, entries: Sequence[tuple[int, datetime]]) -> datetime | None:
    """Return the last change of entries, or one before."""
    return max([time for _, time in entries] + ([before] if before else []), default=None)
