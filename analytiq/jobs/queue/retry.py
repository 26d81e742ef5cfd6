"""The outcome of a failed job, by the class of its error, in one table."""

import random
from dataclasses import dataclass

from analytiq import clock
from analytiq.errors import (
    AnalytiqError,
    ConflictError,
    LeaseLostError,
    PostponedError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitedError,
    TransientError,
)
from analytiq.jobs.queue.stack import stack_of
from analytiq.models.document import Failure
from analytiq.models.job import Job

FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 300.0
UNNAMED_WAIT_SECONDS = 10.0
"""The wait after a refusal without a given time; at least half of it."""
QUOTA_WAIT_SECONDS = 30.0
"""Time until the quota is checked again; at least half of it. A top-up wakes the job before."""
LONGEST_NAMED_WAIT_SECONDS = 300.0
"""Longest wait accepted from a provider, which is then probed this often: it may recover early, or be wrong."""
LONGEST_OUTAGE_DELAY_SECONDS = 900.0
OUTAGE_SHARE = 1 / 3
"""The next wait of a job, as a share of the time for which it has been waiting for its provider."""
UNEXPECTED_ATTEMPTS = 5
"""Attempts after an unexpected error, which may be temporary; a bug fails the same way each time."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Run the job again after `delay_seconds`; without `is_counted` the attempt does not count."""

    delay_seconds: float
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class Bury:
    """Give up: the job becomes failed, visible and replayable."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """Write nothing: another worker has taken the job over."""


def plan(
    error: BaseException, *, attempt: int, max_attempts: int, waited_seconds: float = 0.0
) -> Retry | Bury | Abandon:
    """Decide the outcome of a job whose `attempt`-th attempt (from 1) raised `error`.

    `waited_seconds`: the time spent in uncounted attempts.
    """
    match error:
        case LeaseLostError():
            return Abandon()
        case PostponedError(retry_after=float() | int() as wait):
            return Retry(wait, is_counted=False)
        case RateLimitedError():
            # Not its fault: a requested wait uses up no attempts.
            unnamed = max(UNNAMED_WAIT_SECONDS * _jitter(), _outage_delay(waited_seconds))
            wait = unnamed if error.retry_after is None else _believed(error.retry_after)
            return Retry(max(wait, _backoff(attempt)), is_counted=False)
        case ProviderUnavailableError():
            # Nor is an outage, however long: the document has done nothing wrong.
            wait = max(_believed(error.retry_after or 0.0), _outage_delay(waited_seconds))
            return Retry(max(wait, _backoff(attempt)), is_counted=False)
        case QuotaExceededError():
            return Retry(QUOTA_WAIT_SECONDS * _jitter(), is_counted=False)
        case TransientError():
            if attempt >= max_attempts:
                return Bury()
            return Retry(max(_believed(error.retry_after or 0.0), _backoff(attempt)))
        case ConflictError():
            return Bury() if attempt >= max_attempts else Retry(_backoff(attempt))
        case AnalytiqError():
            return Bury()
        case _:
            return Bury() if attempt >= min(UNEXPECTED_ATTEMPTS, max_attempts) else Retry(_backoff(attempt))


def plan_of(job: Job, error: BaseException, *, max_attempts: int) -> Retry | Bury | Abandon:
    """Decide the outcome of a job whose running attempt raised `error`."""
    waited = (clock.now() - job.waiting_since).total_seconds() if job.waiting_since else 0.0
    return plan(error, attempt=job.attempt, max_attempts=max_attempts, waited_seconds=waited)


def failure_of(error: BaseException) -> Failure:
    """Describe an error; an unexpected one by its class only, because its text may contain secrets."""
    stack = stack_of(error)
    if isinstance(error, AnalytiqError):
        return Failure(code=error.code, detail=error.detail, at=clock.now(), stack=stack)
    return Failure(
        code="internal_error",
        detail=f"an unexpected {type(error).__name__}; its job has the stack, and the worker's log the whole of it",
        at=clock.now(),
        stack=stack,
    )


def _believed(retry_after: float) -> float:
    return min(retry_after, LONGEST_NAMED_WAIT_SECONDS)


def _outage_delay(waited_seconds: float) -> float:
    """Return a delay that grows with the outage: after an hour, at most a quarter of an hour."""
    return min(LONGEST_OUTAGE_DELAY_SECONDS, max(0.0, waited_seconds) * OUTAGE_SHARE) * _jitter()


def _backoff(attempt: int) -> float:
    """Return an exponential delay with jitter: 0.5 to 1 s, 1 to 2 s, … up to LONGEST_DELAY_SECONDS."""
    ceiling = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** (attempt - 1))
    return ceiling * _jitter()


def _jitter() -> float:
    return 0.5 + random.random() / 2  # noqa: S311  # spreads rivals out, guards no secret
