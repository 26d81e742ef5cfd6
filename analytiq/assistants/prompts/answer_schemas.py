"""The JSON schema that a prompt's answers follow: which are allowed, and what is wrong with an answer.

A schema is written by a tenant and checks what a model says, so neither may make the process fetch, hang or recurse
without end: references stay within the schema, patterns are of the linear kind, depth is bounded.
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
"""So many are told at once: a model that has all of it wrong is not helped by a hundred lines."""
LONGEST_PROBLEM = 300

_BY_NAME = ("properties", "$defs", "definitions", "dependentSchemas")
"""Keywords that hold schemas by names of anybody's choosing."""


def check_answer_schema(schema: Mapping[str, JsonValue], *, field: str = "answer_schema") -> str:
    """The schema as it is stored, in one form for one content.

    Raises:
        InvalidInputError: it is no JSON schema, or one that answers are not checked by; names the place.
    """
    text = json.dumps(schema, sort_keys=False, ensure_ascii=False, allow_nan=False)
    if len(text) > LARGEST_SCHEMA_CHARACTERS:
        raise InvalidInputError.of_field(field, f"is longer than {LARGEST_SCHEMA_CHARACTERS:,} characters of JSON")
    # Bounded first: what follows goes as deep as the schema does.
    for path, part in _parts(dict(schema), field, depth=0):
        _check_part(part, path)
    if schema.get("type") != "object":
        raise InvalidInputError.of_field(f"{field}.type", 'an answer is an object: `"type": "object"` is missing')
    jsonschema = _jsonschema()
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.exceptions.SchemaError as error:
        path = f"{field}{error.json_path.removeprefix('$')}"
        raise InvalidInputError.of_field(path, str(error.message)[:LONGEST_PROBLEM]) from None
    return text


def problems_of(answer: JsonValue, schema_text: str) -> list[str]:
    """What is wrong with an answer, each with its place; empty where it follows the schema."""
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
        return [f"$: the schema refers to what it has not: {error}"[:LONGEST_PROBLEM]]
    return found


def is_strict(schema_text: str) -> bool:
    """Whether providers take the schema in strict mode: every object lists all its fields, and allows no others."""
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
    """Each schema within a schema, with its place.

    Raises:
        InvalidInputError: it goes deeper than DEEPEST.
    """
    if depth > DEEPEST:
        raise InvalidInputError.of_field(path, f"goes deeper than {DEEPEST} levels")
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
                f"{path}.{keyword}", "a reference stays within the schema: `#/$defs/…`; nothing is fetched"
            )
    if "patternProperties" in part:
        raise InvalidInputError.of_field(f"{path}.patternProperties", "is not supported; name the fields")
    pattern = part.get("pattern")
    if isinstance(pattern, str):
        try:
            _matcher(pattern)
        except SchemaError:
            raise InvalidInputError.of_field(
                f"{path}.pattern", "is no pattern that can be checked in linear time: look-arounds and"
                " back-references cannot"
            ) from None  # fmt: skip


def _matcher(pattern: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


def _matches(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    """The keyword `pattern`, by an engine whose time is linear: a tenant's pattern cannot stop the process."""
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
