"""Errors of the client: problems that the API reports, and missing answers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from analytiq.errors import AnalytiqError, TransientError

if TYPE_CHECKING:
    import httpx

    from analytiq.client.steps import Reply


class FieldProblem(BaseModel):
    """An error in one field of a call."""

    model_config = ConfigDict(defer_build=True)

    field: str
    reason: str


class Problem(BaseModel):
    """The body of an answer that refuses a call."""

    model_config = ConfigDict(defer_build=True)

    code: str
    detail: str
    errors: tuple[FieldProblem, ...] | None = None
    request_id: str | None = None


class ProblemError(AnalytiqError):
    """The API refused the call.

    Subclasses: one for each status (`analytiq.client.problems`), below it one for each documented code
    (`analytiq.client.problem_codes`).

    Attributes:
        http_status: of the class; 0 for other statuses.
        status: the answer's HTTP status.
        code: stable, for programs.
        detail: a sentence, for people.
        errors: the invalid fields.
        retry_after: seconds after which the same call may work, if known.
        request_id: the request's id in the server's log.
    """

    http_status = 0

    def __init__(self, status: int, problem: Problem, *, retry_after: float | None = None) -> None:
        super().__init__(problem.detail, code=problem.code)
        self.status = status
        self.errors = problem.errors or ()
        self.retry_after = retry_after
        self.request_id = problem.request_id

    @classmethod
    def of(cls, response: "httpx.Response") -> "ProblemError":
        """Build the error from an error response, whose body must have been read."""
        return _problem(response.status_code, response.headers, response.content, str(response.url))


def problem_of(reply: "Reply") -> ProblemError:
    """Build the error from an answer that refuses the call."""
    return _problem(reply.status, reply.headers, reply.content, reply.url)


def _problem(status: int, headers: Mapping[str, str], content: bytes, url: str) -> ProblemError:
    # Not before an error is raised: the classes of all codes take time to make.
    from analytiq.client.problems import class_of

    try:
        problem = Problem.model_validate_json(content)
    except ValidationError:
        problem = Problem(
            code="http_error", detail=f"{url} answered {status} without saying why; is it Analytiq's API?"
        )
    return class_of(status, problem.code)(status, problem, retry_after=_seconds(headers.get("retry-after")))


class UnreachableError(TransientError):
    """Nothing answers at the API's address, or the connection broke.

    `knows_api`: the address has answered before, so that it is right.
    """

    code = "api_unreachable"
    knows_api = False

    @classmethod
    def of(cls, error: "httpx.TransportError", url: str) -> "UnreachableError":
        """Build the error from httpx's error."""
        import httpx

        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return cls(f"No API answers at {url}: start it with `analytiq up`, or correct the address.")
        if isinstance(error, httpx.UnsupportedProtocol):
            return cls(f"{url!r} is not the address of an API, which begins with http:// or https://.")
        return cls(f"The API at {url} did not finish its answer ({type(error).__name__}); call again.")


def require_own_answer(response: "httpx.Response | Reply", *, accepts_text: bool = False) -> None:
    """Refuse successful responses of another server, such as a portal on the way.

    Raises:
        UnreachableError: it is a page or a plain text, which the API never answers to this call.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html" or (kind == "text/plain" and not accepts_text):
        raise UnreachableError(
            f"{response.url} is answered by something else than Analytiq's API: correct the address."
        )


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:
        return None  # a date; the API sends seconds
