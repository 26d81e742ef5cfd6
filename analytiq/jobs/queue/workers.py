"""Who works, as an organization may see it: the processes are the system's, the jobs its own."""

from dataclasses import dataclass

from analytiq.jobs.queue.registry import SILENT_SECONDS
from analytiq.models.worker import RunningJobs, Worker
from analytiq.storage.repositories.workers import WorkerRepository

MOST_JOBS = 100
"""Running jobs that are told of one worker: nobody reads more; how many there are is told besides."""


@dataclass(frozen=True, slots=True)
class WorkerWithJobs:
    """A process that is there, and the jobs of one organization that it runs."""

    worker: Worker
    running: RunningJobs


class Workers:
    """Worker processes, seen from an organization."""

    def __init__(self, workers: WorkerRepository) -> None:
        """Put together."""
        self._workers = workers

    async def of(self, organization_id: str) -> list[WorkerWithJobs]:
        """The processes that are there, by name, each with the organization's jobs that it runs."""
        present = await self._workers.seen_within(SILENT_SECONDS)
        names = [worker.id for worker in present]
        running = await self._workers.running(organization_id, names, most=MOST_JOBS)
        return [WorkerWithJobs(worker, running.get(worker.id, RunningJobs())) for worker in present]
