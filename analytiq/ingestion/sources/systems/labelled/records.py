"""Records of a table or list: CSV, JSON, or JSON Lines."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from pydantic_core import from_json

from analytiq.errors import InvalidInputError

MOST_RECORDS = 100_000
MOST_CHARACTERS = 32 * 1024 * 1024
LONGEST_VALUE = 100_000
Record = Mapping[str, JsonValue]


def records_of(text: str) -> list[Record]:
    """Return the records of a text, with field names in lower case; the beginning of the text tells its format.

    JSON is a list of objects, or an object with one list of them. CSV has a row of headings; its delimiter is a comma,
    semicolon or tab.

    Raises:
        InvalidInputError: the text has none of these formats, or too many records.
    """
    if len(text) > MOST_CHARACTERS:
        raise InvalidInputError.of_field("text", f"More than {MOST_CHARACTERS:,} characters.")
    text = text.removeprefix("\ufeff").strip()
    if not text:
        return []
    records = _of_json(text) if text[0] in "[{" else _of_csv(text)
    if len(records) > MOST_RECORDS:
        raise InvalidInputError.of_field("text", f"More than {MOST_RECORDS:,} records.")
    return [{str(name).strip().lower(): value for name, value in record.items()} for record in records]


def value_of(record: Record, *names: str) -> str:
    """Return the first given field as text, without surrounding blanks; empty if there is none."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()[:LONGEST_VALUE].replace("\0", "")
    return ""


def _of_json(text: str) -> list[Record]:
    try:
        whole: JsonValue = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        if "\n" not in text or text[0] == "[":
            raise _unreadable("JSON", error) from None
        return _of_lines(text)
    if isinstance(whole, dict):
        lists = [value for value in whole.values() if isinstance(value, list)]
        whole = lists[0] if len(lists) == 1 and all(isinstance(each, dict) for each in lists[0]) else [whole]
    return _objects(whole if isinstance(whole, list) else [])


def _of_lines(text: str) -> list[Record]:
    try:
        return _objects([from_json(line, allow_inf_nan=False) for line in text.splitlines() if line.strip()])
    except ValueError as error:
        raise _unreadable("JSON Lines", error) from None


def _objects(values: Sequence[JsonValue]) -> list[Record]:
    found = [value for value in values if isinstance(value, dict)]
    if len(found) < len(values):
        raise InvalidInputError.of_field("text", "Each record must be a JSON object.")
    return list(found)


def _of_csv(text: str) -> list[Record]:
    head = text.splitlines()[0]
    delimiter = max(",;\t", key=head.count)
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        # Cells beyond the headings are a list under None.
        return [{name: value for name, value in row.items() if name is not None} for row in rows]
    except csv.Error as error:
        raise _unreadable("CSV", error) from None


def _unreadable(name: str, error: Exception) -> InvalidInputError:
    return InvalidInputError.of_field("text", f"Not readable as {name}: {str(error)[:200]}.")


def as_json(values: Mapping[str, JsonValue]) -> str:
    """Return a stable text of some values, to be hashed."""
    return json.dumps(values, sort_keys=True, ensure_ascii=False)
