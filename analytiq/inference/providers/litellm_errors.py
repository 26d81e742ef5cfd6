"""Translation of LiteLLM's exceptions to the library's own errors: by class and HTTP status, never by the text.

A provider's text may repeat the API key or the texts that were sent. So the text is passed on only if it tells how to
correct the call (a refused call), shortened, and never with a part of the key. For the same reason the error is raised
`from None`: a traceback would print the original.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import Protocol, cast

import httpx

from analytiq.clock import now
from analytiq.errors import (
    AnalytiqError,
    CallRefusedError,
    ProviderRefusedError,
    ProviderUnavailableError,
    RateLimitedError,
)
from analytiq.inference.providers.allowed import Use, is_of_known_origin
from analytiq.inference.providers.failures import what_failed


class Verdict(Enum):
    """The meaning of a class of exceptions for the call."""

    SLOW_DOWN = auto()
    FAILED = auto()
    """The provider, or the way to it: the same call may work later."""
    MALFORMED = auto()
    """The answer is malformed; like FAILED, under its own code."""
    KEY = auto()
    """The key is missing, wrong, or lacks the permission."""
    UNKNOWN_MODEL = auto()
    PAYMENT = auto()
    TOO_LONG = auto()
    CONTENT = auto()
    REFUSED = auto()
    BY_STATUS = auto()
    """The class says nothing; the HTTP status decides."""


VERDICTS: Mapping[str, Verdict] = {
    "APIConnectionError": Verdict.FAILED,
    "APIError": Verdict.BY_STATUS,
    "APIResponseValidationError": Verdict.MALFORMED,
    "AuthenticationError": Verdict.KEY,
    "BadGatewayError": Verdict.FAILED,
    "BadRequestError": Verdict.REFUSED,
    "BlockedPiiEntityError": Verdict.CONTENT,
    "BudgetExceededError": Verdict.PAYMENT,
    "CallerCredentialAuthenticationError": Verdict.KEY,
    "CallerCredentialRateLimitError": Verdict.SLOW_DOWN,
    "ContentPolicyViolationError": Verdict.CONTENT,
    "ContextWindowExceededError": Verdict.TOO_LONG,
    "EndpointNotSupportedByModelError": Verdict.REFUSED,
    "GuardrailRaisedException": Verdict.CONTENT,
    "ImageFetchError": Verdict.REFUSED,
    "InternalServerError": Verdict.FAILED,
    "InvalidRequestError": Verdict.REFUSED,
    "JSONSchemaValidationError": Verdict.MALFORMED,
    "LiteLLMUnknownProvider": Verdict.UNKNOWN_MODEL,
    "MalformedRequestFieldError": Verdict.REFUSED,
    "MidStreamFallbackError": Verdict.FAILED,
    "MockException": Verdict.BY_STATUS,
    "ModelNotMappedError": Verdict.UNKNOWN_MODEL,
    "ModifyResponseException": Verdict.CONTENT,
    "NotFoundError": Verdict.UNKNOWN_MODEL,
    "OpenAIError": Verdict.BY_STATUS,
    "PaymentRequiredError": Verdict.PAYMENT,
    "PermissionDeniedError": Verdict.KEY,
    "RateLimitError": Verdict.SLOW_DOWN,
    "RejectedRequestError": Verdict.CONTENT,
    "SensitiveDataRouteException": Verdict.CONTENT,
    "ServiceUnavailableError": Verdict.FAILED,
    "Timeout": Verdict.FAILED,
    "UnprocessableEntityError": Verdict.REFUSED,
    "UnsupportedEndpointError": Verdict.REFUSED,
    "UnsupportedParamsError": Verdict.REFUSED,
    "VectorStoreSearchError": Verdict.REFUSED,
}
"""Every class of `litellm.exceptions`, as a test proves; by name, to avoid importing LiteLLM."""

_STATUS_VERDICTS: Mapping[int, Verdict] = {
    401: Verdict.KEY,
    402: Verdict.PAYMENT,
    403: Verdict.KEY,
    404: Verdict.UNKNOWN_MODEL,
    408: Verdict.FAILED,
    409: Verdict.FAILED,
    413: Verdict.TOO_LONG,
    425: Verdict.FAILED,
    429: Verdict.SLOW_DOWN,
}

_ADVICE: Mapping[Verdict, tuple[str, str]] = {
    Verdict.KEY: ("refuses the API key", "replace the key of this provider, or choose another model"),
    Verdict.UNKNOWN_MODEL: (
        "does not know the model",
        "check the name, and the provider's address if it has one",
    ),
    Verdict.PAYMENT: ("asks for payment", "settle the account with the provider"),
    Verdict.TOO_LONG: ("finds a text too long", "use a smaller chunk size, or a model with a larger window"),
    Verdict.CONTENT: ("refuses the content", "the document cannot be embedded by this provider"),
    Verdict.REFUSED: ("refuses the call", "check the model and its dimensions"),
}
_CHAT_ADVICE: Mapping[Verdict, tuple[str, str]] = {
    Verdict.TOO_LONG: (
        "finds the conversation too long",
        "ask with less context, or choose a model with a larger window",
    ),
    Verdict.CONTENT: ("refuses the content", "ask in other words, or choose another model"),
    Verdict.REFUSED: ("refuses the call", "check the model and its parameters"),
}
_QUOTABLE = frozenset({Verdict.UNKNOWN_MODEL, Verdict.TOO_LONG, Verdict.REFUSED})
_ABOUT_THE_CALL = frozenset({Verdict.TOO_LONG, Verdict.CONTENT, Verdict.REFUSED})
_LONGEST_EXCERPT = 300
_KEY_PIECE = 6
_DEEPEST_CHAIN = 10
_STUMBLES = (ValueError, TypeError, AttributeError, LookupError)
"""Exceptions of code that reads an answer of unexpected structure; invalid JSON raises a ValueError."""


class _Response(Protocol):
    status_code: int
    headers: Mapping[str, str]


def translated(error: Exception, *, model: str, api_key: str | None, use: Use = Use.EMBEDDING) -> AnalytiqError:
    """Return the library's error for an exception of a call through LiteLLM."""
    own = _own_error(error)
    if own is not None:
        return own
    verdict = _verdict(error)
    status = _status(error)
    number = f" (HTTP {status})" if status is not None else ""
    if verdict is Verdict.SLOW_DOWN:
        seconds = retry_after_seconds(error)
        wait = "later" if seconds is None else f"in {math.ceil(seconds)} s"
        return RateLimitedError(
            f"The provider of {model!r} asks to slow down{number}: try again {wait}.", retry_after=seconds
        )
    if verdict is Verdict.MALFORMED:
        return ProviderUnavailableError(
            f"The answer of the provider of {model!r} cannot be read; the whole answer is refused: try again later.",
            code="malformed_answer",
        )
    if verdict not in _ADVICE:
        answer = _answer(error)
        happened, advice = what_failed(_chain(error), status=answer.status_code if answer is not None else None)
        return ProviderUnavailableError(
            f"The provider of {model!r} {happened}: {advice}.",
            retry_after=retry_after_seconds(error),
        )
    advised = _ADVICE if use is Use.EMBEDDING else {**_ADVICE, **_CHAT_ADVICE}
    happened, advice = advised[verdict]
    quoted = _excerpt(error, api_key) if verdict in _QUOTABLE else ""
    refused = CallRefusedError if verdict in _ABOUT_THE_CALL else ProviderRefusedError
    return refused(f"The provider of {model!r} {happened}{number}: {advice}.{quoted}")


