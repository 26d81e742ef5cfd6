"""Projections: the fields that chunks carry of their document agree with its metadata."""

import math
import struct
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.retrieval.filters.projection import (
    LONGEST_TERM_BYTES,
    MOST_TERMS,
    existence_term,
    moment_key,
    projection_of,
    range_terms,
    sortable,
    text_term,
    value_term,
)
from tests.made_filters import IDS, a_document

numbers = st.one_of(st.floats(allow_nan=False), st.integers(-(2**63), 2**63 - 1))
KEY = st.integers(0, 2**64 - 1)


@given(numbers, numbers)
def test_numbers_are_sorted_as_their_keys_are(left: float, right: float) -> None:
    left_double, right_double = float(left), float(right)
    assert (sortable(left) < sortable(right)) == (left_double < right_double)
    assert (sortable(left) == sortable(right)) == (left_double == right_double)


@given(KEY, KEY, st.lists(KEY, max_size=5))
def test_a_range_has_a_term_of_just_the_keys_within_it(first: int, last: int, others: list[int]) -> None:
    terms = set(range_terms(("a",), first, last))
    assert len(terms) <= 480
    for key in [first, last, first - 1, last + 1, 0, 2**64 - 1, *others]:
        if not 0 <= key < 2**64:
            continue
        number = key_to_number(key)
        if math.isnan(number):
            continue
        carried = set(projection_of(a_document(IDS[0], a=number)).terms)
        assert bool(carried & terms) == (first <= sortable(number) <= last)


def key_to_number(key: int) -> float:
    bits = key ^ (1 << 63) if key >> 63 else key ^ ((1 << 64) - 1)
    return struct.unpack(">d", bits.to_bytes(8, "big"))[0]


@pytest.mark.parametrize("key", ["customer", "x" * 5000, "é" * 400, "=", "s=a", "n0=1"])
def test_no_term_is_too_long_for_the_search_server_and_none_says_something_else(key: str) -> None:
    projection = projection_of(a_document(IDS[0], **{key: "y" * 20_000}))
    assert all(len(term.encode()) <= LONGEST_TERM_BYTES for term in projection.terms)
    assert existence_term((key,)) in projection.terms
    assert value_term((key,), "y" * 20_000) in projection.terms
    assert value_term((key,), "y" * 19_999) not in projection.terms
    assert value_term((key, "s"), "y" * 20_000) not in projection.terms


def test_more_than_fits_is_told() -> None:
    whole = projection_of(a_document(IDS[0], a=[f"{number}" for number in range(100)]))
    assert not whole.is_partial
    cut = projection_of(a_document(IDS[0], a=[f"{number}" for number in range(MOST_TERMS)]))
    assert cut.is_partial
    assert len(cut.terms) == MOST_TERMS


@pytest.mark.slow
def test_values_that_many_paths_lead_to_end() -> None:
    nested: list[object] = [1]
    for _ in range(6):
        nested = [nested] * 8
    assert projection_of(a_document(IDS[0], a=nested)).is_partial  # type: ignore[arg-type]


def test_a_change_of_any_field_changes_the_hash() -> None:
    document = a_document(IDS[0], a=1)
    changes = [{"document_name": "b"}, {"tag_ids": ("c",)}, {"content_type": "d"}, {"metadata": {"a": 2}}]
    changes += [{"created_at": document.created_at.replace(year=1999)}]
    hashes = {projection_of(document.model_copy(update=change)).hash for change in [{}, *changes]}
    assert len(hashes) == 1 + len(changes)


@pytest.mark.parametrize(
    "text", ["2024-01-31", "2024-01-31T00:00:00Z", "2024-02-30T00:00:00.000Z", "0000-01-01T00:00:00.000Z", "٢٠٢٤", ""]
)
def test_only_moments_as_dates_are_kept_count_as_such(text: str) -> None:
    assert moment_key(text) is None
    assert moment_key("2024-01-31T00:00:00.000Z") is not None
    assert text_term(("a",)) in projection_of(a_document(IDS[0], a=text)).terms


@given(st.datetimes(), st.datetimes())
def test_moments_are_sorted_as_their_texts_are(left: datetime, right: datetime) -> None:
    texts = [f"{moment.isoformat(timespec='milliseconds')}Z" for moment in (left, right)]
    first, second = (moment_key(text) for text in texts)
    assert first is not None
    assert second is not None
    assert (first < second) == (texts[0] < texts[1])
    assert (first == second) == (texts[0] == texts[1])
