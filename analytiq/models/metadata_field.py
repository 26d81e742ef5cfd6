"""Declared metadata fields: their types, valid values, and the stored form.

A date is stored as a string of fixed length in UTC (`analytiq.models.moment.written`). The order of such strings is the
order of the moments, so that any comparison of strings compares dates: in MongoDB, the search server's terms, and
Python. That holds only while every value of the field has this form, so others are refused.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from analytiq.models.moment import read_moment, written

MOST_FIELDS = 100
LONGEST_NAME = 100
_PLACE = re.compile(r"0|[1-9][0-9]{0,8}")


class FieldType(StrEnum):
    """The type of a declared field's values."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"


FieldTypes = Mapping[str, FieldType]
"""Metadata key → its type."""


class MisfitPolicy(StrEnum):
    """The treatment of documents whose values do not fit a declaration."""

    REFUSE = "refuse"
    REMOVE = "remove"
    """Remove the values from the documents' metadata."""


class Misfit(ValueError):  # noqa: N818  # no error of the library's: it never leaves the function that reads it
    """A value does not fit; the text names the expected type and the given value."""


def fitted(value: JsonValue, field_type: FieldType) -> JsonValue:
    """Return the value in its stored form: null, a value of the type, or a list of them.

    Raises:
        Misfit: the value is none of these.
    """
    if value is None:
        return None
    if isinstance(value, list):
        return [fitted_one(item, field_type) for item in value]
    return fitted_one(value, field_type)


def fitted_one(value: object, field_type: FieldType) -> str | int | float | bool:
    """Return one value in its stored form; raises as `fitted`."""
    return _FIT[field_type](value)


def described(value: object) -> str:
    """Describe a value for an error, shortened."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | Mapping):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


@dataclass(frozen=True, slots=True)
class DeclaredPath:
    """A metadata path that begins with a declared field; `has_parts`: it addresses a part of the value."""

    name: str
    field_type: FieldType
    has_parts: bool


def declared_path(keys: tuple[str, ...], types: FieldTypes) -> DeclaredPath | None:
    """Return the declaration of a path; a second key that is a list index refers to the field's values too."""
    field_type = types.get(keys[0])
    if field_type is None:
        return None
    is_place = len(keys) == 2 and _PLACE.fullmatch(keys[1]) is not None
    return DeclaredPath(keys[0], field_type, has_parts=len(keys) > 1 and not is_place)


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Misfit(f"expected a string, not {described(value)}")


def _number(value: object) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise Misfit(f"expected a number, not {described(value)}")


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise Misfit(f"expected true or false, not {described(value)}")


def _date(value: object) -> str:
    expected = "expected a date as RFC 3339 writes it, such as 2024-01-31 or 2024-01-31T12:00:00Z"
    if not isinstance(value, str):
        raise Misfit(f"{expected}, not {described(value)}")
    try:
        return written(read_moment(value, allows_days=True))
    except ValueError as error:
        raise Misfit(f"{expected}, not {described(value)}: {error}") from error


_FIT: Mapping[FieldType, Callable[[object], str | int | float | bool]] = {
    FieldType.STRING: _string,
    FieldType.NUMBER: _number,
    FieldType.BOOLEAN: _boolean,
    FieldType.DATE: _date,
}