def retry_after_seconds(error: Exception) -> float | None:
    """Read the provider's wait in seconds from its headers `retry-after-ms` or `retry-after`."""
    headers = _headers(error)
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment - now()).total_seconds()) if moment.tzinfo else None


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and its causes, the innermost last."""
    found: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and len(found) < _DEEPEST_CHAIN:
        found.append(seen)
        seen = seen.__cause__ or seen.__context__
    return found


def _own_error(error: Exception) -> AnalytiqError | None:
    """Return the guarded transport's own error, from below the libraries that have wrapped it."""
    return next((seen for seen in _chain(error) if isinstance(seen, AnalytiqError)), None)


def _verdict(error: Exception) -> Verdict:
    """Judge by the provider's HTTP status, if any; the class of LiteLLM's error only refines that.

    LiteLLM searches the text for numbers and words: a refused call whose text mentions "429" becomes its
    RateLimitError, and would be repeated forever.
    """
    by_class = _verdict_of_class(error)
    response = _answer(error)
    if response is not None:
        by_status = _verdict_of_status(response.status_code)
        is_refined = by_class is not Verdict.BY_STATUS and _may_pass(by_class) == _may_pass(by_status)
        return by_class if is_refined else by_status
    if by_class is Verdict.BY_STATUS:
        return _verdict_of_status(_status(error))
    return Verdict.MALFORMED if _is_unreadable(error) else by_class


