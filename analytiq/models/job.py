"""Jobs: one row for each unit of requested work."""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Self

from analytiq.models.document import Failure
from analytiq.models.stored import Stored


class JobKind(StrEnum):
    """The kind of work. A job contains names, never a decision: its worker reads the present state."""

    EXTRACT = "extract"
    MEMBERSHIP_DOCUMENT = "membership_document"
    MEMBERSHIP_KB = "membership_kb"
    SYNC = "sync"
    SWEEP = "sweep"
    CLEAN_DOCUMENT = "clean_document"
    DROP_KB = "drop_kb"
    ERASE = "erase"
    RECONCILE = "reconcile"
    RUN_PROMPT = "run_prompt"
    MEMBERSHIP_PROMPT = "membership_prompt"
    CLEAN_PROMPT = "clean_prompt"
    RUN_SOURCE = "run_source"
    CLEAN_SOURCE = "clean_source"


class JobState(StrEnum):
    """The state of a job; its row is deleted when its work is done."""

    AVAILABLE = "available"
    RUNNING = "running"
    DEAD = "dead"


WAITING_FOR_PROVIDER_CODES = ("provider_unavailable", "malformed_answer", "provider_unknown", "rate_limited")
"""Error codes with which a job waits for its provider: an outage, or a wait that the provider requests."""
ACCOUNT_CODES = (
    "provider_refused",
    "provider_key_missing",
    "provider_address_forbidden",
    "secret_key_changed",
    "temporarily_unavailable",
)
"""Error codes that end a sync for lack of a good key or address; it succeeds with another one."""


class Priority:
    """The priority of a job; smaller is sooner."""

    INTERACTIVE = 0
    BULK = 10
    CLEANING = 20


HEAVY = ":heavy"
"""Suffix of the partition of heavy jobs."""

SLOW = ":slow"
"""Before that suffix: jobs that wait for somebody who did not answer before."""


def is_slow(lane: str) -> bool:
    """Return True if a partition's jobs may wait long for an answer; a worker runs one of them at a time."""
    return lane.endswith(f"{SLOW}{HEAVY}")


def extracts(lane: str) -> bool:
    """Return True if a partition's jobs extract documents, each in a parser's process."""
    return lane.removesuffix(HEAVY).endswith(f":{JobKind.EXTRACT.value}")


class JobSubject(Stored):
    """The names in a job's payload, as rows and lists have them; the kind decides which fields are set."""

    document_id: str | None = None
    kb_id: str | None = None
    generation_id: str | None = None
    erasure_id: str | None = None
    prompt_id: str | None = None
    run_id: str | None = None
    source_id: str | None = None


class Progress(Stored):
    """The progress of a running job: `done` of `total` `unit`s (pages, chunks, items)."""

    done: int
    total: int
    unit: str


class JobPayload(Stored):
    """The names that the jobs of one kind carry; see `analytiq.models.job_payloads`.

    They are stored as the row's subject, whose fields they are a part of.
    """

    kind: ClassVar[JobKind]

    @classmethod
    def from_job(cls, job: "Job") -> Self:
        """Validate the payload of a job.

        Raises:
            ValidationError: the row lacks a name.
        """
        return cls.model_validate(job.subject.model_dump())

    @property
    def subject(self) -> JobSubject:
        """Return the names as they are stored."""
        return JobSubject(**self.model_dump())


class JobRequest(Stored):
    """Work to enqueue."""

    payload: JobPayload
    organization_id: str
    priority: int = Priority.INTERACTIVE
    delay_seconds: float = 0.0
    is_heavy: bool = False
    """True for a job many times as long as others of its kind, so that those need not queue behind it."""
    is_slow: bool = False
    """True for a heavy job that waits for somebody who did not answer before."""
    request_id: str | None = None
    """The API request that caused it, where several are enqueued together."""

    @property
    def kind(self) -> JobKind:
        """Return the kind of the job."""
        return self.payload.kind

    @property
    def subject(self) -> JobSubject:
        """Return the names of the payload as they are stored."""
        return self.payload.subject

    @property
    def deduplication_key(self) -> str:
        """Return the key of the job's only row, however often the work is requested."""
        subject = self.subject
        names = (
            subject.kb_id, subject.document_id, subject.generation_id, subject.erasure_id, subject.prompt_id,
            subject.source_id, subject.run_id,
        )  # fmt: skip
        return ":".join([self.kind.value, *(name for name in names if name is not None)])

    @property
    def lane(self) -> str:
        """Return the partition, of an organization, a knowledge base or source, and a kind of job."""
        lane = f"{self.organization_id}:{self.subject.kb_id or self.subject.source_id or '-'}:{self.kind.value}"
        if self.is_heavy:
            return f"{lane}{SLOW}{HEAVY}" if self.is_slow else f"{lane}{HEAVY}"
        return lane


class Job(Stored):
    """A row of `jobs`; its id is the deduplication key.

    `wanted` counts the requests of the work, and `served` is `wanted` as of the running attempt's claim: a job
    requested while it runs is run again afterwards. `deaths` counts the workers whose lease expired over it.
    """

    id: str
    kind: JobKind
    organization_id: str
    lane: str
    subject: JobSubject
    state: JobState
    priority: int
    run_at: datetime
    wanted: int
    served: int | None = None
    attempt: int = 0
    deaths: int = 0
    lease_token: str | None = None
    lease_expires_at: datetime | None = None
    worker: str | None = None
    progress: Progress | None = None
    error: Failure | None = None
    request_id: str | None = None
    trace_parent: str | None = None
    """The span that requested it last, if tracing is on (W3C `traceparent`)."""
    is_cancel_wanted: bool = False
    is_alone: bool = False
    """True once a batch has left it to be run by itself."""
    waiting_since: datetime | None = None
    """The time since which attempts have been deferred uncounted: by a provider, a limit or a quota."""
    created_at: datetime
    updated_at: datetime
