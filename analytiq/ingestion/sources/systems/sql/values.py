"""Values of columns: as keys of items, as positions, as fields and as text."""

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import cast
from uuid import UUID

from pydantic import JsonValue

from analytiq.errors import InvalidInputError

Key = tuple[object, ...]
LONGEST_FIELD = 2000
"""Most characters of a field."""
_READERS: Mapping[str, Callable[[str], object]] = {
    "decimal": Decimal,
    "float": float,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "uuid": UUID,
    "bytes": bytes.fromhex,
}


class UnreadableValueError(ValueError):
    """A text is not what `written` returns."""


def written(value: object) -> JsonValue:
    """Return a value as JSON that tells its type; None for a value of another type."""
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, UUID):
        return {"uuid": str(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": bytes(cast("bytes", value)).hex()}
    return None


def read(content: JsonValue) -> object:
    """Return the value of what `written` returned.

    Raises:
        UnreadableValueError: it is something else.
    """
    if isinstance(content, bool | int | str):
        return content
    if isinstance(content, dict) and len(content) == 1:
        (name, text), *_ = content.items()
        if name in _READERS and isinstance(text, str):
            try:
                return _READERS[name](text)
            except (ValueError, InvalidOperation):
                pass
    raise UnreadableValueError


def external_id(key: Key) -> str:
    """Return a key as the id of an item: `42`, `ada`, or a list in JSON.

    Raises:
        InvalidInputError: a value is of a type that identifies nothing.
    """
    parts = [written(value) for value in key]
    if None in parts:
        raise InvalidInputError.of_field(
            "settings.key_columns", "The key columns must be numbers, texts, dates, UUIDs or bytes."
        )
    first = parts[0]
    if len(parts) == 1 and isinstance(first, str) and first and not _is_json(first):
        return first
    # A number is its own JSON; a text that looks like one is quoted.
    return json.dumps(first if len(parts) == 1 else parts, ensure_ascii=False)


def key_of(text: str, *, count: int) -> Key | None:
    """Return the key of an item's id; None if no row has it."""
    if not text or "\0" in text:
        return None
    if not _is_json(text):
        return (text,) if count == 1 else None
    try:
        content = cast("JsonValue", json.loads(text))
        parts = [content] if count == 1 else content
        key = tuple(read(part) for part in parts) if isinstance(parts, list) else ()
    except (ValueError, RecursionError):
        return None
    if len(key) != count or any(isinstance(part, str) and "\0" in part for part in key):
        return None
    return key if external_id(key) == text else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def collated(key: Key) -> Key:
    """Return a key so that those are equal which a collation of the database may take for equal."""
    return tuple(
        "".join(
            letter for letter in unicodedata.normalize("NFKD", part) if not unicodedata.combining(letter)
        ).casefold().rstrip()
        if isinstance(part, str)
        else part
        for part in key
    )  # fmt: skip


def as_field(value: object) -> JsonValue:
    """Return a value as a field of an item."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        # Not a number, and infinity, are no JSON.
        return value if value - value == 0 else str(value)
    return as_text(value)[:LONGEST_FIELD]


def as_text(value: object) -> str:
    """Return a value as text for people."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes | bytearray | memoryview):
        return f"({len(cast('bytes', value)):,} bytes)"
    if isinstance(value, Mapping):
        return json.dumps(cast("Mapping[str, object]", value), ensure_ascii=False, default=str)
    if isinstance(value, Sequence | set | frozenset):
        return ", ".join(as_text(part) for part in cast("Sequence[object]", value))
    return str(value)


def before(value: object, now: datetime, *, seconds: int) -> object:
    """Return the value from which the next run reads: some seconds before a time that is not in the future.

    The clock of a time without a zone may be ahead of UTC by 14 hours.
    """
    if not isinstance(value, datetime):
        return value
    latest = now if value.tzinfo else now.replace(tzinfo=None) + timedelta(hours=14)
    return min(value, latest) - timedelta(seconds=seconds)
