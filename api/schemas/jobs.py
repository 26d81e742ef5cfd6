"""Request and response bodies of jobs and of a document's job log."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field

from analytiq.errors import InvalidInputError, QuotaExceededError
from analytiq.ingestion.documents.indexing_state import IndexingState, KnowledgeBaseState
from analytiq.jobs.queue.operations import DocumentLog, JobWithAttempts, KindCounts, SubjectNames
from analytiq.models.document import Document, DocumentState
from analytiq.models.job import WAITING_FOR_PROVIDER_CODES, Job, JobKind, JobState
from analytiq.models.job_history import AttemptOutcome, JobAttempt
from analytiq.storage.repositories.jobs import MOST_COUNTED, JobPage, JobQuery
from api.schemas.documents import FailureResponse, ProgressResponse
from api.schemas.wire import NO_NUL, Moment, RequestBody, ResponseBody


class TaskState(StrEnum):
    """States of a task. Finished jobs are not kept, so SUCCESS applies to attempts and documents only."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"


TASK_STATE_OF_JOB = {
    JobState.AVAILABLE: TaskState.PENDING,
    JobState.RUNNING: TaskState.RUNNING,
    JobState.DEAD: TaskState.FAILURE,
}


WaitsFor = Literal["provider", "quota"]


class JobResponse(ResponseBody):
    """A waiting, running or failed (dead) job."""

    job_id: str = Field(validation_alias="id")
    kind: JobKind
    state: JobState
    task_state: TaskState
    priority: int = Field(description="Smaller values run first")
    attempt: int = Field(description="Number of attempts, excluding those deferred by a provider")
    max_attempts: int
    kb_id: str | None
    document_id: str | None
    generation_id: str | None
    progress: ProgressResponse | None
    error: FailureResponse | None = Field(description="Error of the last failed attempt")
    is_cancel_wanted: bool
    waits_for: WaitsFor | None = Field(
        description="provider: continues once the model's provider responds; quota: continues once SPUs are available"
    )
    waiting_since: Moment | None = Field(description="Start of this wait")
    worker: str | None = Field(description="The worker process; operators find it with `analytiq workers list`")
    run_at: Moment = Field(description="Due time")
    created_at: Moment
    updated_at: Moment
    request_id: str | None

    @classmethod
    def from_job(cls, job: Job, *, max_attempts: int, **values: object) -> Self:
        """Build the response; `values` are additional fields."""
        return cls.from_model(
            job,
            job.subject,
            task_state=TASK_STATE_OF_JOB[job.state],
            max_attempts=max_attempts,
            waits_for=_waits_for(job),
            waiting_since=job.waiting_since if job.state is JobState.AVAILABLE else None,
            **values,
        )


class AttemptResponse(ResponseBody):
    """A finished attempt.

    `outcome`: done, failed (document or run failed for good), retried (another attempt follows), dead, or cancelled.
    """

    job_id: str
    kind: JobKind
    task_state: TaskState = Field(description="SUCCESS or FAILURE of this attempt")
    outcome: AttemptOutcome
    attempt: int
    kb_id: str | None
    document_id: str | None
    generation_id: str | None
    error: FailureResponse | None
    worker: str | None
    request_id: str | None
    started_at: Moment
    ended_at: Moment

    @classmethod
    def from_attempt(cls, attempt: JobAttempt) -> "AttemptResponse":
        """Build the response."""
        is_done = attempt.outcome is AttemptOutcome.DONE
        return cls.from_model(attempt, attempt.subject, task_state=TaskState.SUCCESS if is_done else TaskState.FAILURE)


class JobDetail(JobResponse):
    """A job with its attempts, latest first, and the place of its last failure."""

    stack: str | None = Field(description="Stack trace of the last failure, with paths relative to their packages")
    attempts: list[AttemptResponse]

    @classmethod
    def with_attempts(cls, found: JobWithAttempts, *, max_attempts: int) -> "JobDetail":
        """Build the response from a job and its attempts."""
        return cls.from_job(
            found.job,
            max_attempts=max_attempts,
            stack=found.job.error.stack if found.job.error else None,
            attempts=[AttemptResponse.from_attempt(attempt) for attempt in found.attempts],
        )


def _waits_for(job: Job) -> WaitsFor | None:
    code = job.error.code if job.error and job.state is JobState.AVAILABLE else None
    if code == QuotaExceededError.code:
        return "quota"
    return "provider" if code in WAITING_FOR_PROVIDER_CODES else None


class ListedJobResponse(JobResponse):
    """A job of a list. Names are null unless requested by `include`, and if the object was deleted."""

    document_name: str | None
    kb_name: str | None


class JobList(ResponseBody):
    """A page of jobs."""

    jobs: list[ListedJobResponse]
    total_count: int = Field(description=f"Counted up to {MOST_COUNTED:,}")
    total_count_is_at_least: bool = Field(description="True if there are more jobs than `total_count`")
    skip: int

    @classmethod
    def from_page(cls, page: JobPage, names: SubjectNames, *, skip: int, max_attempts: int) -> "JobList":
        """Build the response from a page of jobs and the names of their subjects."""
        jobs = [
            ListedJobResponse.from_job(
                job,
                max_attempts=max_attempts,
                document_name=names.documents.get(job.subject.document_id or ""),
                kb_name=names.knowledge_bases.get(job.subject.kb_id or ""),
            )
            for job in page.jobs
        ]
        return cls.from_model(page, jobs=jobs, skip=skip)


