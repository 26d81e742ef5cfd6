"""Dates and times as people write them: ISO, German, English and American."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from functools import lru_cache

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jan jän jänner", "february februar feb", "march märz mar mär mrz maerz", "april apr",
            "may mai", "june juni jun", "july juli jul", "august aug", "september sep sept",
            "october oktober oct okt", "november nov", "december dezember dec dez",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_TIME = (
    r"(?:[T ,]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?:\s*(?P<half>(?i:am|pm)))?(?:\s*(?P<zone>Z|UTC|[-+]\d{2}:?\d{2}))?(?:\s*Uhr)?)?"
)
_YEAR_FIRST = re.compile(r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})" + _TIME)
_DAY_FIRST = re.compile(r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4}|\d{2})" + _TIME)
_SLASHED = re.compile(r"(?P<day>\d{1,2})(?P<mark>[/-])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})" + _TIME)
_NAMED = re.compile(
    r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?[ -]?(?P<name>[A-Za-zÄÖÜäöü]{3,9})\.?,?[ -](?P<year>\d{4})" + _TIME
)
_MONTH_FIRST = re.compile(
    r"(?P<name>[A-Za-zÄÖÜäöü]{3,9})\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4})" + _TIME
)
LONGEST_MOMENT = 48
_CENTURY = 69
"""Years of two digits from here on are of the twentieth century."""


class Order(Enum):
    """The order of day and month."""

    KNOWN = "known"
    DAY_FIRST = "day first"
    MONTH_FIRST = "month first"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a time that was read; `order` tells which readings of `first` and `second` make sense."""

    year: int
    first: int
    second: int
    order: Order
    offset: timedelta | None = None
    """From midnight, in UTC if the text names a time zone; None for a date without time."""

    def value(self, order: Order) -> datetime:
        """Return the moment; `order` is that of its column."""
        own = order if self.order is Order.EITHER else self.order
        day, month = (self.second, self.first) if own is Order.MONTH_FIRST else (self.first, self.second)
        return datetime(self.year, month, day) + (self.offset or timedelta())  # noqa: DTZ001 -- of the document's zone


@lru_cache(maxsize=4096)  # a column repeats its dates
def read_moment(text: str) -> Moment | None:
    """Return the date or time that a text is, None for other texts."""
    text = text.strip()
    if not 6 <= len(text) <= LONGEST_MOMENT or not any(character.isdigit() for character in text[:12]):
        return None
    for pattern in (_YEAR_FIRST, _DAY_FIRST, _SLASHED, _NAMED, _MONTH_FIRST):
        match = pattern.fullmatch(text)
        if match is not None:
            return _moment(match, is_slashed=pattern is _SLASHED)
    return None


def _moment(match: re.Match[str], *, is_slashed: bool) -> Moment | None:
    parts = match.groupdict()
    name = parts.get("name")
    month = _MONTHS.get(name.lower(), 0) if name else int(parts["month"])
    day, year = int(parts["day"]), int(parts["year"])
    if len(parts["year"]) == 2:
        year += 1900 if year >= _CENTURY else 2000
    offset = _offset(parts)
    if offset is not None and offset < timedelta(days=-2):
        return None
    readings = {
        Order.DAY_FIRST: _is_date(year, month, day),
        Order.MONTH_FIRST: is_slashed and _is_date(year, day, month),
    }
    if not any(readings.values()):
        return None
    order = Order.KNOWN if not is_slashed else Order.EITHER
    if is_slashed and not all(readings.values()):
        order = Order.DAY_FIRST if readings[Order.DAY_FIRST] else Order.MONTH_FIRST
    elif is_slashed and day == month:
        order = Order.KNOWN
    return Moment(year, day, month, order, offset)


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return 2 <= year <= 9997  # a time zone moves a moment to the next day


_NO_TIME = timedelta(days=-10)


def _offset(parts: dict[str, str | None]) -> timedelta | None:
    """Return the time of day; less than minus two days if it is none."""
    if parts["hour"] is None or parts["minute"] is None:
        return None
    hour, minute, second = int(parts["hour"]), int(parts["minute"]), int(parts["second"] or 0)
    if parts["half"]:
        if not 1 <= hour <= 12:
            return _NO_TIME
        hour = hour % 12 + (12 if parts["half"].lower() == "pm" else 0)
    if hour > 24 or minute > 59 or second > 60 or (hour == 24 and (minute or second)):
        return _NO_TIME
    micro = int((parts["fraction"] or "0")[:6].ljust(6, "0"))
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micro) - _zone(parts["zone"])


def _zone(written: str | None) -> timedelta:
    if written is None or written in {"Z", "UTC"}:
        return timedelta()
    sign = -1 if written[0] == "-" else 1
    return sign * timedelta(hours=int(written[1:3]), minutes=int(written[-2:]))


def of_value(value: date) -> datetime:
    """Return the moment that a spreadsheet states; times with a zone are converted to UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return datetime(value.year, value.month, value.day)  # noqa: DTZ001 -- of the document's zone
