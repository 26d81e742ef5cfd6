"""The limits of a document's metadata."""

import math
from collections.abc import Mapping

from pydantic import JsonValue

from analytiq.errors import FieldError, InvalidInputError
from analytiq.models.metadata_field import FieldTypes, Misfit, fitted

LONGEST_METADATA_CHARACTERS = 64_000
DEEPEST = 8
MOST_KEYS = 500


def validated_metadata(metadata: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the metadata, if MongoDB can store it and filters can address it.

    Raises:
        InvalidInputError: names the invalid place.
    """
    budget = _Budget()
    for key, value in metadata.items():
        budget.take_key(key, "metadata")
        budget.take(value, f"metadata.{key}", depth=1)
    return dict(metadata)


def fitted_metadata(metadata: Mapping[str, JsonValue], types: FieldTypes) -> dict[str, JsonValue]:
    """Convert the values of declared fields to their stored type; keep other values.

    Raises:
        InvalidInputError: names each field with a value of another type, and the expected type.
    """
    kept = dict(metadata)
    problems: list[FieldError] = []
    for name in metadata.keys() & types.keys():
        try:
            kept[name] = fitted(metadata[name], types[name])
        except Misfit as misfit:
            problems.append(FieldError(f"metadata.{name}", f"Declared as {types[name].value}: {misfit}."))
    if problems:
        problems.sort(key=lambda problem: problem.field)
        named = " ".join(f"{problem.field}: {problem.reason}" for problem in problems)
        raise InvalidInputError(named, errors=problems, code="metadata_misfit")
    return kept


class _Budget:
    def __init__(self) -> None:
        self._characters = 0
        self._keys = 0

    def take_key(self, key: str, path: str) -> None:
        self._keys += 1
        if self._keys > MOST_KEYS:
            raise InvalidInputError.of_field(path, f"More than {MOST_KEYS} keys.")
        _require_text(key, path)
        if not key or key.startswith("$") or "." in key or "\0" in key:
            raise InvalidInputError.of_field(
                path, f"The key {key!r} is empty, begins with $, or contains a dot or NUL."
            )
        self._count(len(key), path)

    def take(self, value: JsonValue, path: str, *, depth: int) -> None:
        if depth > DEEPEST:
            raise InvalidInputError.of_field(path, f"Nested deeper than {DEEPEST} levels.")
        match value:
            case str():
                _require_text(value, path)
                self._count(len(value), path)
            case float() if not math.isfinite(value):
                raise InvalidInputError.of_field(path, "Not a finite number.")
            case int() if not -(2**63) <= value < 2**63:
                raise InvalidInputError.of_field(path, "An integer of more than 64 bits.")
            case list():
                self._count(len(value), path)
                for index, item in enumerate(value):
                    self.take(item, f"{path}[{index}]", depth=depth + 1)
            case dict():
                for key, item in value.items():
                    self.take_key(key, path)
                    self.take(item, f"{path}.{key}", depth=depth + 1)
            case _:
                self._count(8, path)

    def _count(self, characters: int, path: str) -> None:
        self._characters += characters
        if self._characters > LONGEST_METADATA_CHARACTERS:
            raise InvalidInputError.of_field(
                path, f"The metadata has more than {LONGEST_METADATA_CHARACTERS:,} characters in all."
            )


def _require_text(value: str, path: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError.of_field(path, "Contains half of a surrogate pair, which is not valid text.") from error
