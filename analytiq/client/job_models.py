"""Answers about jobs, runs of the reconciler, and logs of documents."""

from datetime import datetime

from analytiq.client.answers import Answer, Failure, JobProgress


class Job(Answer):
    """A job: waiting (available), running, or failed (dead).

    `task_state` says the same as PENDING, RUNNING and FAILURE; `error` is that of the last failed attempt.
    `waits_for` is `provider` or `quota` if one of these has deferred it, since `waiting_since`.
    """

    job_id: str
    kind: str
    state: str
    task_state: str
    priority: int
    attempt: int
    max_attempts: int
    kb_id: str | None
    document_id: str | None
    progress: JobProgress | None
    error: Failure | None
    is_cancel_wanted: bool
    waits_for: str | None = None
    waiting_since: datetime | None = None
    worker: str | None
    run_at: datetime
    created_at: datetime
    updated_at: datetime
    request_id: str | None
    generation_id: str | None = None


class JobAttempt(Answer):
    """An attempt that has ended: `outcome` is done, retried, dead or cancelled; `task_state` SUCCESS or FAILURE."""

    job_id: str
    kind: str
    task_state: str
    outcome: str
    attempt: int
    kb_id: str | None
    document_id: str | None
    error: Failure | None
    worker: str | None
    started_at: datetime
    ended_at: datetime
    generation_id: str | None = None
    request_id: str | None = None


class JobDetail(Job):
    """A job with the place of its last failure, and its latest attempts, latest first."""

    stack: str | None
    attempts: list[JobAttempt]


class JobReplay(Answer):
    """The number of replayed jobs."""

    replayed: int


class JobCancellation(Answer):
    """The number of cancelled jobs, and of running jobs that stop within seconds."""

    cancelled: int
    stopping: int


class KindCounts(Answer):
    """Counts of one kind of job: waiting, running, failed."""

    kind: str
    waiting: int
    running: int
    dead: int


class JobCounts(Answer):
    """The queue in numbers, of this organization; kinds without jobs are left out."""

    kinds: list[KindCounts]
    waiting: int
    running: int
    dead: int


class JobErrorGroup(Answer):
    """Failed jobs with the same error, and the message of one of them."""

    error_code: str
    detail: str
    count: int


class JobErrors(Answer):
    """All matching failed jobs, by error; most frequent first."""

    errors: list[JobErrorGroup]


class FoundDrift(Answer):
    """A finding of a consistency check, with the names at that time."""

    kind: str
    kb_id: str | None
    kb_name: str | None
    document_id: str | None
    document_name: str | None
    detail: str | None


class ReconcileRun(Answer):
    """A run of the reconciler: queued, running, done or failed; `counts`: findings by kind.

    `periodic`: by schedule, not on request.
    """

    run_id: str
    kb_id: str | None
    depth: str
    periodic: bool
    dry_run: bool
    state: str
    progress: JobProgress | None
    counts: dict[str, int]
    repairs: int
    is_cut: bool
    knowledge_bases: int
    checked: int
    error: Failure | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    rebuild_cache: bool = False
    expires_at: datetime | None = None

    @property
    def is_over(self) -> bool:
        """Return whether the run has ended."""
        return self.state in ("done", "failed")


class ReconcileReport(ReconcileRun):
    """A run with its findings: examples of each kind by name; `more` counts the others."""

    drift: list[FoundDrift]
    more: dict[str, int]


class DocumentStatus(Answer):
    """Summarize a document's work in one word: PENDING, RUNNING, SUCCESS or FAILURE."""

    document_id: str
    status: str


class DocumentLog(Answer):
    """A page of the attempts of a document's jobs, latest first, and its unfinished jobs."""

    document_id: str
    attempts: list[JobAttempt]
    total_count: int
    skip: int
    jobs: list[Job]


class ListedJob(Job):
    """A job of a list; names only if the call includes them."""

    document_name: str | None
    kb_name: str | None


class WorkerJob(Answer):
    """A job that a worker runs."""

    job_id: str
    kind: str


class Worker(Answer):
    """A running worker process; `jobs` are those of the organization, `job_count` of all."""

    name: str
    host: str
    started_at: datetime
    seen_at: datetime
    slots: int
    jobs: list[WorkerJob]
    job_count: int
    problems: list[str]


class Workers(Answer):
    """The running worker processes."""

    workers: list[Worker]
