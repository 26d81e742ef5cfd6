"""Wire shapes of worker processes."""

from pydantic import Field

from analytiq.jobs.queue.workers import MOST_JOBS, WorkerWithJobs
from analytiq.models.job import JobKind
from api.schemas.wire import Moment, ResponseBody


class WorkerJob(ResponseBody):
    """A job of this organization that a worker runs."""

    job_id: str
    kind: JobKind


class WorkerResponse(ResponseBody):
    """A process that runs jobs, of all organizations; only this organization's are told."""

    name: str
    host: str
    started_at: Moment
    seen_at: Moment = Field(description="When it last gave a sign of life")
    slots: int = Field(description="How many jobs it runs at once at most")
    jobs: list[WorkerJob] = Field(description=f"{MOST_JOBS} at most, latest change first")
    job_count: int = Field(description="How many of this organization's jobs it runs")
    problems: list[str] = Field(description="What keeps it from all of its work, such as parsers that are not isolated")

    @classmethod
    def of(cls, found: WorkerWithJobs) -> "WorkerResponse":
        """From the library's shape."""
        worker = found.worker
        return cls(
            name=worker.id,
            host=worker.host,
            started_at=worker.started_at,
            seen_at=worker.seen_at,
            slots=worker.concurrency,
            jobs=[WorkerJob(job_id=job.id, kind=job.kind) for job in found.running.jobs],
            job_count=found.running.count,
            problems=list(worker.problems),
        )


class WorkerList(ResponseBody):
    """The processes that are there, by name; one that was silent for a while is not."""

    workers: list[WorkerResponse]
