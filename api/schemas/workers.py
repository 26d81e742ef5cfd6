"""Response bodies of worker processes."""

from pydantic import AliasPath, Field

from analytiq.jobs.queue.workers import MOST_JOBS
from analytiq.models.job import JobKind
from api.schemas.wire import Moment, ResponseBody


class WorkerJob(ResponseBody):
    """A running job of this organization."""

    job_id: str = Field(validation_alias="id")
    kind: JobKind


class WorkerResponse(ResponseBody):
    """A worker process of all organizations; it shows this organization's jobs only."""

    name: str = Field(validation_alias="id")
    host: str
    started_at: Moment
    seen_at: Moment = Field(description="Time of the last heartbeat")
    slots: int = Field(validation_alias="concurrency", description="Maximum number of concurrent jobs")
    jobs: list[WorkerJob] = Field(
        validation_alias=AliasPath("running", "jobs"), description=f"{MOST_JOBS} at most, latest change first"
    )
    job_count: int = Field(
        validation_alias=AliasPath("running", "count"), description="Number of running jobs of this organization"
    )
    problems: list[str] = Field(description="Reasons for reduced capabilities, such as parsers without isolation")


class WorkerList(ResponseBody):
    """The live worker processes by name."""

    workers: list[WorkerResponse]
