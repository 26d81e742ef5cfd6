"""Remaining and failed work of knowledge bases, from the collection of jobs."""

from collections.abc import Collection
from dataclasses import dataclass

from analytiq.models.job import WAITING_FOR_PROVIDER_CODES, JobKind, JobState
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row

MOST_COUNTED = 10_000
"""Most jobs counted for a page of knowledge bases, since lists are requested often."""


@dataclass(frozen=True, slots=True)
class KnowledgeBaseWork:
    """Jobs of one knowledge base; `reason` is the error of one failed job.

    `waiting_for_provider`: unfinished jobs that wait for the model's provider; `provider_reason`: one of their errors.
    """

    unfinished: int = 0
    unfinished_syncs: int = 0
    given_up: int = 0
    reason: str | None = None
    waiting_for_provider: int = 0
    provider_reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Counted:
    jobs: int = 0
    syncs: int = 0
    reason: str | None = None


_NONE = _Counted()


class KnowledgeBaseWorkRepository:
    """Counts jobs by knowledge base."""

    def __init__(self, connection: MongoConnection) -> None:
        self._jobs = connection.database["jobs"]

    async def of(self, organization_id: str, kb_ids: Collection[str]) -> dict[str, KnowledgeBaseWork]:
        """Return the work by knowledge base id, without idle ones; three queries on the index of base and state."""
        if not kb_ids:
            return {}
        unfinished = await self._counted(organization_id, kb_ids, (JobState.AVAILABLE, JobState.RUNNING))
        given_up = await self._counted(organization_id, kb_ids, (JobState.DEAD,))
        held = await self._counted(
            organization_id, kb_ids, (JobState.AVAILABLE,), {"error.code": {"$in": list(WAITING_FOR_PROVIDER_CODES)}}
        )
        return {
            kb_id: KnowledgeBaseWork(
                unfinished=unfinished.get(kb_id, _NONE).jobs,
                unfinished_syncs=unfinished.get(kb_id, _NONE).syncs,
                given_up=given_up.get(kb_id, _NONE).jobs,
                reason=given_up.get(kb_id, _NONE).reason,
                waiting_for_provider=held.get(kb_id, _NONE).jobs,
                provider_reason=held.get(kb_id, _NONE).reason,
            )
            for kb_id in unfinished.keys() | given_up.keys()
        }

    async def _counted(
        self, organization_id: str, kb_ids: Collection[str], states: Collection[JobState], query: Row | None = None
    ) -> dict[str, _Counted]:
        match: Row = {
            "subject.kb_id": {"$in": list(kb_ids)},
            "state": {"$in": [state.value for state in states]},
            "organization_id": organization_id,
            **(query or {}),
        }
        is_sync: Row = {"$eq": ["$kind", JobKind.SYNC.value]}
        group: Row = {
            "_id": "$subject.kb_id",
            "count": {"$sum": 1},
            "syncs": {"$sum": {"$cond": [is_sync, 1, 0]}},
            "reason": {"$first": "$error.detail"},
        }
        cursor = await self._jobs.aggregate([{"$match": match}, {"$limit": MOST_COUNTED}, {"$group": group}])
        return {str(row["_id"]): _Counted(int(row["count"]), int(row["syncs"]), row["reason"]) async for row in cursor}
