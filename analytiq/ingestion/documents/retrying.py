"""Retries failed documents: extracts their files again and replays their failed jobs."""

from dataclasses import dataclass, replace

import structlog

from analytiq.errors import NotFoundError
from analytiq.ingestion.documents.requests import extract_request
from analytiq.models.document import Document, DocumentState
from analytiq.models.job import JobKind, Priority
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.document_batches import DocumentBatchRepository
from analytiq.storage.repositories.documents import DocumentQuery
from analytiq.storage.repositories.jobs import JobQuery, JobRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

DOCUMENTS_AT_ONCE = 100
"""Documents in one transaction: about 0.1 s; a conflict with one of them repeats it."""
_REPLAYED = (JobKind.EXTRACT, JobKind.MEMBERSHIP_DOCUMENT, JobKind.SYNC)


@dataclass(frozen=True, slots=True)
class RetryQuery:
    """Failed documents to retry; None does not filter."""

    error_code: str | None = None
    kb_id: str | None = None


class DocumentRetrying:
    """Retries of an organization's failed documents."""

    def __init__(
        self,
        connection: MongoConnection,
        batches: DocumentBatchRepository,
        knowledge_bases: KnowledgeBaseRepository,
        jobs: JobRepository,
    ) -> None:
        self._connection = connection
        self._batches = batches
        self._knowledge_bases = knowledge_bases
        self._jobs = jobs

    async def retry(self, organization_id: str, query: RetryQuery, *, request_id: str | None = None) -> int:
        """Extract failed documents again and replay the failed jobs of others; return the number of documents.

        Raises:
            NotFoundError: the organization has no such knowledge base.
        """
        members = await self._members_of(organization_id, query.kb_id)
        wanted = DocumentQuery(
            states=(DocumentState.FAILED,),
            any_tag_ids=members,
            error_codes=() if query.error_code is None else (query.error_code,),
        )
        count = 0
        while batch := await self._retry_batch(organization_id, wanted, request_id):
            count += len(batch)
        replayed = JobQuery(kinds=_REPLAYED, kb_id=query.kb_id, error_code=query.error_code)
        if query.kb_id is not None:
            replayed = replace(replayed, kinds=(JobKind.SYNC,))
        count += await self._jobs.replay(organization_id, replayed)
        log.info("documents.retried", organization_id=organization_id, documents=count)
        return count

    async def _members_of(self, organization_id: str, kb_id: str | None) -> tuple[str, ...] | None:
        if kb_id is None:
            return None
        knowledge_base = await self._knowledge_bases.get(organization_id, kb_id)
        if knowledge_base is None:
            raise NotFoundError(f"No knowledge base has the id {kb_id!r}. List the knowledge bases to find it.")
        return knowledge_base.tag_ids

    async def _retry_batch(self, organization_id: str, query: DocumentQuery, request_id: str | None) -> list[Document]:
        """Queue the next batch for extraction; its documents no longer match the query."""

        async def commit(session: Session) -> list[Document]:
            batch = await self._batches.next_of(
                session, organization_id, query, excluded=(), after=None, limit=DOCUMENTS_AT_ONCE
            )
            await self._batches.await_extraction(session, organization_id, [document.id for document in batch])
            requests = [
                extract_request(organization_id, document.id, byte_size=document.byte_size).model_copy(
                    update={"priority": Priority.BULK}
                )
                for document in batch
            ]
            await self._jobs.enqueue(requests, request_id=request_id, session=session)
            return batch

        return await run_in_transaction(self._connection, commit)
