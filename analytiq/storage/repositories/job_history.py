"""Collection `job_history`: outcomes of attempts, for people; no decision depends on it."""

from collections.abc import Sequence

from pymongo import IndexModel

from analytiq.models.job_history import HISTORY_DAYS, JobAttempt
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row, decode

INDEXES = {
    "job_history": [
        IndexModel([("organization_id", 1), ("subject.document_id", 1), ("ended_at", -1)]),
        IndexModel([("organization_id", 1), ("job_id", 1), ("ended_at", -1)]),
        IndexModel([("organization_id", 1), ("subject.kb_id", 1)]),
        IndexModel([("ended_at", 1)], expireAfterSeconds=HISTORY_DAYS * 24 * 3600),
    ],
}


class JobHistoryRepository:
    """Attempts of an organization's jobs."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["job_history"]

    async def add(self, attempts: Sequence[JobAttempt]) -> None:
        """Store outcomes of attempts."""
        if attempts:
            await self._collection.insert_many([attempt.model_dump() for attempt in attempts], ordered=False)

    async def of_document(
        self, organization_id: str, document_id: str, *, skip: int, limit: int
    ) -> tuple[list[JobAttempt], int]:
        """Return a page of the attempts of a document's jobs, latest first, and the total count."""
        return await self._page({"organization_id": organization_id, "subject.document_id": document_id}, skip, limit)

    async def of_job(self, organization_id: str, job_id: str, *, limit: int) -> list[JobAttempt]:
        """Return the latest attempts of a job."""
        attempts, _ = await self._page({"organization_id": organization_id, "job_id": job_id}, 0, limit)
        return attempts

    async def delete_of_document(self, organization_id: str, document_id: str) -> None:
        """Delete the history of a deleted document."""
        await self._collection.delete_many({"organization_id": organization_id, "subject.document_id": document_id})

    async def delete_of_kb(self, organization_id: str, kb_id: str) -> None:
        """Delete the history of a deleted knowledge base."""
        await self._collection.delete_many({"organization_id": organization_id, "subject.kb_id": kb_id})

    async def _page(self, query: Row, skip: int, limit: int) -> tuple[list[JobAttempt], int]:
        cursor = self._collection.find(query).sort("ended_at", -1).skip(skip).limit(limit)
        found = [decode(JobAttempt, row) async for row in cursor]
        return found, await self._collection.count_documents(query)
