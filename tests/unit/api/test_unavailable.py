"""Errors for callers while a dependency does not answer."""

import pytest
from starlette.requests import Request

from analytiq.errors import RateLimitedError, StoreLoadingError, TransientError
from api.problems import of_library


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (TransientError("MongoDB does not answer.", code="database_unreachable"), 503, "2"),
        (TransientError("A transaction was not finished.", code="transaction_deadline"), 503, "2"),
        (StoreLoadingError("It is being loaded."), 503, "2"),
        (TransientError("Busy.", retry_after=7.2), 503, "8"),
        (RateLimitedError("Slow down.", retry_after=30), 429, "30"),
        (RateLimitedError("Slow down."), 429, None),
    ],
)
def test_every_503_says_when_to_come_again(error: TransientError, status: int, retry_after: str | None) -> None:
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": []})
    response = of_library(request, error)
    assert response.status_code == status
    assert response.headers.get("Retry-After") == retry_after
