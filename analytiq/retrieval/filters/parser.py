"""Parser of the filters of a search call.

`parse_filter` is the only way from a user's JSON to a filter. An allow-list refuses unknown keys and operators by name
and place: a misspelt filter never becomes an unfiltered answer.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from pydantic import JsonValue

from analytiq.errors import InvalidInputError
from analytiq.models.moment import read_moment, to_milliseconds
from analytiq.retrieval.filters.tree import (
    EVERYTHING,
    And,
    BuiltInField,
    Comparator,
    Comparison,
    Exists,
    Filter,
    FilterField,
    FilterValue,
    In,
    MetadataField,
    Nor,
    Not,
    Or,
    value_class,
)

MAX_DEPTH = 8
"""Greatest nesting of `$and`, `$or`, `$nor` and `$not`."""
MAX_CONDITIONS = 200
"""Most conditions and logical operators of one filter."""
MAX_LIST_VALUES = 1000
MAX_STRING_BYTES = 8191
"""Longest string, in UTF-8. MongoDB's search server cuts longer strings, and would then match unequal ones."""
MAX_FIELD_BYTES = 1024
MAX_FIELD_KEYS = 32

_METADATA = "metadata"
_BUILT_IN = {field.value: field for field in BuiltInField}
_LOGICAL = {"$and": And, "$or": Or, "$nor": Nor}
_COMPARATORS = {comparator.value: comparator for comparator in Comparator}
_EQUALITY = {Comparator.EQUAL, Comparator.NOT_EQUAL}
_IDS = {BuiltInField.DOCUMENT_ID, BuiltInField.TAG_IDS}

PREFIX = "$prefix"
_LAST_CODE_POINT = chr(0x10FFFF)

_INT64_RANGE = range(-(2**63), 2**63)


def parse_filter(raw: Mapping[str, JsonValue], *, path: str = "metadata_filter") -> Filter:
    """Read a `metadata_filter`.

    A key is a built-in field (`document_id`, `document_name`, `tag_ids`, `content_type`, `upload_date`, `page`), a
    key of the document's metadata (`customer`, or `metadata.customer`; dots lead into nested objects), or one
    of `$and`, `$or`, `$nor` with a list of filters. A value is a literal (equal), a list of literals (`$in`),
    or an object of operators, all of which must hold: `$eq $ne $gt $gte $lt $lte $in $nin $exists $not`, and for
    `document_name` also `$prefix`, which a folder is filtered by: `contracts/2024/`.
    `{}` passes every document. `analytiq.retrieval.filters.tree` defines the meaning of each.

    Args:
        raw: the filter as received.
        path: the filter's name in errors.

    Raises:
        InvalidInputError: names the exact place, as in `metadata_filter.$or[1].price.$where`.
    """
    return _FilterReader().clause(raw, path, depth=0)


def combine(
    *,
    document_ids: Sequence[str] | None = None,
    metadata_filter: Mapping[str, JsonValue] | None = None,
    upload_date_from: datetime | None = None,
    upload_date_to: datetime | None = None,
) -> Filter:
    """Combine the arguments of a search call to one filter; None does not narrow it.

    Args:
        document_ids: only these documents: none for an empty list; unknown ids are ignored.
        metadata_filter: see `parse_filter`.
        upload_date_from: aware; documents uploaded at this moment or later.
        upload_date_to: aware; documents uploaded at this moment or earlier.

    Raises:
        InvalidInputError: names the argument, and the place in it.
    """
    parts: list[Filter] = []
    if document_ids is not None:
        parts.append(In(BuiltInField.DOCUMENT_ID, _document_ids(document_ids)))
    since = _moment(upload_date_from, "upload_date_from") if upload_date_from else None
    until = _moment(upload_date_to, "upload_date_to") if upload_date_to else None
    if since and until and since > until:
        raise InvalidInputError.of_field(
            "upload_date_from", "The date lies after upload_date_to, so that no document can match."
        )
    if since:
        parts.append(Comparison(BuiltInField.UPLOAD_DATE, Comparator.GREATER_OR_EQUAL, since))
    if until:
        parts.append(Comparison(BuiltInField.UPLOAD_DATE, Comparator.LESS_OR_EQUAL, until))
    if metadata_filter is not None:
        parts.append(parse_filter(metadata_filter))
    return _all_of([part for part in parts if part != EVERYTHING])


