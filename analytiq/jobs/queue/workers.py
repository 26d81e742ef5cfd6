"""Workers as an organization sees them: all processes, but only its own jobs."""

from dataclasses import dataclass

from analytiq.jobs.queue.registry import SILENT_SECONDS
from analytiq.models.worker import RunningJobs, Worker
from analytiq.storage.repositories.workers import WorkerRepository

MOST_JOBS = 100
"""Most running jobs listed of one worker; their number is reported besides."""


@dataclass(frozen=True, slots=True)
class WorkerWithJobs:
    """A live worker process with its running jobs of one organization."""

    worker: Worker
    running: RunningJobs


class Workers:
    """Worker processes, seen from an organization."""

    def __init__(self, workers: WorkerRepository) -> None:
        """Store the repository."""
        self._workers = workers

    async def of(self, organization_id: str) -> list[WorkerWithJobs]:
        """Return the live worker processes by name, each with its running jobs of the organization."""
        present = await self._workers.seen_within(SILENT_SECONDS)
        names = [worker.id for worker in present]
        running = await self._workers.running(organization_id, names, most=MOST_JOBS)
        return [WorkerWithJobs(worker, running.get(worker.id, RunningJobs())) for worker in present]
