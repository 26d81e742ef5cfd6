"""Requests of an organization to one process."""

import pytest

from analytiq.errors import RateLimitedError
from analytiq.tenancy.rate_limits import requests
from analytiq.tenancy.rate_limits.requests import RequestRates


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def taken(rates: RequestRates, organization_id: str, most: int) -> int:
    """Return the number of so many requests that are let through."""
    for count in range(most):
        try:
            rates.take(organization_id)
        except RateLimitedError:
            return count
    return most


def test_no_minute_has_more_requests_than_the_limit_and_others_are_not_concerned() -> None:
    clock = Clock()
    rates = RequestRates(per_minute=100, now=clock)
    assert taken(rates, "a", 1000) == 10
    assert taken(rates, "b", 5) == 5
    total = 10
    for _ in range(600):
        clock.seconds += 0.1
        total += taken(rates, "a", 1000)
    assert 95 <= total <= 101


def test_refusal_says_how_long_to_wait() -> None:
    rates = RequestRates(per_minute=1, now=Clock())
    rates.take("a")
    with pytest.raises(RateLimitedError, match="REQUESTS_PER_MINUTE") as error:
        rates.take("a")
    assert error.value.retry_after == 60
    assert error.value.code == "too_many_requests"


def test_zero_is_no_limit() -> None:
    assert taken(RequestRates(per_minute=0), "a", 10_000) == 10_000


def test_organizations_that_are_quiet_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_REMEMBERED", 3)
    rates = RequestRates(per_minute=1, now=Clock())
    for organization_id in ("a", "b", "c", "d"):
        rates.take(organization_id)
    with pytest.raises(RateLimitedError):
        rates.take("d")
    rates.take("a")
