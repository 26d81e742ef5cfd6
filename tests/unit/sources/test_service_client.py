"""Calls to services: repeated where that may help, told in words where it may not, credentials to their origin only."""

import gzip
from collections.abc import AsyncGenerator, Iterator

import pytest
from aiohttp import web

from analytiq.errors import AnalytiqError, NotFoundError, PermanentError, RateLimitedError, TransientError
from analytiq.ingestion.sources.base import ItemRefusedError
from analytiq.ingestion.sources.connections import service_client
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.connections.service_client import (
    CredentialsRefusedError,
    PositionExpiredError,
    ServiceClient,
)
from analytiq.settings import SourceSettings
from tests.fakes.server_loop import AppServer

SECRET = "Bearer a-token-of-somebody"


class Service:
    """A service that answers what a test scripts: statuses and headers in order, then JSON."""

    def __init__(self) -> None:
        self.script: list[tuple[int, dict[str, str]]] = []
        self.asked: list[tuple[str, str | None]] = []
        self.content = b'{"id": 1}'
        self.headers: dict[str, str] = {}
        self.refusal = b""
        """The text of answers other than successes."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self.server = AppServer(app)

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.path_qs, request.headers.get("authorization")))
        if self.script:
            status, headers = self.script.pop(0)
            return web.Response(status=status, headers=headers, body=self.refusal)
        return web.Response(body=self.content, headers=self.headers)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(service_client, "FIRST_WAIT_SECONDS", 0.001)
    made = Service()
    with made.server:
        yield made


@pytest.fixture
async def client(service: Service) -> AsyncGenerator[ServiceClient]:
    operator = SourceSettings(private_hosts=("127.0.0.1", "localhost"))
    made = ServiceClient(operator, f"{service.server.url}/api/", headers={"authorization": SECRET}, service="The wiki")
    yield made
    await made.close()


async def test_failures_that_may_pass_are_repeated(service: Service, client: ServiceClient) -> None:
    service.script = [(503, {}), (429, {"Retry-After": "0"}), (502, {})]
    assert await client.get("/pages", {"limit": 5}) == {"id": 1}
    assert service.asked == [("/api/pages?limit=5", SECRET)] * 4


@pytest.mark.parametrize(
    ("status", "headers", "error", "calls"),
    [
        (401, {}, CredentialsRefusedError, 1),
        (403, {}, CredentialsRefusedError, 1),
        (404, {}, NotFoundError, 1),
        (410, {}, PositionExpiredError, 1),
        (400, {}, PermanentError, 1),
        (429, {"Retry-After": "3600"}, RateLimitedError, 1),
        (500, {}, TransientError, 4),
    ],
    ids=str,
)
async def test_failures_are_told_in_words(
    status: int,
    headers: dict[str, str],
    error: type[AnalytiqError],
    calls: int,
    service: Service,
    client: ServiceClient,
) -> None:
    service.script = [(status, headers)] * 10
    with pytest.raises(error) as raised:
        await client.get("/pages")
    assert raised.value.detail.startswith("The wiki ")
    assert SECRET not in raised.value.detail
    assert len(service.asked) == calls
    if isinstance(raised.value, RateLimitedError):
        assert raised.value.retry_after == 3600


@pytest.mark.parametrize(
    ("headers", "text", "wait"),
    [
        ({"Retry-After": "120"}, b"", 120),
        (
            {
                "X-RateLimit-Remaining": "0",
                "X-RateLimit-Reset": "1000000090",
                "Date": "Sun, 09 Sep 2001 01:46:40 GMT",
            },
            b"",
            90,  # by the clock of the service, which is not ours
        ),
        ({}, b'{"message": "You have exceeded a secondary rate limit."}', service_client.UNTOLD_LIMIT_SECONDS),
    ],
    ids=["told", "exhausted", "in words"],
)
async def test_refusals_because_of_a_rate_limit_say_how_long(
    headers: dict[str, str], text: bytes, wait: float, service: Service, client: ServiceClient
) -> None:
    service.script, service.refusal = [(403, headers)], text
    with pytest.raises(RateLimitedError) as raised:
        await client.get("/pages")
    assert raised.value.retry_after == wait


async def test_known_answer_is_not_sent_again(service: Service, client: ServiceClient) -> None:
    service.headers = {"ETag": '"1"', "Link": f'<{service.server.url}/api/pages?page=2>; rel="next"'}
    first = await client.ask("/pages")
    assert (first.content, first.headers["etag"]) == ({"id": 1}, '"1"')
    assert (first.link("next"), first.link("last")) == (f"{service.server.url}/api/pages?page=2", None)
    service.script = [(304, {"ETag": '"1"'})]
    assert (await client.ask("/pages", etag='"1"')).is_unchanged
    service.script = [(304, {})]
    with pytest.raises(PermanentError):
        await client.get("/pages")


async def test_credentials_do_not_follow_a_redirect_to_another_origin(service: Service, client: ServiceClient) -> None:
    other = service.server.url.replace("127.0.0.1", "localhost")
    service.script = [(302, {"Location": f"{other}/file"})]
    content = b"".join([block async for block in client.download("/files/1", most_bytes=100)])
    assert content == b'{"id": 1}'
    assert service.asked == [("/api/files/1", SECRET), ("/file", None)]


async def test_redirects_end(service: Service, client: ServiceClient) -> None:
    service.script = [(302, {"Location": "/again"})] * 50
    with pytest.raises(PermanentError, match="redirects"):
        await client.get("/pages")
    assert len(service.asked) == service_client.MOST_REDIRECTS + 1


async def test_large_and_compressed_content_is_bounded(service: Service, client: ServiceClient) -> None:
    service.content = gzip.compress(bytes(50_000_000))
    service.headers = {"Content-Encoding": "gzip"}
    with pytest.raises(ItemRefusedError, match="1,000 bytes"):
        async for _ in client.download("/files/1", most_bytes=1000):
            pass
    with pytest.raises(PermanentError, match="more than"):
        await client.get("/pages")


async def test_other_than_json_is_told(service: Service, client: ServiceClient) -> None:
    service.content = b"<html>Sign in</html>"
    with pytest.raises(PermanentError, match="not answer with JSON"):
        await client.get("/pages")


async def test_private_addresses_are_refused() -> None:
    client = ServiceClient(SourceSettings(), "http://127.0.0.1:9", headers={})
    with pytest.raises(ForbiddenAddressError):
        await client.get("/pages")
    await client.close()
