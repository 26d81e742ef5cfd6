"""Jobs: one row for each unit of work that is wanted (design 2.7)."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.document import Failure
from analytiq.models.stored import Stored


class JobKind(StrEnum):
    """What is to be done; a job carries names, never a verdict: the worker reads the truth when it runs."""

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


class JobState(StrEnum):
    """A row is deleted when its work is done."""

    AVAILABLE = "available"
    RUNNING = "running"
    DEAD = "dead"


WAITING_FOR_PROVIDER_CODES = ("provider_unavailable", "malformed_answer", "provider_unknown", "rate_limited")
"""Codes of errors for which a job waits that its provider has to end: an outage, or a wait that it asks for."""
ACCOUNT_CODES = (
    "provider_refused",
    "provider_key_missing",
    "provider_address_forbidden",
    "secret_key_changed",
    "temporarily_unavailable",
)
"""Codes of errors that end a sync for want of a good key or address: with another one it works."""


class Priority:
    """Smaller is sooner."""

    INTERACTIVE = 0
    BULK = 10
    CLEANING = 20


HEAVY = ":heavy"
"""How the lane of heavy jobs ends."""


class JobSubject(Stored):
    """What the job is about; which fields are set depends on the kind."""

    document_id: str | None = None
    kb_id: str | None = None
    generation_id: str | None = None
    erasure_id: str | None = None
    prompt_id: str | None = None
    run_id: str | None = None


class Progress(Stored):
    """How far a running job is: `done` of `total` `unit`s (pages, chunks)."""

    done: int
    total: int
    unit: str


class JobRequest(Stored):
    """Work to enqueue."""

    kind: JobKind
    organization_id: str
    subject: JobSubject
    priority: int = Priority.INTERACTIVE
    delay_seconds: float = 0.0
    is_heavy: bool = False
    """It takes many times as long as others of its kind: they do not queue behind it, and it leaves them a slot."""

    @property
    def deduplication_key(self) -> str:
        """One row exists for each key, however often the work is asked for."""
        subject = self.subject
        names = (
            subject.kb_id, subject.document_id, subject.generation_id, subject.erasure_id, subject.prompt_id,
            subject.run_id,
        )  # fmt: skip
        return ":".join([self.kind.value, *(name for name in names if name is not None)])

    @property
    def lane(self) -> str:
        """Jobs of one organization, knowledge base and kind queue behind one another, not before others'."""
        lane = f"{self.organization_id}:{self.subject.kb_id or '-'}:{self.kind.value}"
        return f"{lane}{HEAVY}" if self.is_heavy else lane


class Job(Stored):
    """A row of `jobs`; its id is the deduplication key.

    `wanted` counts how often the work was asked for, `served` is what `wanted` was when the running attempt
    claimed it: a job asked for again while it runs is run again afterwards. `deaths` counts the workers whose
    lease ran out over it.
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
    """The span that asked for it last, where tracing is on (W3C `traceparent`)."""
    is_cancel_wanted: bool = False
    waiting_since: datetime | None = None
    """Since when attempts have been put off without being counted: by a provider, a limit or a quota."""
    created_at: datetime
    updated_at: datetime
