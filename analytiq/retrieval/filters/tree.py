"""Search filters: a typed tree over documents, which every store compiles into its own language.

The meaning of a filter, in every store (`evaluate` defines the same in Python):

- A condition looks at the values that its field has in a document. `tag_ids`, and a metadata value that is
  a list, have one value for each element; a list inside a list, and an object, are values that equal no
  literal. A metadata path descends by keys into objects, and into those that are elements of a list; a
  segment of digits also takes the element of a list at that place, counted from 0, as one value even where
  it is a list. A key that holds a dot has no name.
- **Any value is enough**: `$eq`, `$gt`, `$gte`, `$lt`, `$lte` and `$in` hold if some value satisfies them.
  Two conditions on one field may be satisfied by two different elements.
- **Complements**: `$ne`, `$nin`, `$not` and `$nor` hold for exactly the documents for which their opposite
  does not, so for documents without the field too.
- **Missing is not null**: `$eq: null` holds only where a value is null; `$exists` asks whether the field has
  a value at all, null and the empty list included. A missing field satisfies no comparison.
- **Types are kept apart**: strings, numbers, booleans, null and times are compared only among themselves.
  1 equals 1.0 and does not equal true or "1". NaN in a document equals nothing and is ordered nowhere.
- Strings are compared exactly: case counts, nothing is normalised, order is that of the code points.
- `page` is the one field of a chunk and not of its document: its values are the pages, counted from 1, from the chunk's
  first to its last.
  `upload_date` is compared as a moment, to the millisecond.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, cast

from pydantic import JsonValue


class BuiltInField(StrEnum):
    """A field of every document, by the name that callers use."""

    DOCUMENT_ID = "document_id"
    DOCUMENT_NAME = "document_name"
    TAG_IDS = "tag_ids"
    CONTENT_TYPE = "content_type"
    UPLOAD_DATE = "upload_date"
    """Time of the upload: `created_at` of the document's row."""
    PAGE = "page"
    """The pages of a chunk."""


@dataclass(frozen=True, slots=True)
class MetadataField:
    """A value in a document's own metadata, addressed by the keys that lead to it: at least one.

    No key is empty or holds a dot, a dollar sign or NUL.
    """

    keys: tuple[str, ...]

    def __str__(self) -> str:
        return "metadata." + ".".join(self.keys)


FilterField = BuiltInField | MetadataField

FilterValue = str | int | float | bool | datetime | None
"""A literal. Times are aware and belong to `upload_date`; floats are finite, integers fit 64 bits."""


class Comparator(StrEnum):
    """A comparison of a value with a literal."""

    EQUAL = "$eq"
    NOT_EQUAL = "$ne"
    GREATER = "$gt"
    GREATER_OR_EQUAL = "$gte"
    LESS = "$lt"
    LESS_OR_EQUAL = "$lte"


@dataclass(frozen=True, slots=True)
class Comparison:
    """At least one value of the field satisfies the comparison; NOT_EQUAL: no value equals the literal."""

    field: FilterField
    comparator: Comparator
    value: FilterValue


