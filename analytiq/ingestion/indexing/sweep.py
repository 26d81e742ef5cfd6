"""The deletion of vectors of generations without readers: the last step of a swap."""

from collections.abc import Sequence

import structlog

from analytiq.jobs.queue.handling import job, job_batch
from analytiq.jobs.queue.runner import RunningJob
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.models.index_entry import GenerationState
from analytiq.models.job_payloads import SweepPayload
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.all_repositories import Repositories
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)


class Sweep:
    """The handler of sweep jobs."""

    def __init__(self, rows: Repositories, backends: Backends) -> None:
        self._rows = rows
        self._backends = backends

    @job(SweepPayload)
    async def handle(self, running: RunningJob, payload: SweepPayload) -> None:
        """Move the generation to purging, delete its vectors, then its row; leave a current one alone."""
        job = running.job
        kb_id, generation_id = payload.kb_id, payload.generation_id
        is_purging = await self._rows.generations.move(
            job.organization_id,
            generation_id,
            from_states=[GenerationState.STAGING, GenerationState.SUPERSEDED, GenerationState.PURGING],
            to_state=GenerationState.PURGING,
        )
        if not is_purging and await self._rows.generations.get(job.organization_id, generation_id) is not None:
            log.warning("indexing.sweep_refused", generation_id=generation_id)
            return
        await checkpoint("sweep.purging")
        await self._rows.holds.require_free(job.organization_id)
        swept = await self._rows.vectors.delete_generation(job.organization_id, kb_id, generation_id)
        knowledge_base = await self._rows.knowledge_bases.get(job.organization_id, kb_id)
        if knowledge_base is not None:
            await self._backends.of(knowledge_base).remove(knowledge_base, generation_id)
        await checkpoint("sweep.vectors_deleted")
        await self._rows.generations.delete(job.organization_id, generation_id)
        log.info("indexing.swept", kb_id=kb_id, generation_id=generation_id, vectors=swept)

    @job_batch(SweepPayload)
    async def handle_batch(self, batch: RunningBatch, payloads: Sequence[SweepPayload]) -> None:
        """Sweep generations of one knowledge base as `handle` does, in few commands."""
        if not payloads or any(payload.kb_id != payloads[0].kb_id for payload in payloads):
            return
        organization_id, kb_id = batch.jobs[0].job.organization_id, payloads[0].kb_id
        ids = [payload.generation_id for payload in payloads]
        refused = await self._rows.generations.begin_purge(organization_id, ids)
        if refused:
            log.warning("indexing.sweep_refused", generation_ids=sorted(refused))
        purged = [generation_id for generation_id in ids if generation_id not in refused]
        await checkpoint("sweep.purging")
        await self._rows.holds.require_free(organization_id)
        swept = await self._rows.vectors.delete_generations(organization_id, kb_id, purged)
        knowledge_base = await self._rows.knowledge_bases.get(organization_id, kb_id)
        if knowledge_base is not None:
            backend = self._backends.of(knowledge_base)
            for generation_id in purged:
                await backend.remove(knowledge_base, generation_id)
        await checkpoint("sweep.vectors_deleted")
        await self._rows.generations.delete_many(organization_id, purged)
        for running in batch.jobs:
            batch.note_done(running)
        log.info("indexing.swept_together", kb_id=kb_id, generations=len(purged), vectors=swept)
