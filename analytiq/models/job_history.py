"""Outcomes of attempts at jobs."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.document import Failure
from analytiq.models.job import JobKind, JobSubject
from analytiq.models.stored import Stored


class AttemptOutcome(StrEnum):
    """The end of an attempt at a job.

    `failed`: the job ran to its end and is not retried, but its document or prompt run failed for good.
    """

    DONE = "done"
    FAILED = "failed"
    RETRIED = "retried"
    DEAD = "dead"
    CANCELLED = "cancelled"


class JobAttempt(Stored):
    """A row of `job_history`, kept for HISTORY_DAYS: one attempt at a job."""

    job_id: str
    kind: JobKind
    organization_id: str
    subject: JobSubject
    outcome: AttemptOutcome
    attempt: int
    worker: str | None
    request_id: str | None
    error: Failure | None = None
    started_at: datetime
    ended_at: datetime


HISTORY_DAYS = 30
