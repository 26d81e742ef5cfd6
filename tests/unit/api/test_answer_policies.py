"""Answers that get the API's policy: decided in the middleware, so it is asked without a server."""

from collections.abc import AsyncGenerator

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from api.event_stream import EventStream
from api.requests import POLICY, RequestContext

HEADER = POLICY[0].decode()


async def _events() -> AsyncGenerator[bytes]:
    yield b"data: x\n\n"


async def stream(_: Request) -> Response:
    return EventStream(_events())


async def page(_: Request) -> Response:
    return HTMLResponse("x", headers={HEADER: "default-src 'self'"})


async def script(_: Request) -> Response:
    return Response("x", media_type="text/javascript")


def client() -> httpx.AsyncClient:
    app = Starlette(routes=[Route("/stream", stream), Route("/page", page), Route("/script", script)])
    app.add_middleware(RequestContext)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


async def test_streams_have_the_policy_and_the_other_headers() -> None:
    async with client() as asked:
        answer = await asked.get("/stream")
    assert answer.headers.get_list(HEADER) == [POLICY[1].decode()]
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_page_keeps_its_own_policy_and_a_workers_script_has_none() -> None:
    async with client() as asked:
        assert (await asked.get("/page")).headers.get_list(HEADER) == ["default-src 'self'"]
        assert HEADER not in (await asked.get("/script")).headers
