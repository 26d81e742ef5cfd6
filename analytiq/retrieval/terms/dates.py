"""Dates in any notation as one term: `2024-03-05`, and `2024-03` for their month."""

import re
from collections.abc import Collection, Iterator, Sequence

from analytiq.retrieval.terms.folding import folded, normalised
from analytiq.retrieval.terms.values import Value, is_start

MONTHS = (
    "january jan januar janvier janv enero ene gennaio gen janeiro januari stycznia styczeń января",
    "february feb februar février févr fév febrero febbraio fevereiro fev februari lutego luty февраля",
    "march mar märz mrz mars marzo março maart marca marzec марта",
    "april apr avril avr abril abr aprile kwietnia kwiecień апреля",
    "may mai mayo maggio mag maio mei maj maja мая",
    "june jun juni juin junio giugno giu junho czerwca czerwiec июня",
    "july jul juli juillet juil julio luglio lug julho lipca lipiec июля",
    "august aug août agosto ago augustus augusti sierpnia sierpień августа",
    "september sep sept septembre septiembre settembre set setembro września wrzesień сентября",
    "october oct oktober okt octobre octubre ottobre ott outubro out października październik октября",
    "november nov novembre noviembre novembro listopada listopad ноября",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro december grudnia grudzień декабря",
)
"""The names of each month and their abbreviations."""
TWO_DIGIT_YEARS_FROM = 1970

_MONTH_OF = {folded(name): number for number, names in enumerate(MONTHS, 1) for name in names.split()}
_NAMES = frozenset(name for names in MONTHS for name in names.split()) | frozenset(_MONTH_OF)
_NAME = "|".join(sorted(_NAMES, key=lambda name: (-len(name), name)))
_END = r"(?=t\d|(?![^\W_]|[./,-]\d))"
_GAP = r"[\s.,/-]{1,3}"
_YEAR = r"(?P<year>1[5-9]\d\d|2[01]\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|º|ª|o|a)?"
_NUMERIC = re.compile(
    rf"(?:{_YEAR}(?P<sign>[-/.])(?P<second>\d\d?)(?P=sign)(?P<third>\d\d?)"
    rf"|(?P<one>\d\d?)(?P<mark>[-/.])(?P<two>\d\d?)(?P=mark)(?P<end>\d{{4}}|\d\d)){_END}",
    re.IGNORECASE,
)
_EASTERN = re.compile(r"(?<!\d)(?P<year>\d{4}) ?[年년] ?(?P<month>\d\d?) ?[月월](?: ?(?P<day>\d\d?) ?[日일])?")
_NAMED = re.compile(
    rf"(?<![^\W_])(?:"
    rf"{_DAY}{_GAP}(?:of |de |den |d['\u2019])?(?P<month>{_NAME})(?:{_GAP}|\.? de | del )(?:of )?{_YEAR}"
    rf"|(?P<month_first>{_NAME}){_GAP}(?P<day_second>[0-3]?\d)(?:st|nd|rd|th)?(?:{_GAP})(?P<year_third>[12]\d{{3}})"
    rf"|(?P<year_first>[12]\d{{3}}){_GAP}(?P<month_second>{_NAME}){_GAP}(?P<day_third>[0-3]?\d)"
    rf"|(?P<month_alone>{_NAME})(?:{_GAP}| de | of )(?P<year_alone>1[5-9]\d\d|2[01]\d\d)"
    rf")(?![^\W_])",
    re.IGNORECASE,
)
_REACH = 26
"""Most characters between a year and the beginning or the end of its date."""
_RUN = re.compile(r"\d{1,4}(?!\d)")
_MARKS = frozenset("-/.")


def dates_in(text: str, words: Collection[str]) -> Iterator[Value]:
    """Find the dates of a text; those of slashes have two readings if both are dates.

    `words`: those of the normalised text, which tell what need not be looked for.
    """
    has_names = not _NAMES.isdisjoint(words)
    position = 0
    for run in _RUN.finditer(text):
        if text[run.end() : run.end() + 1] in _MARKS and is_start(text, run.start()):
            match = _NUMERIC.match(text, run.start())
            if match and (dates := _numeric_dates(match)):
                yield _value(match, dates)
        if has_names and run.end() - run.start() == len("2024") and run.start() >= position:
            begin, end = max(position, run.start() - _REACH), run.end() + _REACH
            if (match := _NAMED.search(text, begin, end)) and (date := _named_date(match)):
                position = match.end()
                yield _value(match, [date])
    if not text.isascii():
        for match in _EASTERN.finditer(text):
            year, month, day = match.group("year", "month", "day")
            if date := _date(year, month, day or None):
                yield _value(match, [date])


def _value(match: re.Match[str], dates: Sequence[str]) -> Value:
    months = tuple(dict.fromkeys(date[: len("2024-03")] for date in dates))
    return Value(*match.span(), match.group(), tuple(dict.fromkeys(dates)), broader=months)


def _numeric_dates(match: re.Match[str]) -> list[str]:
    year, second, third = match.group("year", "second", "third")
    if year:
        return list(filter(None, [_date(year, second, third)]))
    one, two, end = match.group("one", "two", "end")
    full = _full_year(end)
    day_first = _date(full, two, one)
    month_first = _date(full, one, two) if match["mark"] != "." else None
    return list(filter(None, [day_first, month_first]))


def _named_date(match: re.Match[str]) -> str | None:
    found = match.groupdict()
    name = found["month"] or found["month_first"] or found["month_second"] or found["month_alone"]
    month = str(_MONTH_OF[folded(normalised(name))])
    year = found["year"] or found["year_third"] or found["year_first"] or found["year_alone"]
    return _date(year, month, found["day"] or found["day_second"] or found["day_third"])


def _date(year: str, month: str, day: str | None) -> str | None:
    """Return a date, or a month without a day, as ISO 8601 writes it; None if there is no such month or day."""
    if not 1 <= int(month) <= 12:
        return None
    of_month = f"{year}-{int(month):02}"
    if day is None:
        return of_month
    return f"{of_month}-{int(day):02}" if 1 <= int(day) <= 31 else None


def _full_year(written: str) -> str:
    if len(written) == 4:
        return written
    century = TWO_DIGIT_YEARS_FROM // 100 + (int(written) < TWO_DIGIT_YEARS_FROM % 100)
    return f"{century}{written}"
