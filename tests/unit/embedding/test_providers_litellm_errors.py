import inspect
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import openai
import pytest

from analytiq.clock import now
from analytiq.errors import CallRefusedError, ProviderRefusedError, ProviderUnavailableError, RateLimitedError
from analytiq.inference.providers.litellm_errors import VERDICTS, Verdict, retry_after_seconds, translated
from analytiq.inference.providers.litellm_module import litellm

KEY = "sk-a-very-secret-key-0123456789"


def classes() -> list[type[Exception]]:
    # LiteLLM takes 5 s to import, which every process of a test run would spend before its first test.
    return [
        member
        for _, member in inspect.getmembers(litellm().exceptions, inspect.isclass)
        if issubclass(member, Exception) and member.__module__ == "litellm.exceptions"
    ]


def openai_classes() -> list[type[Exception]]:
    """OpenAI's own, which LiteLLM's derive from and its clients raise."""
    return [
        member
        for _, member in inspect.getmembers(openai, inspect.isclass)
        if issubclass(member, openai.OpenAIError) and member.__module__ in ("openai", "openai._exceptions")
    ]


def bare(kind: type[Exception], **attributes: object) -> Exception:
    """An exception without its constructor, whose arguments differ from class to class."""
    error = kind.__new__(kind)
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


def answer(status: int, headers: dict[str, str] | None = None) -> Any:  # the SDK's annotations name httpx2
    return httpx.Response(status, headers=headers, request=httpx.Request("POST", "http://provider.test"))


def test_every_exception_of_litellm_has_a_verdict_and_no_other() -> None:
    assert {kind.__name__ for kind in classes()} == set(VERDICTS)


@pytest.mark.parametrize("name", VERDICTS)
def test_every_exception_of_litellm_becomes_one_that_embedders_may_raise(name: str) -> None:
    kind = getattr(litellm().exceptions, name)
    error = translated(bare(kind, status_code=418, message=f"with {KEY}"), model="m", api_key=KEY)
    expected = {
        Verdict.SLOW_DOWN: RateLimitedError,
        Verdict.FAILED: ProviderUnavailableError,
        Verdict.MALFORMED: ProviderUnavailableError,
        Verdict.TOO_LONG: CallRefusedError,
        Verdict.CONTENT: CallRefusedError,
        Verdict.REFUSED: CallRefusedError,
        Verdict.BY_STATUS: CallRefusedError,  # 418
    }.get(VERDICTS[kind.__name__], ProviderRefusedError)
    assert type(error) is expected
    assert "'m'" in error.detail
    assert KEY not in error.detail


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, CallRefusedError),
        (401, ProviderRefusedError),
        (402, ProviderRefusedError),
        (403, ProviderRefusedError),
        (404, ProviderRefusedError),
        (408, ProviderUnavailableError),
        (409, ProviderUnavailableError),
        (413, CallRefusedError),
        (425, ProviderUnavailableError),
        (429, RateLimitedError),
        (500, ProviderUnavailableError),
        (503, ProviderUnavailableError),
        (529, ProviderUnavailableError),
        (None, ProviderUnavailableError),
    ],
)
def test_status_decides_where_the_class_says_nothing(status: int | None, expected: type[Exception]) -> None:
    for kind in (litellm().exceptions.APIError, RuntimeError, openai.APIError):
        assert type(translated(bare(kind, status_code=status), model="m", api_key=None)) is expected


