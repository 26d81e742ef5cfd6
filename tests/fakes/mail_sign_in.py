"""A service's sign-in for mailboxes, which tells a mail server whose a token is (RFC 7662). Only a test tool."""

from typing import Self

from aiohttp import web

from tests.fakes.consents import Consents
from tests.fakes.server_loop import AppServer

GOOGLE = frozenset(("https://mail.google.com/",))


class MailSignIn:
    """The sign-in of Google; `user` is whose mailbox the tokens open."""

    def __init__(self, user: str) -> None:
        app = web.Application()
        app.router.add_get("/o/oauth2/v2/auth", self._authorize)
        app.router.add_post("/token", self._token)
        app.router.add_post("/introspect", self._introspect)
        self._server = AppServer(app)
        needs = {"access_type": "offline", "prompt": "consent"}
        self.consents = Consents(("client", "secret"), GOOGLE, self.issue, needs=needs)
        self.user = user
        self.token = "token-0"
        self._issued = 0

    @property
    def url(self) -> str:
        return self._server.url

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def issue(self) -> str:
        """Make another token; the one before is not valid any more."""
        self._issued += 1
        self.token = f"token-{self._issued}"
        return self.token

    async def _authorize(self, request: web.Request) -> web.Response:
        return await self.consents.authorize(request)

    async def _token(self, request: web.Request) -> web.Response:
        return self.consents.exchange(dict(await request.post()))

    async def _introspect(self, request: web.Request) -> web.Response:
        is_active = (await request.post()).get("token") == self.token
        return web.json_response({"active": is_active, "username": self.user} if is_active else {"active": False})