@dataclass(frozen=True, slots=True)
class In:
    """At least one value of the field is among `values`, none of them null; negated: none is. Nothing is in ()."""

    field: FilterField
    values: tuple[FilterValue, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """The field has a value (null and the empty list are values); without `is_expected`, the field has none."""

    field: FilterField
    is_expected: bool = True


@dataclass(frozen=True, slots=True)
class Not:
    """The operand does not hold."""

    operand: "Filter"


@dataclass(frozen=True, slots=True)
class And:
    """All operands hold; without operands, every document."""

    operands: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one operand holds; without operands, no document."""

    operands: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Nor:
    """No operand holds; without operands, every document."""

    operands: tuple["Filter", ...]


Filter = And | Or | Nor | Not | Comparison | In | Exists

EVERYTHING = And(())
"""The filter that every document passes."""


class FilterableDocument(Protocol):
    """The part of a document that a filter reads; `analytiq.models.document.Document` implements it."""

    @property
    def id(self) -> str:
        """24 hex digits, lower case."""
        ...

    @property
    def document_name(self) -> str:
        """The name given at the upload."""
        ...

    @property
    def tag_ids(self) -> tuple[str, ...]:
        """The ids of the document's tags."""
        ...

    @property
    def content_type(self) -> str:
        """The MIME type."""
        ...

    @property
    def created_at(self) -> datetime:
        """The time of the upload: aware, in milliseconds."""
        ...

    @property
    def metadata(self) -> Mapping[str, JsonValue]:
        """The metadata attached by the owner."""
        ...


class ValueClass(StrEnum):
    """Types whose values are compared among themselves only."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    NULL = "null"
    COMPOSITE = "composite"
    """A list in a list, or an object: equal to no literal."""


def value_class(value: object) -> ValueClass:
    """Return the type of a literal, or of a value in a document."""
    if value is None:
        return ValueClass.NULL
    if isinstance(value, bool):  # before numbers: Python's booleans are integers
        return ValueClass.BOOLEAN
    if isinstance(value, int | float):
        return ValueClass.NUMBER
    if isinstance(value, str):
        return ValueClass.STRING
    return ValueClass.TIME if isinstance(value, datetime) else ValueClass.COMPOSITE


def evaluate(tree: Filter, document: FilterableDocument, pages: range = range(0)) -> bool:
    """Return True if the document passes the filter; if the filter has pages, its chunk on `pages`."""
    match tree:
        case And(operands):
            return all(evaluate(operand, document, pages) for operand in operands)
        case Or(operands):
            return any(evaluate(operand, document, pages) for operand in operands)
        case Nor(operands):
            return not any(evaluate(operand, document, pages) for operand in operands)
        case Not(operand):
            return not evaluate(operand, document, pages)
        case Exists(field, is_expected):
            return any(True for _ in _values(field, document, pages)) == is_expected
        case In(field, values, is_negated):
            found = any(_equals(value, literal) for value in _values(field, document, pages) for literal in values)
            return found != is_negated
        case Comparison(field, Comparator.NOT_EQUAL, literal):
            return not any(_equals(value, literal) for value in _values(field, document, pages))
        case Comparison(field, comparator, literal):
            compare = _COMPARE[comparator]
            return any(_compares(compare, value, literal) for value in _values(field, document, pages))


def speaks_of_pages(tree: Filter) -> bool:
    """Return True if any condition is on `page`, so that the filter selects chunks instead of whole documents."""
    match tree:
        case And(operands) | Or(operands) | Nor(operands):
            return any(speaks_of_pages(operand) for operand in operands)
        case Not(operand):
            return speaks_of_pages(operand)
        case Comparison(field) | In(field) | Exists(field):
            return field is BuiltInField.PAGE


_COMPARE: Mapping[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.EQUAL: operator.eq,
    Comparator.GREATER: operator.gt,
    Comparator.GREATER_OR_EQUAL: operator.ge,
    Comparator.LESS: operator.lt,
    Comparator.LESS_OR_EQUAL: operator.le,
}


_PLACE = re.compile(r"0|[1-9][0-9]{0,8}")


def _equals(value: object, literal: FilterValue) -> bool:
    return _compares(operator.eq, value, literal)


def _compares(compare: Callable[[Any, Any], bool], value: object, literal: FilterValue) -> bool:
    kind = value_class(value)
    if kind is not value_class(literal):
        return False
    return compare is operator.eq if kind is ValueClass.NULL else compare(value, literal)


def _values(field: FilterField, document: FilterableDocument, pages: range) -> Iterator[object]:
    match field:
        case MetadataField(keys):
            return _values_at(document.metadata, keys)
        case BuiltInField.DOCUMENT_ID:
            return iter([document.id])
        case BuiltInField.DOCUMENT_NAME:
            return iter([document.document_name])
        case BuiltInField.TAG_IDS:
            return _values_at(list(document.tag_ids), ())
        case BuiltInField.CONTENT_TYPE:
            return iter([document.content_type])
        case BuiltInField.UPLOAD_DATE:
            return iter([document.created_at])
        case BuiltInField.PAGE:
            return iter(pages)


def _values_at(value: object, keys: tuple[str, ...]) -> Iterator[object]:
    """Yield the values at a path; a list yields its elements and then itself, so that `[]` exists."""
    if not keys:
        if isinstance(value, list):
            yield from cast("list[object]", value)
        yield value
        return
    key, rest = keys[0], keys[1:]
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        if key in members:
            yield from _values_at(members[key], rest)
    elif isinstance(value, list):
        elements = cast("list[object]", value)
        for element in elements:
            if isinstance(element, Mapping):
                yield from _values_at(cast("object", element), keys)
        if _PLACE.fullmatch(key) and int(key) < len(elements):
            element = elements[int(key)]
            # As in MongoDB, an element at the very end of a path is not expanded once more.
            yield from _values_at(element, rest) if rest else (element,)
