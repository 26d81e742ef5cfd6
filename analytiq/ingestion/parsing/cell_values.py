"""The displayed text of a spreadsheet cell, from its value and number format."""

import re
from datetime import date, datetime, time, timedelta

from analytiq.ingestion.parsing.sheet_text import one_line

_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.')
"""Literal parts of a number format: quoted text, escaped characters, currencies, colours, conditions, padding."""
_PLACEHOLDERS = re.compile(r"([0#?][0#?,]*)(?:\.([0#?]+))?")
_SIGNIFICANT_DIGITS = 15
"""Digits that Excel shows of a number: there, 0.1 + 0.2 is 0.3."""
_MARK = "\ufffc"
_MAX_DIGITS = 30
_LONGEST_FORMAT = 255
"""Excel's limit."""


def shown_value(value: object, number_format: str | None = None) -> str:
    """Return the displayed text of a cell: dates as ISO, amounts with their currency and decimals, percentages as such.

    Thousands are not grouped: the separator depends on the viewer, not on the file.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return _number(value, number_format or "General")
    return _moment(value) if isinstance(value, date | time | timedelta) else one_line(str(value))


def _moment(value: date | time | timedelta) -> str:
    if isinstance(value, datetime):
        value = value.replace(microsecond=0, tzinfo=None)
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return value.replace(microsecond=0).isoformat()
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _number(value: float, number_format: str) -> str:
    section = number_format[:_LONGEST_FORMAT].partition(";")[0]
    literals: list[str] = []

    def keep(match: re.Match[str]) -> str:
        text = match[1] or match[2] or match[3]
        if not text:
            return ""
        literals.append(text)
        return _MARK

    pattern = _LITERAL.sub(keep, section)
    places = _PLACEHOLDERS.search(pattern)
    # Exponents, fractions and formats that scale by thousands say the same number in another way.
    if places is None or places[1].endswith(",") or re.search(r"[eE][+-]|/|General|@", pattern):
        return _plain(value)
    before, after = pattern[: places.start()], pattern[places.end() :]
    if after.startswith(",") or _PLACEHOLDERS.search(after):
        return _plain(value)
    number = _rounded(value * 100 if "%" in pattern else value, places[1], places[2] or "")
    texts = iter(literals)
    before, after = (re.sub(_MARK, lambda _: next(texts, ""), side) for side in (before, after))
    sign, number = ("-", number[1:]) if number.startswith("-") else ("", number)
    return one_line(f"{sign}{before.replace('(', '')}{number}{after.replace(')', '')}")


def _rounded(value: float, whole: str, fraction: str) -> str:
    most, least = min(len(fraction), _MAX_DIGITS), min(fraction.count("0"), _MAX_DIGITS)
    digits = f"{abs(value):.{most}f}"
    while most > least and digits.endswith("0"):
        digits, most = digits[:-1], most - 1
    integer, _, decimals = digits.partition(".")
    number = integer.zfill(min(whole.count("0"), _MAX_DIGITS)) + (f".{decimals}" if decimals else "")
    return f"-{number}" if value < 0 and number.strip("0.") else number


def _plain(value: float) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**_SIGNIFICANT_DIGITS:
        return str(int(value))
    return str(value) if isinstance(value, int) else f"{value:.{_SIGNIFICANT_DIGITS}g}"
