"""Wire shapes of worker processes."""

from pydantic import AliasPath, Field

from analytiq.jobs.queue.workers import MOST_JOBS
from analytiq.models.job import JobKind
from api.schemas.wire import Moment, ResponseBody


class WorkerJob(ResponseBody):
    """A job of this organization that a worker runs."""

    job_id: str = Field(validation_alias="id")
    kind: JobKind


class WorkerResponse(ResponseBody):
    """A process that runs jobs, of all organizations; only this organization's are told."""

    name: str = Field(validation_alias="id")
    host: str
    started_at: Moment
    seen_at: Moment = Field(description="When it last gave a sign of life")
    slots: int = Field(validation_alias="concurrency", description="How many jobs it runs at once at most")
    jobs: list[WorkerJob] = Field(
        validation_alias=AliasPath("running", "jobs"), description=f"{MOST_JOBS} at most, latest change first"
    )
    job_count: int = Field(
        validation_alias=AliasPath("running", "count"), description="How many of this organization's jobs it runs"
    )
    problems: list[str] = Field(description="What keeps it from all of its work, such as parsers that are not isolated")


class WorkerList(ResponseBody):
    """The processes that are there, by name; one that was silent for a while is not."""

    workers: list[WorkerResponse]
