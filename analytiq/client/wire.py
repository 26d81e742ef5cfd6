"""The parts that both transports share: the address, the headers, and the errors of a request."""

import ipaddress
from typing import Any

import httpx

from analytiq.client.errors import UnreachableError
from analytiq.client.paths import segment
from analytiq.client.steps import QueryValue, Reply, Request
from analytiq.errors import InvalidInputError


class Wire:
    """The address of an API, and the requests to it."""

    def __init__(self, url: str, organization_id: str, token: str) -> None:
        """Check the arguments.

        Raises:
            InvalidInputError: the address or the token cannot be one.
        """
        if not token.isascii() or not token.isprintable():
            raise InvalidInputError("The access token has characters that no token has: copy it once more.")
        self.url = url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.has_answered = False
        self._organization = f"/v0/orgs/{segment(organization_id)}" if organization_id else None
        # A proxy of the environment does not reach this machine's loopback.
        self.trusts_environment = not _is_loopback(self.url)

    def build(self, http: "httpx.Client | httpx.AsyncClient", request: Request) -> httpx.Request:
        """Return the request to send.

        Raises:
            InvalidInputError: a value is not text, or the client has no organization.
        """
        if not request.is_outside and self._organization is None:
            raise InvalidInputError("This call needs an organization: give its id to the client.")
        path = request.path if request.is_outside else f"{self._organization}{request.path}"
        query = {name: _text(value) for name, value in request.query.items() if value is not None}
        try:
            return http.build_request(
                request.method,
                self.url + path,
                params=query,
                headers={**self.headers, **request.headers},
                **_body(request),
            )
        except UnicodeEncodeError as error:
            raise _not_text(error) from error

    def reply(self, response: httpx.Response, content: bytes) -> Reply:
        """Return an answer whose body was read, or is streamed."""
        if response.is_success:
            self.has_answered = True
        return Reply(response.status_code, response.headers, content, str(response.url))

    def unreachable(self, error: httpx.TransportError) -> UnreachableError:
        """Return the error of a connection that failed."""
        told = UnreachableError.of(error, self.url)
        told.knows_api = self.has_answered
        return told


def _body(request: Request) -> dict[str, Any]:
    if request.files:
        return {"data": dict(request.form or {}), "files": list(request.files)}
    if request.content is not None:
        return {"content": request.content}
    return {} if request.json is None else {"json": request.json}


def _text(value: QueryValue) -> str | int | float | list[str]:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str | int | float) else list(value)


def _not_text(error: UnicodeEncodeError) -> InvalidInputError:
    """Return the error for a name or argument whose bytes are not text, which appear as lone surrogates."""
    around = error.object[max(error.start - 20, 0) : error.end + 20]
    return InvalidInputError(f"Only text in UTF-8 can be sent, which this is not: {around!a}.")


def _is_loopback(url: str) -> bool:
    try:
        host = httpx.URL(url).host
    except httpx.InvalidURL as error:
        raise InvalidInputError(
            f"{url!r} is not the address of an API ({error}). Use one such as http://127.0.0.1:8000."
        ) from error
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
