"""Fields of a service's JSON, whatever it holds: a field of another type reads as an empty one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pydantic import JsonValue

Object = Mapping[str, JsonValue]
LONGEST_ADDRESS = 2000


def object_of(value: JsonValue | Object) -> Object:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def objects_of(value: JsonValue) -> Sequence[Object]:
    """Return the objects of an array; none for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(value: JsonValue) -> str:
    """Return a text or a number as a text; "" for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def inner(value: JsonValue | Object, *names: str) -> JsonValue:
    """Return the value behind names of nested objects; None where one is missing."""
    *outer, last = names
    for name in outer:
        value = object_of(value).get(name)
    return object_of(value).get(last)


def web_address(value: JsonValue) -> str | None:
    """Return an address of the web for people; None for anything else."""
    text = text_of(value)
    is_web = text.startswith(("https://", "http://")) and len(text) <= LONGEST_ADDRESS
    return text if is_web and text.isprintable() and not set(text) & set(' <>"\\') else None


def moment_of(value: JsonValue) -> datetime | None:
    """Return an ISO 8601 time; None for anything else."""
    try:
        moment = datetime.fromisoformat(text_of(value))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
