"""HTTP authentication by user and password, basic or digest, as the server asks."""

from collections.abc import Generator

import httpx


class PasswordAuthentication(httpx.Auth):
    """Basic or digest authentication.

    The first request of a connection is sent without the password, to learn what the server asks for: one that asks
    for a digest is never sent the password itself.
    """

    def __init__(self, user: str, password: str) -> None:
        self._basic = httpx.BasicAuth(user, password)
        self._digest = httpx.DigestAuth(user, password)
        self._chosen: httpx.Auth | None = None

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """See httpx.Auth."""
        if self._chosen is None:
            response = yield request
            asked = [value.strip().lower() for value in response.headers.get_list("www-authenticate")]
            asks_digest = any(value.startswith("digest") or ", digest " in value for value in asked)
            self._chosen = self._digest if asks_digest else self._basic
        yield from self._chosen.auth_flow(request)
