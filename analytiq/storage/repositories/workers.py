"""Collections `workers` and `runtime_settings`: live worker processes, and their number of concurrent jobs."""

from collections.abc import Collection, Sequence
from datetime import datetime

from pymongo import IndexModel
from pymongo.write_concern import WriteConcern

from analytiq.models.job import JobKind, JobState
from analytiq.models.worker import JobInShort, RunningJobs, Worker
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row, decode

FORGOTTEN_SECONDS = 60
"""Seconds after which the server deletes the row of a process that ended without withdrawing it."""

INDEXES = {"workers": [IndexModel([("seen_at", 1)], expireAfterSeconds=FORGOTTEN_SECONDS)]}

_CONCURRENCY_ID = "worker_concurrency"


class WorkerRepository:
    """Worker processes of the whole system."""

    def __init__(self, connection: MongoConnection) -> None:
        # For display only, and rewritten within seconds: no write waits for a majority.
        self._collection = connection.database["workers"].with_options(write_concern=WriteConcern(w=1))
        self._jobs = connection.database["jobs"]

    async def announce(
        self,
        name: str,
        *,
        host: str,
        pid: int,
        started_at: datetime,
        concurrency: int,
        running: int,
        ocr_languages: Sequence[str] = (),
        problems: Sequence[str] = (),
    ) -> None:
        """Record that the process is alive; the time is the server's, so that all are comparable."""
        row: Row = {
            "host": {"$literal": host},
            "pid": {"$literal": pid},
            "started_at": started_at,
            "seen_at": "$$NOW",
            "concurrency": {"$literal": concurrency},
            "running": {"$literal": running},
            "ocr_languages": {"$literal": list(ocr_languages)},
            "problems": {"$literal": list(problems)},
        }
        await self._collection.update_one({"_id": name}, [{"$set": row}], upsert=True)

    async def withdraw(self, name: str) -> None:
        """Remove the row of an ending process."""
        await self._collection.delete_one({"_id": name})

    async def seen_within(self, seconds: float) -> list[Worker]:
        """Return the processes seen within the given seconds, by name."""
        earliest: Row = {"$subtract": ["$$NOW", int(seconds * 1000)]}
        cursor = self._collection.find({"$expr": {"$gte": ["$seen_at", earliest]}}).sort("_id", 1)
        return [decode(Worker, row) async for row in cursor]

    async def running(self, organization_id: str, workers: Collection[str], *, most: int) -> dict[str, RunningJobs]:
        """Return the organization's running jobs by worker, at most `most` each; idle workers are left out."""
        if not workers:
            return {}
        wanted: Row = {
            "organization_id": organization_id,
            "state": JobState.RUNNING.value,
            # Every kind is named, as the index of lists wants it (`jobs.LIST_INDEX`).
            "kind": {"$in": [kind.value for kind in JobKind]},
            "worker": {"$in": list(workers)},
        }
        job: Row = {"id": "$_id", "kind": "$kind"}
        cursor = await self._jobs.aggregate(
            [
                {"$match": wanted},
                {"$sort": {"updated_at": -1, "_id": 1}},
                {"$group": {"_id": "$worker", "jobs": {"$push": job}, "count": {"$sum": 1}}},
                {"$set": {"jobs": {"$slice": ["$jobs", most]}}},
            ]
        )
        return {
            str(row["_id"]): RunningJobs(jobs=tuple(JobInShort(**job) for job in row["jobs"]), count=row["count"])
            async for row in cursor
        }


class RuntimeSettingRepository:
    """Settings of all processes that change at run time."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["runtime_settings"]

    async def worker_concurrency(self) -> object:
        """Return the stored value of any type (operators edit the row), or None."""
        row: Row | None = await self._collection.find_one({"_id": _CONCURRENCY_ID})
        return None if row is None else row.get("value")

    async def default_model(self, use: str) -> str | None:
        """Return the installation's default model for embedding or chat, if stored."""
        row: Row | None = await self._collection.find_one({"_id": f"default_{use}_model"})
        value = None if row is None else row.get("value")
        return value if isinstance(value, str) else None

    async def set_default_model(self, use: str, model: str) -> None:
        """Store the installation's default model for embedding or chat."""
        await self._collection.update_one({"_id": f"default_{use}_model"}, {"$set": {"value": model}}, upsert=True)

    async def set_worker_concurrency(self, value: int | None) -> None:
        """Set the number of concurrent jobs of each worker; None restores the workers' own settings."""
        if value is None:
            await self._collection.delete_one({"_id": _CONCURRENCY_ID})
        else:
            await self._collection.update_one({"_id": _CONCURRENCY_ID}, {"$set": {"value": value}}, upsert=True)