class _FilterReader:
    """A reader of one filter, which counts its conditions."""

    def __init__(self) -> None:
        self._conditions = 0

    def clause(self, raw: object, path: str, *, depth: int) -> Filter:
        """Read `{field: condition, ...}` or `{"$and": [filter, ...], ...}`."""
        clause = _pairs(raw, path, 'A filter must be an object, such as {"customer": "Acme"}.')
        _refuse_mixture(clause, path, "Put the operators and the conditions on fields into one `$and`.")
        operands: list[Filter] = []
        for key, value in clause.items():
            place = _below(path, key)
            if key.startswith("$"):
                operands.append(self._combination(key, value, place, depth=depth + 1))
            else:
                operands.append(self._condition(_field(key, place), value, place, depth=depth))
        return _all_of(operands)

    def _combination(self, operator: str, raw: object, path: str, *, depth: int) -> Filter:
        self._enter(path, depth)
        combination = _LOGICAL.get(operator)
        if operator == "$not":
            raise InvalidInputError.of_field(
                path, "`$not` belongs under a field, over its operators. Use `$nor` to negate a filter."
            )
        if combination is None:
            raise InvalidInputError.of_field(
                path,
                f"Unknown operator {_shortened(operator)!r}. Allowed here: fields, $and, $or and $nor.",
            )
        if not isinstance(raw, list) or not raw:
            raise InvalidInputError.of_field(path, f"`{operator}` takes a list of at least one filter.")
        clauses = cast("list[object]", raw)
        return combination(tuple(self.clause(clause, f"{path}[{i}]", depth=depth) for i, clause in enumerate(clauses)))

    def _condition(self, field: FilterField, raw: object, path: str, *, depth: int) -> Filter:
        """Read the value under a field: a literal, a list of literals, or an object of operators."""
        if isinstance(raw, Mapping):
            return self._operators(field, cast("object", raw), path, depth=depth)
        self._enter(path, depth)
        if isinstance(raw, list):
            return In(field, _literals(field, cast("list[object]", raw), path))
        return Comparison(field, Comparator.EQUAL, _literal(field, raw, path))

    def _operators(self, field: FilterField, raw: object, path: str, *, depth: int) -> Filter:
        operators = _pairs(raw, path, 'The value must be an object of operators, such as {"$gt": 5}.')
        _refuse_mixture(operators, path, "A field takes a literal, a list, or operators only.")
        if not operators:
            raise InvalidInputError.of_field(path, "The object names no operator. Give one, or a literal.")
        if not next(iter(operators)).startswith("$"):
            raise InvalidInputError.of_field(
                path, "Objects are not compared. Name the value inside it, by a path with dots."
            )
        return _all_of(
            [
                self._operator(field, operator, value, _below(path, operator), depth=depth)
                for operator, value in operators.items()
            ]
        )

    def _operator(self, field: FilterField, operator: str, raw: object, path: str, *, depth: int) -> Filter:
        self._enter(path, depth)
        if operator in _COMPARATORS:
            return _comparison(field, _COMPARATORS[operator], raw, path)
        if operator in ("$in", "$nin"):
            if not isinstance(raw, list):
                raise InvalidInputError.of_field(path, f"`{operator}` takes a list of literals.")
            values = _literals(field, cast("list[object]", raw), path)
            return In(field, values, is_negated=operator == "$nin")
        if operator == "$exists":
            if not isinstance(raw, bool):
                raise InvalidInputError.of_field(path, "`$exists` takes true or false.")
            return Exists(field, is_expected=raw)
        if operator == PREFIX and field is BuiltInField.DOCUMENT_NAME:
            return _prefix(raw, path)
        if operator == "$not":
            return Not(self._operators(field, raw, path, depth=depth + 1))
        prefix = [PREFIX] if field is BuiltInField.DOCUMENT_NAME else []
        known = ", ".join([*_COMPARATORS, "$in", "$nin", "$exists", "$not", *prefix])
        raise InvalidInputError.of_field(
            path, f"Unknown operator {_shortened(operator)!r}. The operators of a field are {known}."
        )

    def _enter(self, path: str, depth: int) -> None:
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise InvalidInputError.of_field(path, f"A filter has at most {MAX_CONDITIONS} conditions.")
        if depth > MAX_DEPTH:
            raise InvalidInputError.of_field(path, f"A filter has at most {MAX_DEPTH} levels.")