@pytest.mark.parametrize("kind", openai_classes(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("status", [400, 429, 500, None])
def test_every_exception_of_openai_becomes_one_that_embedders_may_raise(
    kind: type[Exception], status: int | None
) -> None:
    response = None if status is None else answer(status, {"retry-after": "3"})
    error = translated(bare(kind, response=response, message=f"with {KEY}"), model="m", api_key=KEY)
    assert isinstance(error, ProviderRefusedError | RateLimitedError | ProviderUnavailableError)
    if status is not None:
        expected = {400: ProviderRefusedError, 429: RateLimitedError, 500: ProviderUnavailableError}[status]
        assert isinstance(error, expected)
    assert KEY not in error.detail


def test_openai_has_not_lost_the_classes_that_are_walked() -> None:
    assert {"RateLimitError", "APIStatusError", "APIConnectionError", "APITimeoutError"} <= {
        kind.__name__ for kind in openai_classes()
    }


def made_of(inner: Exception, outer: Exception) -> Exception:
    """The outer error, raised over the inner one."""
    outer.__context__ = inner
    return outer


def test_status_that_was_answered_overrules_the_class_that_litellm_guesses_from_the_text() -> None:
    refused = openai.BadRequestError("429 rate limit", response=answer(400), body=None)
    guessed = litellm().exceptions.RateLimitError("429 rate limit", "openai", "m")
    error = translated(made_of(refused, guessed), model="m", api_key=KEY)
    assert type(error) is CallRefusedError
    assert "HTTP 400" in error.detail


def test_class_refines_the_status_where_both_mean_the_same_for_the_caller() -> None:
    refused = openai.BadRequestError("too long", response=answer(400), body=None)
    told = litellm().exceptions.ContextWindowExceededError("too long", "m", "openai")
    assert "smaller chunk size" in translated(made_of(refused, told), model="m", api_key=KEY).detail


@pytest.mark.parametrize("stumble", [ValueError("Expecting value"), AttributeError("model_dump"), KeyError("data")])
def test_answer_that_litellm_stumbles_over_is_malformed(stumble: Exception) -> None:
    told = litellm().exceptions.InternalServerError("no", "openai", "m")
    error = translated(made_of(stumble, told), model="m", api_key=KEY)
    assert (type(error), error.code) == (ProviderUnavailableError, "malformed_answer")


def test_subclass_that_a_later_litellm_adds_is_treated_as_its_parent() -> None:
    class BrandNewError(litellm().exceptions.RateLimitError):
        pass

    assert type(translated(bare(BrandNewError), model="m", api_key=None)) is RateLimitedError


@pytest.mark.parametrize("kind", [httpx.ReadTimeout, httpx.ConnectError, ConnectionResetError, TimeoutError])
def test_errors_of_the_network_are_transient(kind: type[Exception]) -> None:
    assert type(translated(kind("no"), model="m", api_key=None)) is ProviderUnavailableError


def test_wait_is_read_in_seconds_milliseconds_and_as_a_date() -> None:
    def wait(**headers: str) -> float | None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return retry_after_seconds(bare(RuntimeError, response=answer(429, named)))

    assert wait(retry_after="12") == 12
    assert wait(Retry_After="0.5") == 0.5
    assert wait(retry_after_ms="1500", retry_after="9") == 1.5
    assert wait(retry_after="soon") is None
    assert wait(retry_after="-3") is None
    assert wait(retry_after="nan") is None
    assert wait() is None
    later = wait(retry_after=format_datetime(now() + timedelta(minutes=10), usegmt=True))
    assert later is not None
    assert 500 < later <= 600
    assert wait(retry_after="Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_rate_limit_carries_the_wait_and_says_it() -> None:
    error = translated(
        litellm().exceptions.RateLimitError("no", "openai", "m", response=answer(429, {"retry-after": "7"})),
        model="m",
        api_key=KEY,
    )
    assert isinstance(error, RateLimitedError)
    assert error.retry_after == 7
    assert "try again in 7 s" in error.detail


def refused_with(body: object, *, host: str = "models.example.com", status: int = 400) -> Exception:
    """LiteLLM's error for an answer of a server."""
    response: Any = httpx.Response(status, json=body, request=httpx.Request("POST", f"https://{host}/v1/embeddings"))
    inner = openai.BadRequestError("as the SDK words it", response=response, body=None)
    return made_of(inner, litellm().exceptions.BadRequestError(f"LiteLLM's words: {response.text}", "m", "openai"))


def test_refusal_quotes_the_provider_briefly() -> None:
    raised = refused_with({"error": {"message": "dimensions must be <= 3072 " + "x" * 1000}})
    detail = translated(raised, model="m", api_key=KEY).detail
    assert "The provider says: dimensions must be <= 3072" in detail
    assert len(detail) < 600


@pytest.mark.parametrize(
    "body",
    [{"message": "secret=abc123"}, {"detail": "secret=abc123"}, {"error": "secret=abc123"}, ["secret=abc123"]],
)
def test_answer_of_a_server_that_is_no_provider_is_not_shown(body: object) -> None:
    assert "abc123" not in translated(refused_with(body), model="m", api_key=KEY).detail


def test_page_of_a_server_is_not_shown() -> None:
    page: Any = httpx.Response(
        404, text="<h1>secret=abc123</h1>", request=httpx.Request("POST", "https://x.example.com/")
    )
    inner = openai.NotFoundError("secret=abc123", response=page, body=None)
    raised = made_of(inner, litellm().exceptions.NotFoundError("secret=abc123", "m", "openai"))
    assert "abc123" not in translated(raised, model="m", api_key=KEY).detail


def test_message_of_a_known_provider_is_quoted_in_its_own_form() -> None:
    raised = refused_with({"message": "invalid request: model 'x'\r\nnot found"}, host="api.cohere.com")
    assert (
        "The provider says: invalid request: model 'x' not found" in translated(raised, model="m", api_key=KEY).detail
    )


@pytest.mark.parametrize("piece", [KEY, KEY[:8] + "*****", "****" + KEY[-6:]])
def test_refusal_that_repeats_a_piece_of_the_key_is_not_quoted(piece: str) -> None:
    raised = refused_with({"error": {"message": f"bad key {piece}"}})
    assert "bad key" not in translated(raised, model="m", api_key=KEY).detail
