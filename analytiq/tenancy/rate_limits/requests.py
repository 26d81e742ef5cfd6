"""Rate limit of an organization's requests to one API process."""

import math
from collections.abc import Callable
from time import monotonic

from analytiq.errors import RateLimitedError
from analytiq.models.rate_limit import Charge
from analytiq.tenancy.rate_limits.gcra import LimitState, bucket_of, take

MOST_REMEMBERED = 10_000
"""Organizations remembered; beyond it the longest idle are forgotten, whose buckets are full again."""
_REQUEST = "request"


class RequestRates:
    """Buckets in memory: a database row per request would cost more than most requests do."""

    def __init__(self, *, per_minute: int, now: Callable[[], float] = monotonic) -> None:
        """Set the limit.

        Args:
            per_minute: requests of one organization in any 60 seconds; 0 for no limit.
            now: seconds of a steady clock.
        """
        self._per_minute = per_minute
        self._bucket = bucket_of(per_minute) if per_minute else None
        self._now = now
        self._states: dict[str, LimitState] = {}

    def take(self, organization_id: str) -> None:
        """Count a request.

        Raises:
            RateLimitedError: the organization has sent too many.
        """
        if self._bucket is None:
            return
        state = self._states.pop(organization_id, LimitState())
        outcome, state = take(state, self._now() * 1000, [Charge(_REQUEST, self._bucket, 1)], patience_ms=0)
        self._states[organization_id] = state
        if len(self._states) > MOST_REMEMBERED:
            del self._states[next(iter(self._states))]
        if not outcome.is_granted:
            seconds = max(1, math.ceil(outcome.wait_ms / 1000))
            raise RateLimitedError(
                f"The organization sends more than {self._per_minute:,} requests per minute to this API"
                f" process. Try again in {seconds} s. An operator changes the limit with"
                " ANALYTIQ_QUOTAS__REQUESTS_PER_MINUTE.",
                retry_after=seconds,
                code="too_many_requests",
            )