def _verdict_of_class(error: Exception) -> Verdict:
    names = (ancestor.__name__ for ancestor in type(error).__mro__)
    return next((VERDICTS[name] for name in names if name in VERDICTS), Verdict.BY_STATUS)


def _verdict_of_status(status: int | None) -> Verdict:
    if status is None or status >= 500:
        return Verdict.FAILED
    return _STATUS_VERDICTS.get(status, Verdict.REFUSED if status >= 400 else Verdict.FAILED)


def _may_pass(verdict: Verdict) -> str:
    if verdict is Verdict.SLOW_DOWN:
        return "when told"
    return "later" if verdict in (Verdict.FAILED, Verdict.MALFORMED) else "never"


def _answer(error: Exception) -> _Response | None:
    """Return the provider's own answer: LiteLLM invents answers for its errors, and lower errors have none."""
    for seen in reversed(_chain(error)):
        response = getattr(seen, "response", None)
        if not _is_of_litellm(seen) and isinstance(getattr(response, "status_code", None), int):
            return cast("_Response", response)
    return None


def _is_unreadable(error: Exception) -> bool:
    """Return True if LiteLLM failed on the answer, not on the way to it."""
    below = [seen for seen in _chain(error) if not _is_of_litellm(seen)]
    return _is_of_litellm(error) and bool(below) and isinstance(below[0], _STUMBLES)


def _is_of_litellm(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] == "litellm"


def _status(error: Exception) -> int | None:
    response = _answer(error)
    status = response.status_code if response is not None else getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _headers(error: Exception) -> Mapping[str, str]:
    """Return the headers of the provider's answer, by lower-case name."""
    found: dict[str, str] = {}
    sources = (
        getattr(error, "headers", None),
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
        getattr(_answer(error), "headers", None),
    )
    for source in sources:
        if isinstance(source, Mapping):
            for name, value in source.items():  # pyright: ignore[reportUnknownVariableType]  # any mapping
                found[str(name).lower()] = str(value)  # pyright: ignore[reportUnknownArgumentType]
    return found


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _excerpt(error: Exception, api_key: str | None) -> str:
    """Quote the message of the provider's error, and nothing else of its answer.

    A server at an address named by a user may be no provider: its pages are not shown.
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in _message(error)).split())
    if not text or (api_key and (api_key[:_KEY_PIECE] in text or api_key[-_KEY_PIECE:] in text)):
        return ""
    if len(text) > _LONGEST_EXCERPT:
        text = text[:_LONGEST_EXCERPT] + "…"
    return f" The provider says: {text}"


def _message(error: Exception) -> str:
    """Return the message in an error's JSON: of OpenAI's form, or of others if the provider's host is known."""
    response = _answer(error)
    if not isinstance(response, httpx.Response):
        return ""
    try:
        body: object = response.json()
        url = str(response.request.url)
    except (ValueError, RuntimeError, httpx.StreamError):
        # No JSON, not read, or of no request.
        return ""
    fields = _fields(body)
    told = fields.get("error")
    found = [_fields(told).get("message")]
    if is_of_known_origin(url):
        found += [told, fields.get("message"), fields.get("detail")]
    return next((text for text in found if isinstance(text, str)), "")


def _fields(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
