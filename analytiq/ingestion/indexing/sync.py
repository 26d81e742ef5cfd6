"""The job `sync(kb, document)`: reads the stored state, plans, applies."""

from collections.abc import Sequence

import structlog

from analytiq.errors import (
    AnalytiqError,
    ConflictError,
    LeaseLostError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitedError,
)
from analytiq.inference.embedding.sharing import ELSEWHERE_CODE
from analytiq.ingestion.indexing.commit import Commit, TruthChangedError, sweep_request
from analytiq.ingestion.indexing.plan import Index, Nothing, Project, Remove, Retire, plan
from analytiq.ingestion.indexing.projecting import Projecting
from analytiq.ingestion.indexing.staging import Pair, Staging
from analytiq.jobs.queue.handling import job
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.index_entry import Generation, GenerationState
from analytiq.models.job_payloads import SyncPayload
from analytiq.storage.all_repositories import Repositories
from analytiq.telemetry import metrics, traces
from analytiq.telemetry.checkpoints import checkpoint
from analytiq.tenancy.rate_limits.limits import DOCUMENTS_CODE, RateLimits

log = structlog.get_logger(__name__)

REPLANS = 5
"""Replans of a sync after concurrent changes, before the queue's backoff takes over."""


class Sync:
    """The handler of sync jobs: one code path for lost, late, duplicated and reordered triggers."""

    def __init__(self, rows: Repositories, staging: Staging, commit: Commit, rate_limits: RateLimits) -> None:
        self._organizations = rows.organizations
        self._documents = rows.documents
        self._knowledge_bases = rows.knowledge_bases
        self._entries = rows.entries
        self._generations = rows.generations
        self._jobs = rows.jobs
        self._staging = staging
        self._commit = commit
        self._projecting = Projecting(rows.search_rows, rows.entries)
        self._rate_limits = rate_limits

    @job(SyncPayload)
    async def handle(self, running: RunningJob, payload: SyncPayload) -> None:
        """Bring the pair to its intended state."""
        kb_id, document_id = payload.kb_id, payload.document_id
        try:
            current = await self._sweep_left(running, kb_id, document_id)
            for _ in range(REPLANS):
                try:
                    await self._apply_once(running, kb_id, document_id, current)
                except TruthChangedError as change:
                    log.info("indexing.planned_anew", kb_id=kb_id, document_id=document_id, why=change.detail)
                else:
                    return
            raise ConflictError(
                "The document or knowledge base changes faster than it can be indexed. The job is retried."
            )
        except LeaseLostError:
            raise
        except AnalytiqError as error:
            # A document that waits for a limit, for SPUs, or for another worker's call has not failed.
            if error.code not in (DOCUMENTS_CODE, ELSEWHERE_CODE) and not isinstance(error, QuotaExceededError):
                metrics.indexing_errors.labels(kb_id=metrics.label_of(kb_id), error_type=error.code).inc()
            raise
        except Exception:
            metrics.indexing_errors.labels(kb_id=metrics.label_of(kb_id), error_type="internal_error").inc()
            raise

    async def _apply_once(
        self, running: RunningJob, kb_id: str, document_id: str, current: Sequence[Generation]
    ) -> None:
        organization_id = running.job.organization_id
        organization = await self._organizations.get(organization_id)
        knowledge_base = await self._knowledge_bases.get_for_job(organization_id, kb_id)
        document = await self._documents.get(organization_id, document_id)
        entry = await self._entries.get(organization_id, kb_id, document_id)
        await checkpoint("indexing.planned")
        skipped = () if organization is None else organization.skipped_flaws
        match plan(knowledge_base, document, entry, current, skipped=skipped):
            case Nothing(reason):
                log.debug("indexing.nothing_to_do", kb_id=kb_id, document_id=document_id, why=reason)
            case Remove(removed, reason):
                await self._commit.take_out(running, removed, current)
                await checkpoint("indexing.taken_out")
                log.info("indexing.removed", kb_id=kb_id, document_id=document_id, why=reason)
            case Project() as wanted:
                changed = await self._projecting.apply(wanted)
                log.info("indexing.projected", kb_id=kb_id, document_id=document_id, chunks=changed)
            case Retire(unnamed, reason):
                await self._commit.retire(running, unnamed)
                lost = [generation.id for generation in unnamed]
                log.warning("indexing.unnamed_retired", kb_id=kb_id, document_id=document_id, lost=lost, why=reason)
            case Index() as wanted:
                assert organization is not None  # noqa: S101  # its document was just read
                assert knowledge_base is not None  # noqa: S101  # `plan` says Nothing without one
                assert document is not None  # noqa: S101
                await self._index(running, Pair(organization, knowledge_base, document), wanted, current)

    async def _index(self, running: RunningJob, pair: Pair, wanted: Index, current: Sequence[Generation]) -> None:
        # Only embedding is limited: removal is immediate, and surplus triggers cost nothing.
        await self._rate_limits.take_document(pair.knowledge_base.organization_id, pair.knowledge_base.id)
        try:
            with traces.span("indexing.stage"):
                generation = await self._staging.stage(running, pair, wanted)
                traces.note(chunks=generation.chunk_count)
            await checkpoint("indexing.staged")
            with traces.span("indexing.commit"):
                await self._commit.make_current(
                    running,
                    pair.knowledge_base,
                    pair.document,
                    generation,
                    current,
                    skipped=pair.organization.skipped_flaws,
                )
            await checkpoint("indexing.committed")
        except BaseException as error:
            await self._sweep_own(running, pair.knowledge_base.id, pair.document.id)
            if isinstance(error, (RateLimitedError, QuotaExceededError, ProviderUnavailableError)):
                await self._rate_limits.return_document(pair.knowledge_base.organization_id, pair.knowledge_base.id)
            raise
        metrics.chunks_indexed.labels(kb_id=metrics.label_of(pair.knowledge_base.id)).inc(generation.chunk_count)
        log.info(
            "indexing.swap_committed",
            kb_id=pair.knowledge_base.id,
            document_id=pair.document.id,
            generation_id=generation.id,
            chunks=generation.chunk_count,
        )

    async def _sweep_left(self, running: RunningJob, kb_id: str, document_id: str) -> list[Generation]:
        """Sweep generations staged by earlier attempts, since only one may stage; return the current ones."""
        found = await self._generations.of_pair(
            running.job.organization_id, kb_id, document_id, [GenerationState.STAGING, GenerationState.CURRENT]
        )
        current = [item for item in found if item.state is GenerationState.CURRENT]
        left = [item for item in found if item not in current and item.lease_token != running.job.lease_token]
        await self._jobs.enqueue([sweep_request(generation, delay_seconds=0.0) for generation in left])
        return current

    async def _sweep_own(self, running: RunningJob, kb_id: str, document_id: str) -> None:
        """Sweep generations staged by this attempt; a committed one is no longer in staging."""
        staged = await self._generations.of_pair(
            running.job.organization_id, kb_id, document_id, [GenerationState.STAGING]
        )
        own = [item for item in staged if item.lease_token == running.job.lease_token]
        await self._jobs.enqueue([sweep_request(generation, delay_seconds=0.0) for generation in own])
