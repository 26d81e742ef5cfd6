"""Sync jobs of one knowledge base together: reads, plans and commits many small documents in few commands."""

from collections import defaultdict
from collections.abc import Sequence

import structlog

from analytiq.errors import AnalytiqError, QuotaExceededError
from analytiq.inference.embedding.sharing import ELSEWHERE_CODE
from analytiq.ingestion.chunking.index_types import cuts_by_meaning
from analytiq.ingestion.indexing.batch_commit import BatchCommit
from analytiq.ingestion.indexing.batch_staging import BatchStaging, Cut, Staged, Wanted
from analytiq.ingestion.indexing.commit import sweep_request
from analytiq.ingestion.indexing.plan import Index, Nothing, plan
from analytiq.ingestion.indexing.staging import Pair
from analytiq.jobs.queue.handling import job_batch
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.models.index_entry import Generation, GenerationState
from analytiq.models.job_payloads import SyncPayload
from analytiq.storage.all_repositories import Repositories
from analytiq.telemetry import metrics, traces
from analytiq.telemetry.checkpoints import checkpoint
from analytiq.tenancy.rate_limits.limits import RateLimits

log = structlog.get_logger(__name__)


class SyncBatches:
    """The handler of batches of sync jobs; it leaves removals and everything unusual to the ordinary handler."""

    def __init__(self, rows: Repositories, staging: BatchStaging, commit: BatchCommit, rate_limits: RateLimits) -> None:
        self._rows = rows
        self._staging = staging
        self._commit = commit
        self._rate_limits = rate_limits

    @job_batch(SyncPayload)
    async def handle_batch(self, batch: RunningBatch, payloads: Sequence[SyncPayload]) -> None:
        """Index the documents that are small and need it; note as done the pairs that are right."""
        if not payloads or any(payload.kb_id != payloads[0].kb_id for payload in payloads):
            return
        waiting: Sequence[Wanted]
        waiting = await self._planned(batch, payloads[0].kb_id, [payload.document_id for payload in payloads])
        if not waiting:
            return
        texts = await self._staging.texts_of(waiting)
        while waiting:
            portion = await self._staging.cut(waiting, texts)
            batch.leave_alone([item.running for item in portion.alone])
            waiting = portion.rest
            if portion.cuts:
                waiting = [*await self._index(batch, portion.cuts), *portion.rest]

    async def _index(self, batch: RunningBatch, cuts: Sequence[Cut]) -> list[Wanted]:
        """Index a portion, or as much of it as the limit of documents allows; return those to try again.

        Raises:
            RateLimitedError, QuotaExceededError, ProviderUnavailableError: what the rest has to wait for.
        """
        knowledge_base = cuts[0].wanted.pair.knowledge_base
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        count = await self._rate_limits.take_documents(organization_id, kb_id, len(cuts))
        begun, late = cuts[:count], [cut.wanted for cut in cuts[count:]]
        committed: list[Staged] = []
        try:
            with traces.span("indexing.stage", documents=count):
                portion = await self._staging.stage(begun)
            await checkpoint("indexing.staged")
            if portion.staged:
                with traces.span("indexing.commit", documents=len(portion.staged)):
                    committed = await self._commit.make_current(batch, portion.staged)
                await checkpoint("indexing.committed")
        finally:
            if len(committed) < count:
                await self._sweep_own([cut.wanted for cut in begun], committed)
                # The others take a turn of their own.
                await self._rate_limits.return_document(organization_id, kb_id, count=count - len(committed))
        self._note_committed(kb_id, committed)
        batch.leave_alone([item.running for item in portion.alone])
        if portion.error is not None:
            self._count_failures(kb_id, len(portion.waiting), portion.error)
            raise portion.error
        return [*portion.waiting, *late]

    def _note_committed(self, kb_id: str, committed: Sequence[Staged]) -> None:
        if committed:
            chunks = sum(item.generation.chunk_count for item in committed)
            metrics.chunks_indexed.labels(kb_id=metrics.label_of(kb_id)).inc(chunks)
            log.info("indexing.batch_committed", kb_id=kb_id, documents=len(committed), chunks=chunks)

    def _count_failures(self, kb_id: str, documents: int, error: AnalytiqError) -> None:
        # Documents that wait for SPUs or for another worker's call have not failed.
        if error.code != ELSEWHERE_CODE and not isinstance(error, QuotaExceededError):
            metrics.indexing_errors.labels(kb_id=metrics.label_of(kb_id), error_type=error.code).inc(documents)

    async def _planned(self, batch: RunningBatch, kb_id: str, document_ids: Sequence[str]) -> list[Wanted]:
        """Read the state of all pairs and plan each; return those to index."""
        rows, organization_id = self._rows, batch.jobs[0].job.organization_id
        current = await self._sweep_left(batch, kb_id, document_ids)
        organization = await rows.organizations.get(organization_id)
        knowledge_base = await rows.knowledge_bases.get_for_job(organization_id, kb_id)
        found = await rows.documents.of_organizations([organization_id], document_ids)
        documents = {document.id: document for document in found}
        entries = await rows.entries.latest_of(organization_id, kb_id, document_ids)
        await checkpoint("indexing.planned")
        skipped = () if organization is None else organization.skipped_flaws
        wanted: list[Wanted] = []
        for running, document_id in zip(batch.jobs, document_ids, strict=True):
            document, own = documents.get(document_id), current[document_id]
            match plan(knowledge_base, document, entries.get(document_id), own, skipped=skipped):
                case Nothing():
                    batch.note_done(running)
                case Index(text_id, _) if organization and knowledge_base and document:
                    pair = Pair(organization, knowledge_base, document)
                    wanted.append(Wanted(running, pair, text_id, tuple(own)))
                case _:
                    continue
        # Chunkers by meaning embed every sentence, which takes long enough to be done one by one.
        return [] if knowledge_base is None or cuts_by_meaning(knowledge_base.chunking) else wanted

    async def _sweep_left(
        self, batch: RunningBatch, kb_id: str, document_ids: Sequence[str]
    ) -> defaultdict[str, list[Generation]]:
        """Sweep generations staged by earlier attempts; return the current ones by document."""
        job = batch.jobs[0].job
        states = [GenerationState.STAGING, GenerationState.CURRENT]
        found = await self._rows.generations.of_pairs(job.organization_id, kb_id, document_ids, states)
        current: defaultdict[str, list[Generation]] = defaultdict(list)
        left: list[Generation] = []
        for item in found:
            if item.state is GenerationState.CURRENT:
                current[item.document_id].append(item)
            elif item.lease_token != job.lease_token:
                left.append(item)
        await self._rows.jobs.enqueue([sweep_request(item, delay_seconds=0.0) for item in left])
        return current

    async def _sweep_own(self, wanted: Sequence[Wanted], committed: Sequence[Staged]) -> None:
        """Sweep what this batch has staged and not committed; a committed generation is no longer in staging."""
        kept = {item.generation.id for item in committed}
        knowledge_base, job = wanted[0].pair.knowledge_base, wanted[0].running.job
        ids = [item.pair.document.id for item in wanted]
        found = await self._rows.generations.of_pairs(
            knowledge_base.organization_id, knowledge_base.id, ids, [GenerationState.STAGING]
        )
        own = [item for item in found if item.lease_token == job.lease_token and item.id not in kept]
        await self._rows.jobs.enqueue([sweep_request(item, delay_seconds=0.0) for item in own])
