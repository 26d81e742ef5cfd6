"""Membership: the pairs (knowledge base, document) that a change affects.

A change enqueues one job about its own side only. The job runs after that change's commit, reads both sides, and
enqueues the pairs; if both sides gain the same tag at once, the later commit sees the other.
"""

from collections.abc import Iterable, Mapping, Sequence

from analytiq.models.job import Job, JobRequest, Priority
from analytiq.models.job_payloads import DocumentMembershipPayload, KbMembershipPayload, SyncPayload
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.telemetry.checkpoints import checkpoint


def sync_request(
    organization_id: str, kb_id: str, document_id: str, *, priority: int = Priority.INTERACTIVE
) -> JobRequest:
    """Return the job that brings one pair to its intended state."""
    payload = SyncPayload(kb_id=kb_id, document_id=document_id)
    return JobRequest(payload=payload, organization_id=organization_id, priority=priority)


def document_changed(organization_id: str, document_id: str, *, priority: int = Priority.INTERACTIVE) -> JobRequest:
    """Return the job for a change of a document's tags, text or existence; its syncs get the same priority."""
    payload = DocumentMembershipPayload(document_id=document_id)
    return JobRequest(payload=payload, organization_id=organization_id, priority=priority)


def kb_changed(organization_id: str, kb_id: str) -> JobRequest:
    """Return the job for a change of a knowledge base's tags, or its creation."""
    return JobRequest(payload=KbMembershipPayload(kb_id=kb_id), organization_id=organization_id)


class Membership:
    """Finds the pairs and enqueues a sync of each."""

    def __init__(
        self,
        documents: DocumentRepository,
        knowledge_bases: KnowledgeBaseRepository,
        entries: IndexEntryRepository,
        jobs: JobRepository,
    ) -> None:
        self._documents = documents
        self._knowledge_bases = knowledge_bases
        self._entries = entries
        self._jobs = jobs

    async def enqueue_pairs_of_document(
        self, organization_id: str, document_id: str, *, request_id: str | None, priority: int = Priority.INTERACTIVE
    ) -> int:
        """Sync the document with every knowledge base it is in or should be in; return their number."""
        document = await self._documents.get(organization_id, document_id)
        kb_ids = {entry.kb_id for entry in await self._entries.of_document(organization_id, document_id)}
        if document is not None:
            tagged = await self._knowledge_bases.with_tags_for_job(organization_id, document.tag_ids)
            kb_ids |= {knowledge_base.id for knowledge_base in tagged}
        requests = [sync_request(organization_id, kb_id, document_id, priority=priority) for kb_id in sorted(kb_ids)]
        await self._jobs.enqueue(requests, request_id=request_id)
        await checkpoint("membership.document_pairs_enqueued")
        return len(requests)

    async def enqueue_pairs_of_documents(self, organization_id: str, jobs: Mapping[str, Job]) -> None:
        """Sync each document with every knowledge base it is in or should be in, in four commands.

        `jobs`: the job of each document, by the document's id; its request id and priority pass on to the syncs.
        """
        # The documents first, as for a single one: a knowledge base that gains a tag later has its own job.
        tags_of = {
            document.id: frozenset(document.tag_ids)
            for document in await self._documents.of_organizations([organization_id], jobs.keys())
        }
        kb_ids_of: dict[str, set[str]] = {document_id: set() for document_id in jobs}
        for entry in await self._entries.in_all_knowledge_bases(organization_id, jobs.keys()):
            kb_ids_of[entry.document_id].add(entry.kb_id)
        wanted = frozenset[str]().union(*tags_of.values())
        for knowledge_base in await self._knowledge_bases.with_tags_for_job(organization_id, wanted):
            for document_id, tags in tags_of.items():
                if not tags.isdisjoint(knowledge_base.tag_ids):
                    kb_ids_of[document_id].add(knowledge_base.id)
        requests = [
            sync_request(organization_id, kb_id, document_id, priority=jobs[document_id].priority).model_copy(
                update={"request_id": jobs[document_id].request_id}
            )
            for document_id, kb_ids in kb_ids_of.items()
            for kb_id in sorted(kb_ids)
        ]
        await self._jobs.enqueue(requests)
        await checkpoint("membership.document_pairs_enqueued")

    async def enqueue_pairs_of_kb(self, knowledge_base: KnowledgeBase, *, request_id: str | None) -> int:
        """Sync the knowledge base with every document that is in it or should be; return their number.

        In batches by key range: a crash halfway repeats some, which is harmless.
        """
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        # Request the sync first: a running one may have read the old tags and may create an entry that the query
        # below misses. It is run once more.
        busy = await self._jobs.documents_being_synced(organization_id, kb_id)
        count = await self._enqueue(organization_id, kb_id, busy, request_id)
        async for members in self._documents.member_ids(organization_id, knowledge_base.tag_ids):
            count += await self._enqueue(organization_id, kb_id, (pair[0] for pair in members), request_id)
        async for entries in self._entries.document_ids(organization_id, kb_id):
            indexed = [entry.document_id for entry in entries]
            members = await self._documents.members(organization_id, indexed, knowledge_base.tag_ids)
            left = [document_id for document_id in indexed if document_id not in members]
            count += await self._enqueue(organization_id, kb_id, left, request_id)
        await checkpoint("membership.kb_pairs_enqueued")
        return count

    async def _enqueue(
        self, organization_id: str, kb_id: str, document_ids: Iterable[str], request_id: str | None
    ) -> int:
        requests: Sequence[JobRequest] = [
            sync_request(organization_id, kb_id, document_id, priority=Priority.BULK) for document_id in document_ids
        ]
        await self._jobs.enqueue(requests, request_id=request_id)
        await checkpoint("membership.kb_batch_enqueued")
        return len(requests)
