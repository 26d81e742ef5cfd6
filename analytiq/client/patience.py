"""The waits of one call: how long, and until when."""

import random
import time

from analytiq.client.errors import ProblemError, UnreachableError

MAX_WAITS = 20
"""Most retries of a call whose answer has Retry-After; twice the loading of a large KB."""

MAX_RETRY_AFTER_SECONDS = 60.0
"""A longer wait is the caller's to decide: the error has `retry_after`."""

OUTAGE_SECONDS = 90.0
"""Time of retries while the API or its database is unavailable: a failover takes 10 to 60 s."""

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0

KEY_IN_USE = "idempotency_key_in_use"
COMMIT_UNKNOWN = "commit_outcome_unknown"


class Patience:
    """The waits of one call: those that the API asks for, and those during a temporary outage."""

    def __init__(self, *, has_key: bool, may_wait_long: bool, is_safe: bool = True) -> None:
        """Begin a call.

        Args:
            has_key: an Idempotency-Key keeps a retry from repeating the change.
            may_wait_long: honour the API's Retry-After for any reason.
            is_safe: repeating the call after a lost answer makes no change twice.
        """
        self._has_key = has_key
        self._is_safe = is_safe
        self._may_wait_long = may_wait_long
        self._deadline = time.monotonic() + OUTAGE_SECONDS
        self._waits = 0

    @property
    def is_repeated(self) -> bool:
        """Return whether this is a retry."""
        return self._waits > 0

    def pause_after(self, error: ProblemError | UnreachableError) -> float:
        """Return the seconds after which a retry makes sense.

        Raises:
            ProblemError: a retry is useless, or was repeated long enough.
            UnreachableError: likewise.
        """
        if isinstance(error, ProblemError):
            pause = self._pause_of_problem(error)
        else:
            is_worth_it = self._is_safe and error.knows_api and time.monotonic() < self._deadline
            pause = self._backoff() if is_worth_it else None
        if pause is None:
            raise error
        self._waits += 1
        return pause

    def next_pause(self) -> float | None:
        """Return the seconds before a repetition; None when it was repeated long enough."""
        if time.monotonic() >= self._deadline:
            return None
        pause = self._backoff()
        self._waits += 1
        return pause

    def _pause_of_problem(self, problem: ProblemError) -> float | None:
        is_in_time = time.monotonic() < self._deadline
        if problem.code == KEY_IN_USE and self._has_key and self.is_repeated:
            return self._backoff() if is_in_time else None
        if problem.status not in (429, 503) or (problem.status == 503 and not self._is_safe):
            return None
        if problem.code == COMMIT_UNKNOWN and self._has_key:
            return None
        if problem.retry_after is None:
            return self._backoff() if problem.status == 503 and is_in_time else None
        if problem.retry_after > MAX_RETRY_AFTER_SECONDS:
            return None
        is_allowed = self._waits < MAX_WAITS if self._may_wait_long else False
        if not is_allowed and not is_in_time:
            return None
        # With jitter, so that callers refused together do not return together.
        return problem.retry_after * _jitter()

    def _backoff(self) -> float:
        return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(self._waits, 8)) * _jitter()


def _jitter() -> float:
    return random.uniform(1.0, 1.5)  # noqa: S311  # spreads callers out, guards no secret
