"""Collection `tenant_tasks`: last runs of periodic tasks by organization, by the server's clock."""

from collections.abc import Sequence

from pymongo import IndexModel

from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row
from analytiq.storage.session import Session

INDEXES = {"tenant_tasks": [IndexModel([("organization_id", 1)])]}


class TenantTaskRepository:
    """Last runs by task and organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["tenant_tasks"]

    async def seconds_since(self, task: str, organization_ids: Sequence[str]) -> dict[str, float]:
        """Return the seconds since the last run by organization, without organizations that had none."""
        query: Row = {"_id": {"$in": [_key(task, each) for each in organization_ids]}}
        seconds: Row = {"$divide": [{"$subtract": ["$$NOW", "$last_run_at"]}, 1000]}
        pipeline: list[Row] = [{"$match": query}, {"$project": {"organization_id": 1, "seconds": seconds}}]
        cursor = await self._collection.aggregate(pipeline)
        return {row["organization_id"]: float(row["seconds"]) async for row in cursor}

    async def note_run(self, session: Session, organization_id: str, task: str) -> None:
        """Store that the task has just run for the organization."""
        run: Row = {"organization_id": organization_id, "task": task, "last_run_at": "$$NOW"}
        await self._collection.update_one({"_id": _key(task, organization_id)}, [{"$set": run}], upsert=True,
                                          session=session)  # fmt: skip


def _key(task: str, organization_id: str) -> str:
    return f"{task}:{organization_id}"
