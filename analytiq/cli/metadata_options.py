"""The option `--metadata KEY=VALUE`."""

from collections.abc import Sequence

from pydantic import JsonValue
from pydantic_core import from_json

from analytiq.errors import InvalidInputError


def read_metadata(given: Sequence[str]) -> dict[str, JsonValue] | None:
    """Read metadata: numbers, true, false, null, lists and objects as JSON, all else as text; None for none.

    Raises:
        InvalidInputError: there is no `=`, or a key is repeated.
    """
    values: dict[str, JsonValue] = {}
    for item in given:
        key, separator, value = item.partition("=")
        if not separator or not key.strip():
            raise InvalidInputError(f"--metadata {item!r} is not of the form KEY=VALUE, such as year=2024.")
        if key.strip() in values:
            raise InvalidInputError(f"--metadata gives {key.strip()!r} twice.")
        values[key.strip()] = _value(value)
    return values or None


def _value(text: str) -> JsonValue:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text