SubjectId = Annotated[Annotated[str, NO_NUL], Field(min_length=1, max_length=64)]
ErrorCode = Annotated[Annotated[str, NO_NUL], Field(min_length=1, max_length=100)]


class JobReplay(RequestBody):
    """Dead jobs to replay: those that match all given criteria, or `all` of the organization."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"kind": "sync", "error_code": "provider_refused"}]}
    )

    kind: JobKind | None = None
    kb_id: SubjectId | None = None
    document_id: SubjectId | None = None
    error_code: ErrorCode | None = None
    all: bool = False

    def query(self) -> JobQuery:
        """Return the selection of jobs.

        Raises:
            InvalidInputError: neither criteria nor `all` are given, or both.
        """
        is_narrowed = any((self.kind, self.kb_id, self.document_id, self.error_code))
        if not is_narrowed and not self.all:
            raise InvalidInputError.of_field(
                "all", 'Name criteria, or send {"all": true} for all jobs of the organization.'
            )
        if is_narrowed and self.all:
            raise InvalidInputError.of_field("all", "Cannot be combined with other fields. Send either.")
        return JobQuery(
            kinds=(self.kind,) if self.kind else (),
            kb_id=self.kb_id,
            document_id=self.document_id,
            error_code=self.error_code,
        )


class JobCancel(JobReplay):
    """Waiting or running jobs to cancel: those that match all given criteria, or `all` of the organization."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"kind": "sync", "state": "available"}, {"all": True}]}
    )

    state: Literal[JobState.AVAILABLE, JobState.RUNNING] | None = Field(
        None, description="Waiting (available) or running jobs only"
    )

    def query(self) -> JobQuery:
        """Return the selection of jobs.

        Raises:
            InvalidInputError: see `JobReplay.query`.
        """
        return replace(super().query(), states=() if self.state is None else (self.state,))


class CancelAnswer(ResponseBody):
    """The number of waiting jobs that are dead now, and of running jobs that stop within seconds."""

    cancelled: int
    stopping: int


class KindCountsResponse(ResponseBody):
    """The number of waiting, running and dead jobs of a kind."""

    kind: JobKind
    waiting: int
    running: int
    dead: int


class JobCounts(ResponseBody):
    """The organization's jobs by kind; kinds without jobs are omitted."""

    kinds: list[KindCountsResponse]
    waiting: int
    running: int
    dead: int

    @classmethod
    def from_counts(cls, counts: Sequence[KindCounts]) -> "JobCounts":
        """Build the response with the totals over all kinds."""
        return cls.from_model(
            kinds=counts,
            waiting=sum(item.waiting for item in counts),
            running=sum(item.running for item in counts),
            dead=sum(item.dead for item in counts),
        )


class JobErrorResponse(ResponseBody):
    """Dead jobs with the same error."""

    error_code: str = Field(validation_alias="code")
    detail: str = Field(description="The message of one of the jobs; others may name other files")
    count: int


class JobErrors(ResponseBody):
    """All matching dead jobs by error, most frequent first."""

    errors: list[JobErrorResponse]


class ReplayAnswer(ResponseBody):
    """The number of replayed jobs."""

    replayed: int


class DocumentLogResponse(ResponseBody):
    """Attempts of a document's jobs, latest first, and its unfinished jobs."""

    document_id: str
    attempts: list[AttemptResponse]
    total_count: int
    skip: int
    jobs: list[JobResponse]

    @classmethod
    def from_log(cls, document_id: str, found: DocumentLog, *, skip: int, max_attempts: int) -> "DocumentLogResponse":
        """Build the response from a page of a document's log."""
        return cls(
            document_id=document_id,
            attempts=[AttemptResponse.from_attempt(attempt) for attempt in found.attempts],
            total_count=found.total_count,
            skip=skip,
            jobs=[JobResponse.from_job(job, max_attempts=max_attempts) for job in found.jobs],
        )


class DocumentStatus(ResponseBody):
    """A document as one task: SUCCESS once all its knowledge bases find it."""

    document_id: str
    status: TaskState

    @classmethod
    def of(cls, document: Document, jobs: Sequence[Job], states: Sequence[KnowledgeBaseState]) -> "DocumentStatus":
        """Build the response from the document, its jobs, and its state in each of its knowledge bases."""
        return cls(document_id=document.id, status=_status(document, jobs, states))


def _status(document: Document, jobs: Sequence[Job], states: Sequence[KnowledgeBaseState]) -> TaskState:
    """Return the state of unfinished work, else of failures: a failure shows once nothing else is pending."""
    if document.state is not DocumentState.EXTRACTED:
        extraction = next((TASK_STATE_OF_JOB[job.state] for job in jobs if job.kind is JobKind.EXTRACT), None)
        if extraction is not None:
            return extraction
        return TaskState.FAILURE if document.state is DocumentState.FAILED else TaskState.PENDING
    found = {state.state for state in states}
    if IndexingState.INDEXING in found:
        return TaskState.RUNNING
    if found & {IndexingState.WAITING, IndexingState.WAITING_FOR_QUOTA, IndexingState.WAITING_FOR_PROVIDER}:
        return TaskState.PENDING
    return TaskState.FAILURE if IndexingState.FAILED in found else TaskState.SUCCESS
