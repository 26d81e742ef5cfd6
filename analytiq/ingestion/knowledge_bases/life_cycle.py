"""Jobs of a whole knowledge base: membership, activation, statistics, dropping."""

import asyncio
import time
from collections.abc import Sequence

import structlog

from analytiq.ingestion.membership import Membership, kb_changed
from analytiq.jobs.queue.handling import after_attempt, follows, job, job_batch
from analytiq.jobs.queue.runner import RunningJob
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.models.job import Job, JobState
from analytiq.models.job_payloads import DocumentMembershipPayload, DropKbPayload, KbMembershipPayload, SyncPayload
from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import DatabaseError
from analytiq.telemetry.checkpoints import checkpoint
from analytiq.tenancy.rate_limits.limits import RateLimits

log = structlog.get_logger(__name__)

SETTLE_SECONDS = 0.5
"""Counting a knowledge base reads its whole index, so this is not done after each of 100,000 documents."""
PAUSE_SECONDS_PER_DOCUMENT = 1e-5
"""Least pause between two counts of a knowledge base: 10 s with a million documents, whose count takes half a second.
At a fixed pause, a bulk load would spend half of a core on counting."""


class KnowledgeBaseLifeCycle:
    """Handlers of the jobs of knowledge bases, and the follow-up of each job."""

    def __init__(self, rows: Repositories, membership: Membership, rate_limits: RateLimits, backends: Backends) -> None:
        self._membership = membership
        self._knowledge_bases = rows.knowledge_bases
        self._epochs = rows.epochs
        self._entries = rows.entries
        self._generations = rows.generations
        self._vectors = rows.vectors
        self._jobs = rows.jobs
        self._history = rows.job_history
        self._rate_limits = rate_limits
        self._holds = rows.holds
        self._backends = backends
        self._unsettled: dict[str, str] = {}
        self._paused_until: dict[str, float] = {}
        self._has_unsettled = asyncio.Event()

    @job(DocumentMembershipPayload)
    async def handle_document_membership(self, running: RunningJob, payload: DocumentMembershipPayload) -> None:
        """Enqueue a sync of each pair affected by a changed document."""
        job = running.job
        await self._membership.enqueue_pairs_of_document(
            job.organization_id, payload.document_id, request_id=job.request_id, priority=job.priority
        )

    @job_batch(DocumentMembershipPayload)
    async def handle_document_memberships(
        self, batch: RunningBatch, payloads: Sequence[DocumentMembershipPayload]
    ) -> None:
        """Enqueue the syncs of several changed documents of an organization together."""
        jobs = {payload.document_id: running.job for running, payload in zip(batch.jobs, payloads, strict=True)}
        await self._membership.enqueue_pairs_of_documents(batch.jobs[0].job.organization_id, jobs)
        for running in batch.jobs:
            batch.note_done(running)

    @job(KbMembershipPayload)
    async def handle_kb_membership(self, running: RunningJob, payload: KbMembershipPayload) -> None:
        """Enqueue a sync of each pair affected by a changed knowledge base."""
        job = running.job
        knowledge_base = await self._knowledge_bases.get_for_job(job.organization_id, payload.kb_id)
        if knowledge_base is None:
            return
        pairs = await self._membership.enqueue_pairs_of_kb(knowledge_base, request_id=job.request_id)
        await self._knowledge_bases.note_first_membership(job.organization_id, knowledge_base.id)
        # Archives lack its search indexes; if they exist, this is one question.
        await self._backends.of(knowledge_base).prepare(knowledge_base)
        log.info("knowledge_bases.membership", kb_id=knowledge_base.id, pairs=pairs)

    @job(DropKbPayload)
    async def handle_drop(self, running: RunningJob, payload: DropKbPayload) -> None:
        """Delete the data of a deleted knowledge base, its row last, so that a retry resumes after a crash."""
        job, kb_id = running.job, payload.kb_id
        knowledge_base = await self._knowledge_bases.get_deleting(job.organization_id, kb_id)
        if knowledge_base is None:
            return
        await self._holds.require_free(job.organization_id)
        await self._backends.of(knowledge_base).drop(knowledge_base)
        await self._vectors.drop_collection(kb_id)
        await checkpoint("knowledge_base.collection_dropped")
        await self._jobs.delete_of_kb(job.organization_id, kb_id, but=job.id)
        await self._entries.delete_of_kb(kb_id)
        await self._generations.delete_of_kb(kb_id)
        await checkpoint("knowledge_base.entries_deleted")
        await self._epochs.delete_changes(kb_id)
        await checkpoint("knowledge_base.changes_deleted")
        await self._history.delete_of_kb(job.organization_id, kb_id)
        await self._rate_limits.forget_knowledge_base(job.organization_id, kb_id)
        await self._knowledge_bases.delete(job.organization_id, kb_id)
        log.info("knowledge_bases.dropped", kb_id=kb_id)

    @follows(DropKbPayload)
    async def forget_dropped(self, running: RunningJob, payload: DropKbPayload) -> None:
        """Release this process's memory and files of the deleted knowledge base."""
        self._backends.forget(payload.kb_id)

    @after_attempt(SyncPayload, KbMembershipPayload)
    async def after_job(self, job: Job, payload: SyncPayload | KbMembershipPayload) -> None:
        """Note the end of an attempt of a knowledge base's job, for `settle_continuously`."""
        self._unsettled[payload.kb_id] = job.organization_id
        self._has_unsettled.set()

    async def settle_continuously(self) -> None:
        """Settle the knowledge bases whose jobs have ended, large ones at intervals that grow with their documents."""
        while True:
            await self._has_unsettled.wait()
            try:
                await self._settle_all([kb_id for kb_id in self._unsettled if not self._is_paused(kb_id)])
            except DatabaseError:
                log.warning("knowledge_bases.settle_failed", exc_info=True)
            await asyncio.sleep(SETTLE_SECONDS)

    async def settle_noted(self) -> None:
        """Settle every knowledge base noted by `after_job`.

        A knowledge base stays noted if the database did not answer. One that fails otherwise is logged and left to the
        reconciler: it would fail again, and delay all others.
        """
        while self._unsettled:
            await self._settle_all(list(self._unsettled))

    async def _settle_all(self, kb_ids: Sequence[str]) -> None:
        try:
            for kb_id in kb_ids:
                if kb_id in self._unsettled:
                    await self._settle_one(kb_id, self._unsettled.pop(kb_id))
        finally:
            if not self._unsettled:
                self._has_unsettled.clear()

    async def _settle_one(self, kb_id: str, organization_id: str) -> None:
        try:
            await self.settle(organization_id, kb_id)
        except (DatabaseError, asyncio.CancelledError):
            self._unsettled.setdefault(kb_id, organization_id)
            raise
        except Exception:
            log.exception("knowledge_bases.not_settled", kb_id=kb_id)

    def _is_paused(self, kb_id: str) -> bool:
        return time.monotonic() < self._paused_until.get(kb_id, 0.0)

    def _pause(self, kb_id: str, *, documents: int) -> None:
        now = time.monotonic()
        self._paused_until = {other: until for other, until in self._paused_until.items() if until > now}
        pause_seconds = PAUSE_SECONDS_PER_DOCUMENT * documents
        if pause_seconds > SETTLE_SECONDS:
            self._paused_until[kb_id] = now + pause_seconds

    async def settle(self, organization_id: str, kb_id: str) -> bool:
        """Update status and counts; return True if anything was written.

        It becomes active once every sync of the first indexing was tried: a document whose provider is down waits for
        hours, shows that in its own state (`documents.indexing_state`), and does not delay the others.
        """
        knowledge_base = await self._knowledge_bases.get_for_job(organization_id, kb_id)
        if knowledge_base is None:
            return False
        epoch = await self._epochs.read(kb_id)
        if epoch is None:
            return False
        documents, chunks = await self._entries.statistics(kb_id)
        self._pause(kb_id, documents=documents)
        is_counted = await self._knowledge_bases.write_statistics(
            knowledge_base, document_count=documents, chunk_count=chunks, epoch=epoch.epoch
        )
        status = await self.status_of(knowledge_base)
        if status is not knowledge_base.status and await self._knowledge_bases.set_status(knowledge_base, status):
            log.info("knowledge_bases.status", kb_id=kb_id, status=status.value, documents=documents, chunks=chunks)
            return True
        return is_counted

    async def status_of(self, knowledge_base: KnowledgeBase) -> KnowledgeBaseStatus:
        """Return the status; an active knowledge base stays active, whatever the state of its documents."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        if knowledge_base.status is KnowledgeBaseStatus.ACTIVE:
            return KnowledgeBaseStatus.ACTIVE
        gathered_at = knowledge_base.first_membership_at
        if gathered_at is None:
            gathering = await self._jobs.get(kb_changed(organization_id, kb_id).deduplication_key)
            is_given_up = gathering is not None and gathering.state is JobState.DEAD
            return KnowledgeBaseStatus.ERROR if is_given_up else KnowledgeBaseStatus.INDEXING
        is_waiting = await self._jobs.has_untried_sync(organization_id, kb_id, enqueued_until=gathered_at)
        return KnowledgeBaseStatus.INDEXING if is_waiting else KnowledgeBaseStatus.ACTIVE
