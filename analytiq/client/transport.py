"""A call over HTTP: translates errors, and retries if the API asks for that."""

import ipaddress
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any
from uuid import uuid4

import httpx

from analytiq.client.errors import ProblemError, UnreachableError, require_own_answer
from analytiq.client.paths import segment
from analytiq.errors import InvalidInputError

MAX_WAITS = 20
"""Most retries of a call whose answer has Retry-After; twice the loading of a large KB."""

MAX_RETRY_AFTER_SECONDS = 30.0

OUTAGE_SECONDS = 90.0
"""Time of retries while the API or its database is unavailable: a failover takes 10 to 60 s."""

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0

KEY_IN_USE = "idempotency_key_in_use"
COMMIT_UNKNOWN = "commit_outcome_unknown"

QueryValue = str | int | Sequence[str]
FilePart = tuple[str, tuple[str, IO[bytes], str]]


class Patience:
    """The waits of one call: those that the API asks for, and those during a temporary outage."""

    def __init__(self, *, has_key: bool, may_wait_long: bool, knows_api: bool) -> None:
        """Begin a call.

        Args:
            has_key: an Idempotency-Key keeps a retry from repeating the change.
            may_wait_long: honour the API's Retry-After for any reason.
            knows_api: the API has answered before; otherwise its address may be wrong.
        """
        self._has_key = has_key
        self._may_wait_long = may_wait_long
        self._knows_api = knows_api
        self._deadline = time.monotonic() + OUTAGE_SECONDS
        self._waits = 0

    @property
    def is_repeated(self) -> bool:
        """Return whether this is a retry."""
        return self._waits > 0

    def wait_or_raise(self, error: ProblemError | UnreachableError) -> None:
        """Wait until a retry makes sense.

        Raises:
            ProblemError: a retry is useless, or was repeated long enough.
            UnreachableError: likewise.
        """
        if isinstance(error, ProblemError):
            pause = self._pause_of_problem(error)
        else:
            is_worth_it = self._knows_api and time.monotonic() < self._deadline
            pause = self._backoff() if is_worth_it else None
        if pause is None:
            raise error
        self._waits += 1
        time.sleep(pause)

    def wait(self) -> bool:
        """Wait before a repetition; return False, at once, when it was repeated long enough."""
        if time.monotonic() >= self._deadline:
            return False
        pause = self._backoff()
        self._waits += 1
        time.sleep(pause)
        return True

    def _pause_of_problem(self, problem: ProblemError) -> float | None:
        is_in_time = time.monotonic() < self._deadline
        if problem.code == KEY_IN_USE and self._has_key and self.is_repeated:
            return self._backoff() if is_in_time else None
        if problem.status not in (429, 503) or (problem.code == COMMIT_UNKNOWN and self._has_key):
            return None
        if problem.retry_after is None:
            return self._backoff() if problem.status == 503 and is_in_time else None
        is_allowed = self._waits < MAX_WAITS if self._may_wait_long else False
        if not is_allowed and not (problem.status == 503 and is_in_time):
            return None
        # With jitter, so that callers refused together do not return together.
        return min(problem.retry_after, MAX_RETRY_AFTER_SECONDS) * _jitter()

    def _backoff(self) -> float:
        return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(self._waits, 8)) * _jitter()


def _is_not_found(error: ProblemError | UnreachableError) -> bool:
    return isinstance(error, ProblemError) and error.status == 404


def _jitter() -> float:
    return random.uniform(1.0, 1.5)  # noqa: S311  # spreads callers out, guards no secret


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
        self._has_answered = False

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue | None] | None = None,
        json: Mapping[str, Any] | None = None,
        is_repeatable: bool = False,
    ) -> bytes:
        """Return the body of the answer; retry while the API is unavailable, without making a change twice.

        Args:
            method: the HTTP method.
            path: below the organization, with its leading slash.
            query: the query's parameters; None is omitted.
            json: the body.
            is_repeatable: a POST without changes; every GET is.

        Raises:
            ProblemError: the API refuses the call.
            UnreachableError: nothing answers.
            InvalidInputError: a value to send is not text.
        """
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        has_key = method == "POST" and not is_repeatable
        headers = {"Idempotency-Key": uuid4().hex} if has_key else {}
        patience = Patience(
            has_key=has_key, may_wait_long=is_repeatable or method == "GET", knows_api=self._has_answered
        )
        while True:
            try:
                return self._content(self._send(method, path, params=wanted, json=json, headers=headers))
            except (ProblemError, UnreachableError) as error:
                if method == "DELETE" and patience.is_repeated and _is_not_found(error):
                    return b""  # an earlier attempt, whose answer was lost, has deleted it
                patience.wait_or_raise(error)

    def send_files(
        self,
        path: str,
        fields: Mapping[str, str | list[str]],
        files: Sequence[FilePart],
        *,
        is_repeatable: bool,
        begin_again: Callable[[], None],
    ) -> bytes:
        """Send files as multipart/form-data, read while they are sent; raise the errors of `call`.

        Args:
            path: below the organization.
            fields: of the form.
            files: open, at their beginning.
            is_repeatable: sending them twice makes the same documents; otherwise a key is used.
            begin_again: rewinds the files for a retry.
        """
        headers = {} if is_repeatable else {"Idempotency-Key": uuid4().hex}
        patience = Patience(has_key=not is_repeatable, may_wait_long=False, knows_api=self._has_answered)
        while True:
            try:
                return self._content(self._send("POST", path, data=dict(fields), files=files, headers=headers))
            except (ProblemError, UnreachableError) as error:
                patience.wait_or_raise(error)
                begin_again()

    def _content(self, response: httpx.Response) -> bytes:
        if not response.is_success:
            raise ProblemError.of(response)
        require_own_answer(response)
        self._has_answered = True
        return response.content

    def lines(self, path: str, *, headers: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of an answer as they arrive.

        Raises:
            ProblemError: the API refuses the call.
            httpx.TransportError: the connection broke, or could not be opened.
        """
        with self._http.stream("GET", self._prefix + path, headers=dict(headers)) as response:
            if not response.is_success:
                response.read()
                raise ProblemError.of(response)
            yield from response.iter_lines()

    def blocks(self, path: str, *, query: Mapping[str, str]) -> Iterator[bytes]:
        """Yield the content of an answer as it arrives.

        Raises:
            ProblemError: the API refuses the call.
            UnreachableError: the connection broke, or could not be opened.
        """
        try:
            with self._http.stream("GET", self._prefix + path, params=dict(query)) as response:
                if not response.is_success:
                    response.read()
                    raise ProblemError.of(response)
                yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise UnreachableError.of(error, self.url) from error

    def is_ready(self) -> bool:
        """Return whether the API is ready."""
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