def _prefix(raw: object, path: str) -> Filter:
    """Match names with this prefix by a range, in the code-point order in which every store compares strings."""
    if not isinstance(raw, str) or not raw:
        raise InvalidInputError.of_field(path, f"`{PREFIX}` takes a text of at least one character.")
    first = _literal(BuiltInField.DOCUMENT_NAME, raw, path)
    conditions: list[Filter] = [Comparison(BuiltInField.DOCUMENT_NAME, Comparator.GREATER_OR_EQUAL, first)]
    stem = raw.rstrip(_LAST_CODE_POINT)
    if stem:
        # The code points of surrogates belong to no character.
        following = chr(0xE000 if stem[-1] == "\ud7ff" else ord(stem[-1]) + 1)
        conditions.append(Comparison(BuiltInField.DOCUMENT_NAME, Comparator.LESS, stem[:-1] + following))
    return _all_of(conditions)


def _all_of(operands: Sequence[Filter]) -> Filter:
    return operands[0] if len(operands) == 1 else And(tuple(operands))


def _pairs(raw: object, path: str, expectation: str) -> Mapping[str, object]:
    """Return the object's items after checking that its keys are strings that UTF-8 can encode."""
    if not isinstance(raw, Mapping):
        raise InvalidInputError.of_field(path, expectation)
    pairs: dict[str, object] = {}
    for key, value in cast("Mapping[object, object]", raw).items():
        if not isinstance(key, str):
            raise InvalidInputError.of_field(path, "Keys must be strings.")
        _require_text(key, path, MAX_FIELD_BYTES)
        pairs[key] = value
    return pairs


def _refuse_mixture(keys: Mapping[str, object], path: str, remedy: str) -> None:
    if len({key.startswith("$") for key in keys}) > 1:
        raise InvalidInputError.of_field(path, f"Operators and plain keys cannot be mixed. {remedy}")


