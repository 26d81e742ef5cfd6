"""Collection `jobs`: wakes waiting jobs, and revives syncs stopped by their provider."""

from collections.abc import Collection

from analytiq.models.job import JobKind, JobState
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.job_expressions import AFRESH
from analytiq.storage.repositories.rows import Row


class JobRecovery:
    """Jobs that continue once the cause of their wait or failure is resolved."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["jobs"]

    async def revive_syncs(self, organization_id: str, kb_ids: Collection[str], *, error_codes: Collection[str]) -> int:
        """Run failed syncs of knowledge bases with one of these errors again; return their number."""
        dead: Row = {
            "organization_id": organization_id,
            "state": JobState.DEAD.value,
            "error.code": {"$in": list(error_codes)},
            "kind": JobKind.SYNC.value,
            "subject.kb_id": {"$in": list(kb_ids)},
        }
        return (await self._collection.update_many(dead, [{"$set": AFRESH}])).modified_count

    async def ask_running_syncs_again(self, organization_id: str, kb_ids: Collection[str]) -> int:
        """Request the running syncs of knowledge bases once more, as after a change; return their number."""
        running: Row = {
            "organization_id": organization_id,
            "state": JobState.RUNNING.value,
            "kind": JobKind.SYNC.value,
            "subject.kb_id": {"$in": list(kb_ids)},
        }
        return (await self._collection.update_many(running, {"$inc": {"wanted": 1}})).modified_count

    async def organizations_stopped_by(self, error_codes: Collection[str]) -> list[str]:
        """Return the organizations with waiting or failed syncs with one of these errors."""
        pipeline = [{"$match": _stopped(error_codes)}, {"$group": {"_id": "$organization_id"}}]
        return sorted([str(row["_id"]) async for row in await self._collection.aggregate(pipeline)])

    async def knowledge_bases_stopped_by(self, organization_id: str, error_codes: Collection[str]) -> set[str]:
        """Return the organization's knowledge bases with such syncs."""
        match: Row = {"organization_id": organization_id, **_stopped(error_codes)}
        pipeline: list[Row] = [{"$match": match}, {"$group": {"_id": "$subject.kb_id"}}]
        return {str(row["_id"]) async for row in await self._collection.aggregate(pipeline)}

    async def wake(self, organization_id: str, *, error_code: str) -> int:
        """Make the organization's jobs that wait with this error due, with their partitions; return their number."""
        result = await self._collection.update_many(
            {"organization_id": organization_id, "state": JobState.AVAILABLE.value, "error.code": error_code},
            [{"$set": {"run_at": "$$NOW", "woken_at": "$$NOW", "updated_at": "$$NOW"}}],
        )
        return result.modified_count


def _stopped(error_codes: Collection[str]) -> Row:
    return {
        "state": {"$in": [JobState.AVAILABLE.value, JobState.DEAD.value]},
        "kind": JobKind.SYNC.value,
        "error.code": {"$in": list(error_codes)},
    }
