"""The end of erased indexes in the memory of this process."""

from analytiq.jobs.queue.handling import follows
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.job_payloads import ErasePayload
from analytiq.operations.erasure.service import Erasures
from analytiq.retrieval.backends.registry import Backends


class ErasedIndexes:
    """The indexes of erased knowledge bases."""

    def __init__(self, erasures: Erasures, backends: Backends) -> None:
        self._erasures = erasures
        self._backends = backends

    @follows(ErasePayload)
    async def forget(self, running: RunningJob, payload: ErasePayload) -> None:
        """Drop what this process holds of the erased knowledge bases."""
        for kb_id in (await self._erasures.get(payload.erasure_id)).kb_ids:
            self._backends.forget(kb_id)
