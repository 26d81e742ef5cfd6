"""One call over HTTP: errors turned into ours, and repeated where the API asks for that."""

import ipaddress
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import httpx

from analytiq.client.errors import ProblemError, UnreachableError, require_own_answer
from analytiq.client.paths import segment
from analytiq.errors import InvalidInputError

MAX_WAITS = 20
"""How often one call is repeated because the API said when to call again; twice the loading of a large KB."""

MAX_RETRY_AFTER_SECONDS = 30.0

QueryValue = str | int | Sequence[str]
FilePart = tuple[str, tuple[str, IO[bytes], str]]


class Transport:
    """Calls to one organization's part of the API; may be used from several threads at once."""

    def __init__(self, url: str, organization_id: str, token: str, *, timeout_seconds: float) -> None:
        if not token.isascii() or not token.isprintable():
            raise InvalidInputError("The access token has characters that no token has: copy it once more.")
        self.url = url.rstrip("/")
        self._prefix = f"{self.url}/v0/orgs/{segment(organization_id)}"
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_seconds,
            # A proxy of the environment does not reach this machine's loopback.
            trust_env=not _is_loopback(self.url),
        )

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue | None] | None = None,
        json: Mapping[str, Any] | None = None,
        is_repeatable: bool = False,
    ) -> bytes:
        """The body of the answer.

        Args:
            method: the HTTP method.
            path: below the organization, with its leading slash.
            query: the query's parameters; those that are None are left out.
            json: the body.
            is_repeatable: a POST that changes nothing; every GET is.

        Raises:
            ProblemError: the API refuses it.
            UnreachableError: nothing answers.
            InvalidInputError: what is to be sent is no text.
        """
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        waits = MAX_WAITS if is_repeatable or method == "GET" else 0
        while True:
            response = self._send(method, path, params=wanted, json=json)
            if response.is_success:
                require_own_answer(response)
                return response.content
            problem = ProblemError.of(response)
            if waits == 0 or problem.status not in (429, 503) or problem.retry_after is None:
                raise problem
            waits -= 1
            time.sleep(min(problem.retry_after, MAX_RETRY_AFTER_SECONDS))

    def send_files(self, path: str, fields: Mapping[str, str], files: Sequence[FilePart]) -> bytes:
        """Send files as multipart/form-data, read while they are sent; raises as `call` does."""
        response = self._send("POST", path, data=dict(fields), files=files)
        if not response.is_success:
            raise ProblemError.of(response)
        require_own_answer(response)
        return response.content

    def lines(self, path: str, *, headers: Mapping[str, str]) -> Iterator[str]:
        """The lines of an answer as they come.

        Raises:
            ProblemError: the API refuses it.
            httpx.TransportError: the connection broke, or could not be made.
        """
        with self._http.stream("GET", self._prefix + path, headers=dict(headers)) as response:
            if not response.is_success:
                response.read()
                raise ProblemError.of(response)
            yield from response.iter_lines()

    def is_ready(self) -> bool:
        """Whether the API answers that it can do its work."""
        try:
            return self._http.get(f"{self.url}/ready").status_code == 200
        except httpx.TransportError:
            return False

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, method: str, path: str, **content: Any) -> httpx.Response:
        try:
            return self._http.send(self._http.build_request(method, self._prefix + path, **content))
        except httpx.TransportError as error:
            raise UnreachableError.of(error, self.url) from error
        except UnicodeEncodeError as error:
            raise _not_text(error) from error


def _not_text(error: UnicodeEncodeError) -> InvalidInputError:
    """Names of files and arguments of commands are bytes; those that are no text arrive as lone surrogates."""
    around = error.object[max(error.start - 20, 0) : error.end + 20]
    return InvalidInputError(f"Only text in UTF-8 can be sent, and this is none: {around!a}.")


def _is_loopback(url: str) -> bool:
    try:
        host = httpx.URL(url).host
    except httpx.InvalidURL as error:
        raise InvalidInputError(
            f"The address {url!r} is none of an API ({error}); one is http://127.0.0.1:8000."
        ) from error
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
