"""From LiteLLM's exceptions to the library's own errors: by class and HTTP status, never by the text.

A provider's text may repeat the API key or the texts that were sent, so it is passed on only where it says
what to mend (a refused call), shortened, and never if a piece of the key is in it. The error is raised
`from None` for the same reason: a traceback would print the original.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum, auto

from analytiq.clock import now
from analytiq.errors import AnalytiqError, ProviderRefusedError, RateLimitedError, TransientError


class Verdict(Enum):
    """What a class of exceptions means for the call."""

    SLOW_DOWN = auto()
    FAILED = auto()
    """The provider, or the way to it: the same call may work later."""
    MALFORMED = auto()
    """The answer makes no sense; like FAILED, under its own code."""
    KEY = auto()
    """The key is missing, wrong, or may not do this."""
    UNKNOWN_MODEL = auto()
    PAYMENT = auto()
    TOO_LONG = auto()
    CONTENT = auto()
    REFUSED = auto()
    BY_STATUS = auto()
    """The class says nothing; the HTTP status decides."""


class Use(Enum):
    """What the call was for: what to do about an error depends on it."""

    EMBEDDING = auto()
    CHAT = auto()
    RERANKING = auto()


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
"""Every class of `litellm.exceptions`, as a test proves; by name, so that LiteLLM need not be imported."""

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
_LONGEST_EXCERPT = 300
_KEY_PIECE = 6


def translated(error: Exception, *, model: str, api_key: str | None, use: Use = Use.EMBEDDING) -> AnalytiqError:
    """The library's error for what a call through LiteLLM raised."""
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
        return TransientError(
            f"The answer of the provider of {model!r} cannot be read: try again later.",
            code="malformed_answer",
        )
    if verdict not in _ADVICE:
        kind = type(error).__name__
        return TransientError(
            f"The provider of {model!r} failed ({kind}{number}): try again later.",
            retry_after=retry_after_seconds(error),
        )
    advices = _ADVICE if use is Use.EMBEDDING else {**_ADVICE, **_CHAT_ADVICE}
    happened, advice = advices[verdict]
    quoted = _excerpt(error, api_key) if verdict in _QUOTABLE else ""
    return ProviderRefusedError(f"The provider of {model!r} {happened}{number}: {advice}.{quoted}")


def retry_after_seconds(error: Exception) -> float | None:
    """The wait that the provider asks for, by its headers `retry-after-ms` or `retry-after`, in seconds."""
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


def _verdict(error: Exception) -> Verdict:
    for ancestor in type(error).__mro__:
        verdict = VERDICTS.get(ancestor.__name__)
        if verdict is Verdict.BY_STATUS:
            break
        if verdict is not None:
            return verdict
    status = _status(error)
    if status is None or status >= 500:
        return Verdict.FAILED
    return _STATUS_VERDICTS.get(status, Verdict.REFUSED if status >= 400 else Verdict.FAILED)


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _headers(error: Exception) -> Mapping[str, str]:
    """The headers of the provider's answer, by lower-case name."""
    found: dict[str, str] = {}
    sources = (
        getattr(error, "headers", None),
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
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
    text = " ".join(str(getattr(error, "message", "")).split())
    if not text or (api_key and (api_key[:_KEY_PIECE] in text or api_key[-_KEY_PIECE:] in text)):
        return ""
    if len(text) > _LONGEST_EXCERPT:
        text = text[:_LONGEST_EXCERPT] + "…"
    return f" The provider says: {text}"
