"""JSON schemas of prompts' answers: check a schema, and check an answer against one.

A tenant writes the schema and a model writes the answer, so neither may make the process fetch, hang or recurse
endlessly. References stay within the schema, patterns run in linear time, and depth is bounded.
"""

import importlib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

from pydantic import JsonValue, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from analytiq.errors import InvalidInputError

LARGEST_SCHEMA_CHARACTERS = 64_000
DEEPEST = 24
SHOWN_PROBLEMS = 10
"""Most problems reported at once: a hundred lines do not help a model that got everything wrong."""
LONGEST_PROBLEM = 300

_BY_NAME = ("properties", "$defs", "definitions", "dependentSchemas")
"""Keywords that contain schemas under names of the author's choice."""


def check_answer_schema(schema: Mapping[str, JsonValue], *, field: str = "answer_schema") -> str:
    """Check a schema and return its canonical text.

    Raises:
        InvalidInputError: not a JSON schema, or one that cannot check answers; names the place.
    """
    text = json.dumps(schema, sort_keys=False, ensure_ascii=False, allow_nan=False)
    if len(text) > LARGEST_SCHEMA_CHARACTERS:
        raise InvalidInputError.of_field(
            field, f"The schema is longer than {LARGEST_SCHEMA_CHARACTERS:,} characters of JSON. Shorten it."
        )
    # Bound the depth first: the checks below recurse as deep as the schema.
    for path, part in _parts(dict(schema), field, depth=0):
        _check_part(part, path)
    if schema.get("type") != "object":
        raise InvalidInputError.of_field(f"{field}.type", 'An answer has to be an object. Add `"type": "object"`.')
    jsonschema = _jsonschema()
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.exceptions.SchemaError as error:
        path = f"{field}{error.json_path.removeprefix('$')}"
        raise InvalidInputError.of_field(path, str(error.message)[:LONGEST_PROBLEM]) from None
    return text


def problems_of(answer: JsonValue, schema_text: str) -> list[str]:
    """Return the problems of an answer, each with its place; empty if it follows the schema."""
    schema = json.loads(schema_text)
    validator = _validator_class()(schema, registry=_empty_registry())
    found: list[str] = []
    try:
        for error in validator.iter_errors(answer):
            found.append(f"{error.json_path}: {error.message}"[:LONGEST_PROBLEM])
            if len(found) == SHOWN_PROBLEMS:
                break
    except RecursionError:
        return ["$: the schema refers to itself without end, so that no answer can follow it"]
    except _unresolvable() as error:
        return [f"$: the schema refers to a missing part: {error}"[:LONGEST_PROBLEM]]
    return found


def is_strict(schema_text: str) -> bool:
    """Return whether the schema suits strict mode: every object lists all its fields and allows no others."""
    schema = json.loads(schema_text)
    for _, part in _parts(schema, "", depth=0):
        if "properties" not in part and part.get("type") != "object":
            continue
        names: set[str] = set(part.get("properties", {}))
        required: set[str] = set(part.get("required", ()))
        if part.get("additionalProperties") is not False or required != names:
            return False
    return True


def _parts(schema: Any, path: str, *, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema within a schema, with its place.

    Raises:
        InvalidInputError: the schema is nested deeper than DEEPEST.
    """
    if depth > DEEPEST:
        raise InvalidInputError.of_field(path, f"The schema is nested deeper than {DEEPEST} levels. Flatten it.")
    if isinstance(schema, list):
        for index, item in enumerate(cast("list[Any]", schema)):
            yield from _parts(item, f"{path}[{index}]", depth=depth + 1)
        return
    if not isinstance(schema, dict):
        return
    part = cast("dict[str, Any]", schema)
    yield path, part
    for keyword, value in part.items():
        if keyword in _BY_NAME and isinstance(value, dict):
            for name, below in cast("dict[str, Any]", value).items():
                yield from _parts(below, f"{path}.{keyword}.{name}", depth=depth + 1)
        elif keyword not in ("enum", "const", "default", "examples", "required"):
            yield from _parts(value, f"{path}.{keyword}", depth=depth + 1)


def _check_part(part: Mapping[str, Any], path: str) -> None:
    for keyword in ("$ref", "$dynamicRef"):
        reference = part.get(keyword)
        if reference is not None and not str(reference).startswith("#"):
            raise InvalidInputError.of_field(
                f"{path}.{keyword}", "The reference leaves the schema, and nothing is fetched. Use `#/$defs/…`."
            )
    if "patternProperties" in part:
        raise InvalidInputError.of_field(
            f"{path}.patternProperties", "`patternProperties` is not supported. Name the fields in `properties`."
        )
    pattern = part.get("pattern")
    if isinstance(pattern, str):
        try:
            _matcher(pattern)
        except SchemaError:
            raise InvalidInputError.of_field(
                f"{path}.pattern",
                "The pattern cannot be checked in linear time. Leave out look-arounds and back-references.",
            ) from None


def _matcher(pattern: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


def _matches(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    """Check the keyword `pattern` in linear time, so that no tenant's pattern can hang the process."""
    if not isinstance(instance, str):
        return
    try:
        _matcher(pattern).validate_python(instance)
    except ValidationError:
        yield _jsonschema().exceptions.ValidationError(f"{instance[:80]!r} does not match {pattern!r}")


def _jsonschema() -> Any:
    return importlib.import_module("jsonschema")


def _validator_class() -> Any:
    jsonschema = _jsonschema()
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _matches})


def _empty_registry() -> Any:
    return importlib.import_module("referencing").Registry()


def _unresolvable() -> Any:
    return importlib.import_module("referencing").exceptions.Unresolvable
