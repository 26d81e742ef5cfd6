"""Who works, as an organization may see it: the processes are the system's, the jobs its own."""

from dataclasses import dataclass

from analytiq.models.job import Job, JobState
from analytiq.models.worker import Worker
from analytiq.mongo.repositories.jobs import JobQuery, JobRepository
from analytiq.mongo.repositories.workers import WorkerRepository
from analytiq.queue.registry import SILENT_SECONDS

MOST_JOBS = 1_000
"""Running jobs that are looked at; beyond it some are not told: nobody reads that many."""


@dataclass(frozen=True, slots=True)
class WorkerWithJobs:
    """A process that is there, and the jobs of one organization that it runs."""

    worker: Worker
    jobs: list[Job]


class Workers:
    """Worker processes, seen from an organization."""

    def __init__(self, workers: WorkerRepository, jobs: JobRepository) -> None:
        """Put together."""
        self._workers = workers
        self._jobs = jobs

    async def of(self, organization_id: str) -> list[WorkerWithJobs]:
        """The processes that are there, by name, each with the organization's jobs that it runs."""
        present = await self._workers.seen_within(SILENT_SECONDS)
        running = await self._jobs.page(organization_id, JobQuery(states=(JobState.RUNNING,)), skip=0, limit=MOST_JOBS)
        return [WorkerWithJobs(worker, [job for job in running.jobs if job.worker == worker.id]) for worker in present]
