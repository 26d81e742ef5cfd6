"""A receiver of webhooks: verifies each request by the public library, and answers as a test wants."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

from tests.fakes.server_loop import AppServer

Answer = Callable[["Received"], int]


@dataclass(frozen=True, slots=True)
class Received:
    """A verified request."""

    event_id: str
    type: str
    data: dict[str, Any]
    signatures: int
    timestamp: str


class WebhookReceiver:
    """An HTTP server; set `secrets` before it is called. Attributes may change while it runs."""

    def __init__(self) -> None:
        app = web.Application()
        app.router.add_post("/hooks", self._take)
        app.router.add_get("/hooks", self._wrong)
        self._server = AppServer(app)
        self.secrets: list[str] = []
        self.received: list[Received] = []
        self.refused = 0
        """Requests whose signature no secret makes."""
        self.answer: Answer = lambda _: 204
        self.headers: dict[str, str] = {}
        self.body = b""
        self.hangs = False
        self.hanging = 0

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """The address of the receiver."""
        return f"{self._server.url}/hooks"

    def types(self) -> list[str]:
        """The types of the received events, in the order of their arrival."""
        return [each.type for each in self.received]

    def of(self, event_type: str) -> list[Received]:
        """The received events of a type."""
        return [each for each in self.received if each.type == event_type]

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        verified = self._verified(body, dict(request.headers))
        if verified is None:
            self.refused += 1
            return web.Response(status=401)
        received = Received(
            event_id=request.headers["webhook-id"],
            type=verified["type"],
            data=verified["data"],
            signatures=len(request.headers["webhook-signature"].split(" ")),
            timestamp=request.headers["webhook-timestamp"],
        )
        self.received.append(received)
        if self.hangs:
            self.hanging += 1
            await asyncio.Event().wait()
        return web.Response(status=self.answer(received), headers=self.headers, body=self.body)

    async def _wrong(self, _: web.Request) -> web.Response:
        return web.Response(status=405)

    def _verified(self, body: bytes, headers: dict[str, str]) -> dict[str, Any] | None:
        lowered = {name.lower(): value for name, value in headers.items()}
        for secret in self.secrets:
            try:
                return dict(Webhook(secret).verify(body, lowered))
            except WebhookVerificationError:
                continue
        return None
