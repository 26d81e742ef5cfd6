"""From which pages a browser's calls are taken."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from analytiq.composition import Services
from analytiq.errors import AccessDeniedError
from analytiq.settings import ApiSettings, Settings
from api.access import check_origin


def request_from(origin: str | None, *, scheme: str = "http", host: str = "docs.example.com") -> Request:
    headers = [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin is not None else [])]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    return Request({**scope, "scheme": scheme, "server": (host, 80)})


def services(public_url: str | None = None) -> Services:
    return cast("Services", SimpleNamespace(settings=Settings(api=ApiSettings(public_url=public_url))))


@pytest.mark.parametrize(
    ("origin", "public_url"),
    [
        (None, None),
        ("http://docs.example.com", None),
        ("http://DOCS.example.com", None),
        ("http://docs.example.com", "https://other.example.com/ui"),
        ("https://other.example.com", "https://other.example.com/ui"),
    ],
)
def test_own_page_and_clients_that_are_no_browsers_are_taken(origin: str | None, public_url: str | None) -> None:
    check_origin(request_from(origin), services(public_url))


@pytest.mark.parametrize(
    "origin",
    [
        "null", "file://", "about:blank", "http://", "https://", "", "https://docs.example.com", "ftp://docs.example.com",
        "http://docs.example.com:81", "http://evil.example.com", "http://docs.example.com.evil.com", "docs.example.com",
        "http://\u00e4.example.com",
    ],
)  # fmt: skip
@pytest.mark.parametrize("public_url", [None, "http://other.example.com"])
def test_page_of_another_origin_is_refused(origin: str, public_url: str | None) -> None:
    with pytest.raises(AccessDeniedError):
        check_origin(request_from(origin), services(public_url))
