"""Collection `jobs`: which lanes hold work. Whose turn it is among them decides `analytiq.jobs.queue.lanes`."""

from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, replace
from datetime import datetime

from analytiq.models.job import JobKind, JobState
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.job_expressions import DUE, due_of
from analytiq.storage.repositories.rows import Row


@dataclass(frozen=True, slots=True)
class LaneNews:
    """The news of a job of this priority in a partition."""

    lane: str
    organization_id: str
    priority: int
    is_woken: bool = False
    """What the lane waited for is there: it is to be looked at now, whatever was to be waited for."""


class JobLanes:
    """The lanes of jobs that wait."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["jobs"]

    async def has_due(self, kinds: Collection[JobKind], lane: str | None = None) -> bool:
        """Return True if a job of these kinds is due and nobody has it."""
        return await self._collection.find_one(due_of(kinds, lane), {"_id": 1}) is not None

    async def all_lanes(self) -> list[LaneNews]:
        """Every lane that holds a job to be run, now or later, by skipping from lane to lane in the index.

        0.3 ms a lane however many jobs it holds: a distinct over a million jobs took 2.6 s.
        """
        found: list[LaneNews] = []
        after = ""
        while True:
            row: Row | None = await self._collection.find_one(
                {"lane": {"$gt": after}, "state": JobState.AVAILABLE.value},
                {"lane": 1, "organization_id": 1, "priority": 1},
                sort=[("lane", 1), ("state", 1), ("priority", 1), ("run_at", 1)],
            )
            if row is None:
                return found
            found.append(_news(row))
            after = str(row["lane"])

    async def lanes_due_since(self, moment: datetime) -> list[LaneNews]:
        """Return the lanes of jobs that became due after `moment`, which is the server's time.

        Whatever makes a job available makes it due from then on, so nothing escapes who asks again and again.
        """
        cursor = await self._collection.aggregate(
            [
                {"$match": {"state": JobState.AVAILABLE.value, "run_at": {"$gt": moment}, **DUE}},
                {
                    "$group": {
                        "_id": "$lane",
                        "organization_id": {"$first": "$organization_id"},
                        "priority": {"$min": "$priority"},
                        "is_woken": {"$max": {"$gt": ["$woken_at", moment]}},
                    }
                },
            ]
        )
        return [replace(_news({**row, "lane": row["_id"]}), is_woken=row["is_woken"]) async for row in cursor]

    async def server_time(self) -> datetime:
        """Return the time by the clock that decides when jobs are due."""
        hello: Row = await self._collection.database.command("hello")
        moment: datetime = hello["localTime"]
        return moment

    async def watch_enqueues(self) -> AsyncGenerator[LaneNews]:
        """Return the lane of each job that is asked for or woken from now on, by a change stream."""
        asked_for: Row = {
            "$or": [
                {"operationType": "insert"},
                {"updateDescription.updatedFields.wanted": {"$exists": True}},
                {"updateDescription.updatedFields.woken_at": {"$exists": True}},
            ]
        }
        fields: Row = {f"fullDocument.{name}": 1 for name in ("lane", "organization_id", "priority")}
        fields["is_woken"] = {"$ne": [{"$type": "$updateDescription.updatedFields.woken_at"}, "missing"]}
        stream = await self._collection.watch(
            [{"$match": asked_for}, {"$project": fields}], full_document="updateLookup", max_await_time_ms=10_000
        )
        async with stream:
            async for change in stream:
                row: Row | None = change.get("fullDocument")
                if row:  # none, where the job has been done already
                    yield replace(_news(row), is_woken=bool(change["is_woken"]))


def _news(row: Row) -> LaneNews:
    return LaneNews(str(row["lane"]), str(row["organization_id"]), int(row["priority"]))
