"""The filter of `$vectorSearch`: its grammar, strictly, and what it lets through."""

import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from bson import ObjectId

from tests.fakes.search_server.errors import RefusedError

Document = Mapping[str, Any]
Test = Callable[[Document], bool]

LONGEST_TOKEN = 8181
"""Characters of a string that are indexed."""
_RANGES: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("boolean", (bool,)),
    ("number", (int, float)),
    ("string", (str,)),
    ("date", (datetime,)),
    ("objectId", (ObjectId,)),
    ("uuid", (UUID,)),
)


def type_of(value: object) -> str | None:
    """The type that a value is compared as; None: it is not indexed."""
    # Booleans come first, since they are integers to Python.
    return next((name for name, types in _TYPES if isinstance(value, types)), None)


def values_at(document: object, path: str) -> Iterator[object]:
    """The values at a path, elements of arrays one by one, also where documents lie in an array."""
    if isinstance(document, list):
        for element in document:
            yield from values_at(element, path)
        return
    key, _, rest = path.partition(".")
    if not isinstance(document, Mapping) or key not in document:
        return
    value = document[key]
    if rest:
        yield from values_at(value, rest)
    elif isinstance(value, list):
        yield from value
    else:
        yield value


def parse_filter(given: object, declared: set[str]) -> Test:
    """Read a filter.

    Raises:
        RefusedError: whatever the grammar does not have, and paths that are not declared.
    """
    if not isinstance(given, Mapping):
        raise RefusedError('"filter" must be a document')
    if len({key.startswith("$") for key in given}) > 1:
        raise RefusedError("a filter cannot have operators and paths side by side")
    tests = [_entry(key, value, declared) for key, value in given.items()]
    return lambda document: all(test(document) for test in tests)


def _entry(key: str, value: object, declared: set[str]) -> Test:
    if not key.startswith("$"):
        return _field(key, value, declared)
    if key not in ("$and", "$or", "$nor"):
        raise RefusedError(f'"{key}" is not a supported operator here')
    if not isinstance(value, list) or not value:
        raise RefusedError(f'"{key}" must be a non-empty array')
    tests = [parse_filter(item, declared) for item in value]
    match key:
        case "$and":
            return lambda document: all(test(document) for test in tests)
        case "$or":
            return lambda document: any(test(document) for test in tests)
        case _:
            return lambda document: not any(test(document) for test in tests)


def _field(path: str, value: object, declared: set[str]) -> Test:
    if not isinstance(value, Mapping):
        return _comparison(path, "$eq", value, declared)
    if not value:
        raise RefusedError(f'"{path}" is compared to an empty document')
    if not all(key.startswith("$") for key in value):
        raise RefusedError(f'"{path}" cannot be compared to a document')
    tests = [_comparison(path, key, literal, declared) for key, literal in value.items()]
    return lambda document: all(test(document) for test in tests)


def _comparison(path: str, name: str, literal: object, declared: set[str]) -> Test:
    if path not in declared and not (literal is None and name in ("$eq", "$ne")):
        raise RefusedError(f"Path '{path}' needs to be indexed as filter")
    match name:
        case "$eq":
            return _equals(path, literal)
        case "$ne":
            equals = _equals(path, literal)
            return lambda document: not equals(document)
        case "$in" | "$nin":
            among = _among(path, literal)
            return among if name == "$in" else lambda document: not among(document)
        case "$exists":
            if not isinstance(literal, bool):
                raise RefusedError('"$exists" must be a boolean')
            return lambda document: any(True for _ in values_at(document, path)) == literal
        case "$not":
            if not isinstance(literal, Mapping):
                raise RefusedError('"$not" must be a document of operators')
            inner = _field(path, literal, declared)
            return lambda document: not inner(document)
        case _ if name in _RANGES:
            return _range(path, name, literal)
        case _:
            raise RefusedError(f'"{name}" is not a supported operator')


def _equals(path: str, literal: object) -> Test:
    if literal is None:
        return lambda document: any(value is None for value in values_at(document, path))
    kind = _require_type(path, literal)
    return lambda document: any(_as(kind, value) == literal for value in _of_kind(document, path, kind))


def _among(path: str, literals: object) -> Test:
    if not isinstance(literals, list) or not literals:
        raise RefusedError(f'the list at "{path}" must be a non-empty array')
    kinds = {_require_type(path, literal) for literal in literals}
    if len(kinds) > 1:
        raise RefusedError(f'the list at "{path}" must have values of one type')
    kind = kinds.pop()
    wanted = set(literals)
    return lambda document: any(_as(kind, value) in wanted for value in _of_kind(document, path, kind))


def _range(path: str, name: str, literal: object) -> Test:
    kind, compare = _require_type(path, literal), _RANGES[name]
    if kind == "boolean":
        raise RefusedError(f'"{name}" does not compare booleans')
    return lambda document: any(compare(_as(kind, value), literal) for value in _of_kind(document, path, kind))


def _require_type(path: str, literal: object) -> str:
    kind = type_of(literal)
    if kind is None:
        raise RefusedError(f'"{path}" cannot be compared to a {type(literal).__name__}')
    return kind


def _of_kind(document: Document, path: str, kind: str) -> Iterator[Any]:
    return (value for value in values_at(document, path) if type_of(value) == kind)


def _as(kind: str, value: Any) -> Any:
    return value[:LONGEST_TOKEN] if kind == "string" else value
