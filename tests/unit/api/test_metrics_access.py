"""Metrics are for operators: by a token, or on the machine itself."""

from typing import Any

import pytest
from pydantic import SecretStr
from starlette.requests import Request

from analytiq.errors import AccessDeniedError
from analytiq.telemetry import metrics
from api.routes.operations import require_operator

TOKEN = SecretStr("scrape-me")


def call(host: str, **headers: str) -> Request:
    listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/metrics", "headers": listed}
    return Request({**scope, "client": (host, 1234)})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_sees_metrics_without_a_token(host: str) -> None:
    require_operator(call(host), None)


@pytest.mark.parametrize(
    "request_",
    [call("10.0.0.7"), call("testclient"), call("127.0.0.1", x_forwarded_for="8.8.8.8"), call("::ffff:1.2.3.4")],
)
def test_other_machines_and_what_a_proxy_passes_on_see_nothing_without_a_token(request_: Request) -> None:
    with pytest.raises(AccessDeniedError, match="METRICS_TOKEN"):
        require_operator(request_, None)


def test_token_opens_metrics_from_anywhere() -> None:
    require_operator(call("10.0.0.7", authorization="Bearer scrape-me"), TOKEN)


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer \u00e4"}])
def test_wrong_token_is_refused_on_this_machine_too(headers: dict[str, str]) -> None:
    with pytest.raises(AccessDeniedError) as error:
        require_operator(call("127.0.0.1", **headers), TOKEN)
    assert error.value.code == "unauthenticated"


def test_metrics_name_tenants_only_where_it_is_asked_for() -> None:
    assert metrics.label_of("f" * 24) == ""
    metrics.name_tenants(True)
    try:
        assert metrics.label_of("f" * 24) == "f" * 24
    finally:
        metrics.name_tenants(False)
