"""Error classes of the API's problems: one for each HTTP status."""

from analytiq.client.errors import ProblemError


class InvalidRequestError(ProblemError):
    """The request is invalid."""

    http_status = 400


class UnauthenticatedError(ProblemError):
    """The token or session is missing, unknown or has expired."""

    http_status = 401
    code = "unauthenticated"


class QuotaExceededError(ProblemError):
    """The organization has no SPUs left for the call."""

    http_status = 402
    code = "quota_exceeded"


class AccessDeniedError(ProblemError):
    """The caller's role or scope does not allow the call."""

    http_status = 403
    code = "access_denied"


class NotFoundError(ProblemError):
    """Nothing with this id exists in the organization."""

    http_status = 404
    code = "not_found"


class MethodNotAllowedError(ProblemError):
    """The route does not have this method."""

    http_status = 405
    code = "method_not_allowed"


class TooSlowError(ProblemError):
    """The request's body arrived too slowly."""

    http_status = 408
    code = "too_slow"


class ConflictError(ProblemError):
    """The state changed meanwhile, or forbids the call."""

    http_status = 409
    code = "conflict"


class StaleVersionError(ProblemError):
    """The change was based on an older version."""

    http_status = 412
    code = "stale_version"


class TooLargeError(ProblemError):
    """The body is too large."""

    http_status = 413
    code = "too_large"


class UnsupportedMediaTypeError(ProblemError):
    """The body's type is not accepted."""

    http_status = 415
    code = "unsupported_media_type"


class UnprocessableError(ProblemError):
    """The call can never succeed."""

    http_status = 422
    code = "permanent_error"


class TooManyRequestsError(ProblemError):
    """The token or session sends too many requests."""

    http_status = 429
    code = "too_many_requests"


class InternalServerError(ProblemError):
    """The server has a fault; its log has the request id."""

    http_status = 500
    code = "internal_error"


class UnavailableError(ProblemError):
    """The call may succeed later."""

    http_status = 503
    code = "temporarily_unavailable"


def class_of(status: int, code: str) -> type[ProblemError]:
    """Return the class of a problem: that of its code, or else of its status."""
    # These modules need each other, and the classes of codes only an error.
    from analytiq.client import problem_codes

    return problem_codes.BY_CODE.get(code) or BY_STATUS.get(status, ProblemError)


STATUS_CLASSES: tuple[type[ProblemError], ...] = (
    InvalidRequestError,
    UnauthenticatedError,
    QuotaExceededError,
    AccessDeniedError,
    NotFoundError,
    MethodNotAllowedError,
    TooSlowError,
    ConflictError,
    StaleVersionError,
    TooLargeError,
    UnsupportedMediaTypeError,
    UnprocessableError,
    TooManyRequestsError,
    InternalServerError,
    UnavailableError,
)
BY_STATUS = {kind.http_status: kind for kind in STATUS_CLASSES}
