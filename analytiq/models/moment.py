"""Moments as callers write them and as they are stored: RFC 3339, in milliseconds."""

import re
from datetime import UTC, datetime

_RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})", re.ASCII | re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_moment(text: str, *, allows_days: bool = False) -> datetime:
    """Return the moment of an RFC 3339 text in UTC; a day alone, if allowed, is its beginning in UTC.

    Raises:
        ValueError: its text ends a sentence that begins with the expected form.
    """
    if allows_days and _DAY.fullmatch(text):
        text = f"{text}T00:00:00Z"
    if not _RFC3339.fullmatch(text):
        raise ValueError("it is written otherwise")
    try:
        return to_milliseconds(datetime.fromisoformat(text.upper()))
    except OverflowError as error:
        raise ValueError("in UTC it is outside the years 1 to 9999") from error
    except ValueError as error:
        raise ValueError(f"it is on no calendar ({error})") from error


def to_milliseconds(moment: datetime) -> datetime:
    """Return an aware moment in UTC, cut to the milliseconds that BSON stores.

    Raises:
        OverflowError: in UTC it is outside the years 1 to 9999.
    """
    utc = moment.astimezone(UTC)
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


def written(moment: datetime) -> str:
    """Return a moment in UTC as a string of fixed length, ordered like the moments."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
