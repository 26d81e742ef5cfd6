"""The outcome of a failed job, by the class of its error, in one table."""

import random
from dataclasses import dataclass

from analytiq import clock
from analytiq.errors import (
    AnalytiqError,
    ConflictError,
    LeaseLostError,
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
"""The wait that a provider asks for without saying how long; half of it at least."""
QUOTA_WAIT_SECONDS = 30.0
"""Until it is looked anew whether there are SPUs; half of it at least. A top-up wakes the job before."""
LONGEST_NAMED_WAIT_SECONDS = 300.0
"""A provider that asks for more is probed this often (`rate_limits`): it may recover before, or talk nonsense."""
LONGEST_OUTAGE_DELAY_SECONDS = 900.0
OUTAGE_SHARE = 1 / 3
"""Of the time for which a job has been waiting for its provider: for so long it waits once more."""
UNEXPECTED_ATTEMPTS = 5
"""An error that nobody foresaw may be a passing one; a bug fails the same way each time."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Run it again after `delay_seconds`; not `is_counted`: the attempt is not held against it."""

    delay_seconds: float
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class Bury:
    """Give up: the job becomes dead, visible and replayable."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """Write nothing: another worker has the job now."""


def plan(
    error: BaseException, *, attempt: int, max_attempts: int, waited_seconds: float = 0.0
) -> Retry | Bury | Abandon:
    """Decide what becomes of a job after its `attempt`-th attempt (from 1) raised `error`.

    `waited_seconds`: for how long it has been put off, by attempts that were not counted.
    """
    match error:
        case LeaseLostError():
            return Abandon()
        case RateLimitedError():
            # Not its fault: being told to wait uses up no attempts.
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
    """Decide what becomes of a job whose running attempt raised `error`."""
    waited = (clock.now() - job.waiting_since).total_seconds() if job.waiting_since else 0.0
    return plan(error, attempt=job.attempt, max_attempts=max_attempts, waited_seconds=waited)


def failure_of(error: BaseException) -> Failure:
    """Describe an error; an unexpected one by its class only, because its text may hold secrets."""
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
    """Grow with the outage: an hour of it delays the recovery by a quarter of an hour at most."""
    return min(LONGEST_OUTAGE_DELAY_SECONDS, max(0.0, waited_seconds) * OUTAGE_SHARE) * _jitter()


def _backoff(attempt: int) -> float:
    """Exponential with full jitter above a half: 0.5 to 1 s, 1 to 2 s, … up to LONGEST_DELAY_SECONDS."""
    ceiling = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** (attempt - 1))
    return ceiling * _jitter()


def _jitter() -> float:
    return 0.5 + random.random() / 2  # noqa: S311  # spreads rivals out, guards no secret
