"""Settings of an organization of its own; decided by values alone, so a unit test."""

import pytest

from analytiq.models.own_limits import OwnModelLimit, OwnRateLimits
from analytiq.settings import ModelRateLimit, RateLimitSettings
from analytiq.tenancy.organizations.own_settings import MOST_OCR_LANGUAGES, ocr_language_errors, rate_limit_errors
from analytiq.tenancy.rate_limits.limits import call_buckets, lower

SERVER = RateLimitSettings(
    requests_per_minute=100,
    tokens_per_minute=0,
    documents_per_minute=50,
    models={"large": ModelRateLimit(requests_per_minute=10), "local/e": ModelRateLimit(requests_per_minute=20)},
)


def fields(wanted: OwnRateLimits) -> list[str]:
    return [error.field for error in rate_limit_errors(wanted, SERVER)]


def test_limits_up_to_the_servers_are_taken() -> None:
    assert fields(OwnRateLimits(requests_per_minute=100, tokens_per_minute=10**9, documents_per_minute=1)) == []


def test_limits_above_the_servers_are_refused_with_the_servers() -> None:
    errors = rate_limit_errors(OwnRateLimits(requests_per_minute=101, documents_per_minute=5000), SERVER)
    assert [error.field for error in errors] == ["rate_limits.requests_per_minute", "rate_limits.documents_per_minute"]
    assert "100" in errors[0].reason


def test_limit_of_a_model_is_held_against_the_servers_for_that_model() -> None:
    limits = OwnRateLimits(
        models=(OwnModelLimit(model="large", requests_per_minute=11), OwnModelLimit(model="x", requests_per_minute=11))
    )
    assert fields(limits) == ["rate_limits.models[0].requests_per_minute"]


def test_model_named_twice_is_refused() -> None:
    limit = OwnModelLimit(model="x", requests_per_minute=1)
    assert fields(OwnRateLimits(models=(limit, limit))) == ["rate_limits.models[1].model"]


@pytest.mark.parametrize("per_minute", [0, -1])
def test_limits_that_let_nothing_through_are_refused(per_minute: int) -> None:
    assert fields(OwnRateLimits(tokens_per_minute=per_minute)) == ["rate_limits.tokens_per_minute"]


def test_languages_that_are_not_installed_are_refused_with_those_that_are() -> None:
    (error,) = ocr_language_errors(["eng", "tlh"], {"eng", "fra"})
    assert error.field == "ocr_languages[1]"
    assert "eng, fra" in error.reason


def test_no_language_and_too_many_are_refused() -> None:
    many = [f"l{number}" for number in range(MOST_OCR_LANGUAGES + 1)]
    assert len(ocr_language_errors([], {"eng"})) == len(ocr_language_errors(many, set(many))) == 1


def test_lower_limit_counts() -> None:
    assert (lower(0, None), lower(0, 5), lower(5, None), lower(5, 3), lower(3, 5)) == (0, 5, 5, 3, 3)


def test_own_limit_of_a_model_takes_the_place_of_the_organizations_general_one() -> None:
    own = OwnRateLimits(requests_per_minute=20, models=(OwnModelLimit(model="x", requests_per_minute=40),))
    general, named = call_buckets("y", SERVER, own), call_buckets("x", SERVER, own)
    assert (general["requests"].burst, named["requests"].burst) == (2, 4)


def test_general_limits_leave_models_of_this_process_alone() -> None:
    assert call_buckets("local/other", SERVER, OwnRateLimits(requests_per_minute=5)) == {}
    named = OwnRateLimits(models=(OwnModelLimit(model="local/other", requests_per_minute=50),))
    assert call_buckets("local/other", SERVER, named)["requests"].burst == 5