def _field(name: str, path: str) -> FilterField:
    """Return the field of this name: a built-in one, else a path into the metadata."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    keys = tuple(name.split("."))
    if keys[0] in _BUILT_IN:
        raise InvalidInputError.of_field(
            path, f"{keys[0]} has no parts. If this is a key of your metadata, write metadata.{name}."
        )
    if keys[0] == _METADATA:
        keys = keys[1:]
        if not keys:
            raise InvalidInputError.of_field(path, "Name a key of the metadata, as in metadata.customer.")
    if "" in keys:
        raise InvalidInputError.of_field(path, "A name cannot have empty parts.")
    if "$" in name or "\0" in name:
        raise InvalidInputError.of_field(path, "A name cannot contain $ or NUL.")
    if len(keys) > MAX_FIELD_KEYS:
        raise InvalidInputError.of_field(path, f"A name has at most {MAX_FIELD_KEYS} parts.")
    return MetadataField(keys)


def _comparison(field: FilterField, comparator: Comparator, raw: object, path: str) -> Comparison:
    value = _literal(field, raw, path)
    is_ordered = field not in _IDS and value is not None and not isinstance(value, bool)
    if comparator not in _EQUALITY and not is_ordered:
        raise InvalidInputError.of_field(
            path, f"`{comparator.value}` compares numbers, strings and upload dates. Use `$eq` or `$ne`."
        )
    return Comparison(field, comparator, value)


def _literals(field: FilterField, raw: Sequence[object], path: str) -> tuple[FilterValue, ...]:
    if not raw:
        raise InvalidInputError.of_field(path, "The list is empty. Give at least one value.")
    if len(raw) > MAX_LIST_VALUES:
        raise InvalidInputError.of_field(path, f"A list has at most {MAX_LIST_VALUES} values, not {len(raw)}.")
    values: list[FilterValue] = []
    for i, item in enumerate(raw):
        place = f"{path}[{i}]"
        value = _literal(field, item, place)
        if value is None:
            raise InvalidInputError.of_field(place, "A list cannot contain null. Match null by `$eq`.")
        if values and value_class(value) is not value_class(values[0]):
            raise InvalidInputError.of_field(place, "The values of a list must all be of one type.")
        values.append(value)
    return tuple(values)


def _literal(field: FilterField, raw: object, path: str) -> FilterValue:
    """Read a literal of a type that the field can be compared to."""
    if field is BuiltInField.UPLOAD_DATE:
        return _rfc3339(raw, path)
    if field is BuiltInField.PAGE:
        if isinstance(raw, bool) or not isinstance(raw, int) or raw not in _INT64_RANGE:
            raise InvalidInputError.of_field(path, "`page` must be compared to a whole number. The first page is 1.")
        return raw
    if isinstance(raw, str):
        _require_text(raw, path, MAX_STRING_BYTES)
        return raw
    if isinstance(field, BuiltInField):
        raise InvalidInputError.of_field(path, f"{field.value} must be compared to a string.")
    if raw is None or isinstance(raw, bool):
        return raw
    if isinstance(raw, int) and raw in _INT64_RANGE:
        return raw
    if isinstance(raw, float) and math.isfinite(raw):
        return raw
    if isinstance(raw, int | float):
        raise InvalidInputError.of_field(path, "A number must be finite, and an integer must fit 64 bits.")
    raise InvalidInputError.of_field(path, "The value must be a string, a number, true, false or null.")


def _document_ids(raw: Sequence[str]) -> tuple[str, ...]:
    if len(raw) > MAX_LIST_VALUES:
        raise InvalidInputError.of_field(
            "document_ids", f"A list has at most {MAX_LIST_VALUES} values, not {len(raw)}."
        )
    for i, document_id in enumerate(raw):
        _require_text(document_id, f"document_ids[{i}]", MAX_STRING_BYTES)
    return tuple(raw)


def _require_text(value: str, path: str, max_bytes: int) -> None:
    # JSON can write half of a surrogate pair, which neither BSON nor the error's own response can hold.
    try:
        byte_size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError.of_field(
            path, "The string contains half of a surrogate pair, which is not valid text."
        ) from error
    if byte_size > max_bytes:
        raise InvalidInputError.of_field(path, f"A string has at most {max_bytes} bytes, not {byte_size}.")


def _rfc3339(raw: object, path: str) -> datetime:
    problem = "`upload_date` must be compared to an RFC 3339 time such as 2024-01-31T00:00:00Z"
    if not isinstance(raw, str):
        raise InvalidInputError.of_field(path, f"{problem}.")
    try:
        return read_moment(raw)
    except ValueError as error:
        raise InvalidInputError.of_field(path, f"{problem}: {error}.") from error


def _moment(value: datetime, path: str) -> datetime:
    """Read a moment in UTC, cut to the milliseconds of BSON, as stored dates are."""
    if value.tzinfo is None:
        raise InvalidInputError.of_field(path, "The time has no offset. End it with Z for UTC.")
    try:
        return to_milliseconds(value)
    except OverflowError as error:
        raise InvalidInputError.of_field(path, "In UTC this time is outside the years 1 to 9999.") from error


def _below(path: str, key: str) -> str:
    return f"{path}.{_shortened(key)}"


def _shortened(key: str) -> str:
    return key if len(key) <= 100 else key[:99] + "…"
