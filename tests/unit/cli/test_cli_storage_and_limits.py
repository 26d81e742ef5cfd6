"""Values that operators and admins may write at the command line: decided by values alone."""

from typing import Any

import pytest

from analytiq.cli.organization_settings import changed_limits
from analytiq.cli.storage import parsed_bytes, parsed_documents
from analytiq.client.organization_models import ModelRateLimit, RateLimits
from analytiq.errors import InvalidInputError

NOTHING: dict[str, Any] = dict.fromkeys(("model", "requests_per_minute", "tokens_per_minute", "documents_per_minute"))


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("10kB", 10_000), ("1.5GB", 1_500_000_000), ("2MiB", 2_097_152), ("none", None)]
)
def test_sizes_are_numbers_with_or_without_units(text: str, size: int | None) -> None:
    assert parsed_bytes(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "10 parrots"])
def test_what_is_no_size_is_refused_by_its_option(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--bytes"):
        parsed_bytes(text)


@pytest.mark.parametrize("text", ["-1", "1.5", "many", ""])
def test_what_is_no_number_of_documents_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--documents"):
        parsed_documents(text)


def test_limits_that_are_left_out_stay_and_zero_takes_one_away() -> None:
    now = RateLimits(requests_per_minute=5, tokens_per_minute=7)
    changed = changed_limits(now, **NOTHING | dict[str, Any](requests_per_minute=0, documents_per_minute=3))
    assert changed == RateLimits(tokens_per_minute=7, documents_per_minute=3)


def test_model_without_limits_is_no_longer_named() -> None:
    now = RateLimits(models=[ModelRateLimit(model="x", requests_per_minute=1), ModelRateLimit(model="y")])
    changed = changed_limits(now, **NOTHING | dict[str, Any](model="x", requests_per_minute=0))
    assert [limit.model for limit in changed.models] == ["y"]


@pytest.mark.parametrize("wrong", [NOTHING, {**NOTHING, "model": "x", "documents_per_minute": 1}])
def test_change_that_says_nothing_or_nonsense_is_refused(wrong: dict[str, str | int | None]) -> None:
    with pytest.raises(InvalidInputError):
        changed_limits(RateLimits(), **wrong)  # pyright: ignore[reportArgumentType]  # a table of cases
