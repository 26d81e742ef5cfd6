"""Errors of the client: problems that the API reports, and missing answers."""

import httpx
from pydantic import BaseModel, ValidationError

from analytiq.errors import AnalytiqError, TransientError


class FieldProblem(BaseModel):
    """An error in one field of a call."""

    field: str
    reason: str


class Problem(BaseModel):
    """The body of an answer that refuses a call."""

    code: str
    detail: str
    errors: tuple[FieldProblem, ...] | None = None
    request_id: str | None = None


class ProblemError(AnalytiqError):
    """The API refused the call.

    Attributes:
        status: the HTTP status.
        code: stable, for programs.
        detail: a sentence, for people.
        errors: the invalid fields.
        retry_after: seconds after which the same call may work, if known.
        request_id: the request's id in the server's log.
    """

    def __init__(self, status: int, problem: Problem, *, retry_after: float | None = None) -> None:
        super().__init__(problem.detail, code=problem.code)
        self.status = status
        self.errors = problem.errors or ()
        self.retry_after = retry_after
        self.request_id = problem.request_id

    @classmethod
    def of(cls, response: httpx.Response) -> "ProblemError":
        """Build the error from an error response, whose body must have been read."""
        try:
            problem = Problem.model_validate_json(response.content)
        except ValidationError:
            problem = Problem(
                code="http_error",
                detail=f"{response.url} answered {response.status_code} without saying why; is it Analytiq's API?",
            )
        return cls(response.status_code, problem, retry_after=_seconds(response.headers.get("Retry-After")))


class UnreachableError(TransientError):
    """Nothing answers at the API's address, or the connection broke."""

    code = "api_unreachable"

    @classmethod
    def of(cls, error: httpx.TransportError, url: str) -> "UnreachableError":
        """Build the error from httpx's error."""
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return cls(f"No API answers at {url}: start it with `analytiq up`, or correct the address.")
        if isinstance(error, httpx.UnsupportedProtocol):
            return cls(f"{url!r} is not the address of an API, which begins with http:// or https://.")
        return cls(f"The API at {url} did not finish its answer ({type(error).__name__}); call again.")


def require_own_answer(response: httpx.Response) -> None:
    """Refuse successful responses of another server, such as a portal on the way.

    Raises:
        UnreachableError: it is a page or a plain text, which the API never answers.
    """
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind in ("text/html", "text/plain"):
        raise UnreachableError(
            f"{response.url} is answered by something else than Analytiq's API: correct the address."
        )


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:
        return None  # a date; the API sends seconds
