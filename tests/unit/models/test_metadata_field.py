"""Values of declared fields: which fit, and how they are kept."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from analytiq.models.metadata_field import FieldType, Misfit, declared_path, fitted
from analytiq.models.moment import written

moments = st.datetimes(datetime(1900, 1, 1), datetime(2999, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))  # noqa: DTZ001  # UTC is given next
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("field_type", "value"),
    [
        (FieldType.STRING, "Acme"),
        (FieldType.STRING, ""),
        (FieldType.STRING, ["Acme", "Beta"]),
        (FieldType.NUMBER, 2024),
        (FieldType.NUMBER, 1.5),
        (FieldType.NUMBER, [1, 2.5]),
        (FieldType.BOOLEAN, False),
        (FieldType.BOOLEAN, []),
        (FieldType.DATE, None),
        (FieldType.DATE, "2024-01-31T00:00:00.000Z"),
    ],
)
def test_values_of_the_type_are_kept_as_they_are(field_type: FieldType, value: JsonValue) -> None:
    assert fitted(value, field_type) == value


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("2024-01-31", "2024-01-31T00:00:00.000Z"),
        ("2024-01-31T12:00:00Z", "2024-01-31T12:00:00.000Z"),
        ("2024-01-31t12:00:00.1239z", "2024-01-31T12:00:00.123Z"),
        ("2024-01-31T00:30:00+02:00", "2024-01-30T22:30:00.000Z"),
        (["2024-01-31", "2024-02-01T00:00:00-01:00"], ["2024-01-31T00:00:00.000Z", "2024-02-01T01:00:00.000Z"]),
        ("0001-01-01", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_dates_are_kept_in_utc_to_the_millisecond(value: JsonValue, kept: JsonValue) -> None:
    assert fitted(value, FieldType.DATE) == kept


@pytest.mark.parametrize(
    ("field_type", "value", "expectation"),
    [
        (FieldType.STRING, 5, "a string, not 5"),
        (FieldType.STRING, ["a", None], "a string, not null"),
        (FieldType.NUMBER, "2024", "a number, not '2024'"),
        (FieldType.NUMBER, True, "a number, not true"),
        (FieldType.NUMBER, {"a": 1}, "a number, not an object"),
        (FieldType.NUMBER, [[1]], "a number, not a list"),
        (FieldType.BOOLEAN, 1, "true or false, not 1"),
        (FieldType.BOOLEAN, "true", "true or false, not 'true'"),
        (FieldType.DATE, 20240131, "not 20240131"),
        (FieldType.DATE, "31.01.2024", "it is written otherwise"),
        (FieldType.DATE, "2024-01-31T12:00:00", "it is written otherwise"),
        (FieldType.DATE, "2024-02-30", "on no calendar"),
        (FieldType.DATE, "0001-01-01T00:00:00+01:00", "outside the years"),
        (FieldType.DATE, "2024-01-31T25:00:00Z", "on no calendar"),
        (FieldType.DATE, "\u0662\u0660\u0662\u0664-01-31", "it is written otherwise"),
        (FieldType.STRING, {"long": 1}, "an object"),
        (FieldType.NUMBER, "x" * 1000, "…"),
    ],
)
def test_a_value_of_another_type_is_told_with_what_was_expected(
    field_type: FieldType, value: JsonValue, expectation: str
) -> None:
    with pytest.raises(Misfit) as caught:
        fitted(value, field_type)
    assert expectation in str(caught.value)
    assert len(str(caught.value)) < 300


@given(first=moments, second=moments, offset=offsets)
def test_kept_dates_are_ordered_as_the_moments_are(first: datetime, second: datetime, offset: timezone) -> None:
    kept = fitted(first.astimezone(offset).isoformat(), FieldType.DATE)
    cut = [moment.replace(microsecond=moment.microsecond // 1000 * 1000) for moment in (first, second)]
    assert isinstance(kept, str)
    assert (kept < written(cut[1])) == (cut[0] < cut[1])
    assert (kept == written(cut[1])) == (cut[0] == cut[1])


@given(moments, offsets)
def test_what_is_kept_fits_unchanged(moment: datetime, offset: timezone) -> None:
    kept = fitted(moment.astimezone(offset).isoformat(), FieldType.DATE)
    assert fitted(kept, FieldType.DATE) == kept


@pytest.mark.parametrize(
    ("keys", "has_parts"),
    [(("due",), False), (("due", "0"), False), (("due", "a"), True), (("due", "0", "0"), True), (("due", "00"), True)],
)
def test_a_path_asks_for_the_values_of_a_field_or_for_parts_that_it_has_not(
    keys: tuple[str, ...],
    has_parts: bool,  # an expected value
) -> None:
    found = declared_path(keys, {"due": FieldType.DATE})
    assert found is not None
    assert found.has_parts is has_parts


def test_a_path_that_begins_otherwise_is_not_declared() -> None:
    assert declared_path(("a", "due"), {"due": FieldType.DATE}) is None
