"""The deletion of vectors of generations without readers: the last step of a swap."""

import structlog

from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.index_entry import GenerationState
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.storage.repositories.index_entries import GenerationRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)


class Sweep:
    """The handler of sweep jobs."""

    def __init__(
        self, generations: GenerationRepository, vectors: VectorRepository, holds: BackupHoldRepository
    ) -> None:
        self._generations = generations
        self._vectors = vectors
        self._holds = holds

    async def handle(self, running: RunningJob) -> None:
        """Move the generation to purging, delete its vectors, then its row; a current one is left alone."""
        job = running.job
        kb_id, generation_id = job.subject.kb_id, job.subject.generation_id
        if kb_id is None or generation_id is None:
            raise ValueError("a sweep names a knowledge base and a generation")
        is_purging = await self._generations.move(
            job.organization_id,
            generation_id,
            from_states=[GenerationState.STAGING, GenerationState.SUPERSEDED, GenerationState.PURGING],
            to_state=GenerationState.PURGING,
        )
        if not is_purging and await self._generations.get(job.organization_id, generation_id) is not None:
            log.warning("indexing.sweep_refused", generation_id=generation_id)
            return
        await checkpoint("sweep.purging")
        await self._holds.require_free(job.organization_id)
        swept = await self._vectors.delete_generation(job.organization_id, kb_id, generation_id)
        await checkpoint("sweep.vectors_deleted")
        await self._generations.delete(job.organization_id, generation_id)
        log.info("indexing.swept", kb_id=kb_id, generation_id=generation_id, vectors=swept)
