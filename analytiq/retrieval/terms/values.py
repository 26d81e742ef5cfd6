"""Numbers and amounts with their units as one term, however they are written.

`1234.5`, `1,234.50`, `1 234,50` and `1.234,50` are `1234.5`; `230V`, `230 V` and `230 volts` are `230v`. A number whose
sign separates thousands in one country and decimals in another (`1.234`) has both readings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_UNITS = (
    "v volt volts",
    "kv kilovolt kilovolts",
    "mv millivolt millivolts",
    "a amp amps ampere amperes",
    "ma milliamp milliamps milliampere milliamperes",
    "ah",
    "mah",
    "w watt watts",
    "kw kilowatt kilowatts",
    "mw megawatt megawatts",
    "kwh kilowattstunden",
    "mwh",
    "hp",
    "kva",
    "hz hertz",
    "khz kilohertz",
    "mhz megahertz",
    "ghz gigahertz",
    "\u03c9 ohm ohms",
    "k\u03c9 kohm kiloohm",
    "nf",
    "\u03bcf uf",
    "db decibel decibels dezibel",
    "lm lumen lumens",
    "lx lux",
    "k kelvin",
    "\u00b0c degc celsius",
    "\u00b0f degf fahrenheit",
    "\u00b0 deg degree degrees grad",
    "m meter meters metre metres metern",
    "km kilometer kilometers kilometre kilometres",
    "cm centimeter centimeters centimetre centimetres zentimeter",
    "mm millimeter millimeters millimetre millimetres",
    "\u03bcm um micron microns micrometer micrometers",
    "nm nanometer nanometers nanometre",
    "ft foot feet",
    "yd yard yards",
    "mi mile miles",
    "inch inches zoll",
    "m2 sqm qm",
    "m3 cbm",
    "cm2",
    "cm3 ccm",
    "mm2",
    "km2",
    "ha hectare hectares hektar",
    "l liter liters litre litres",
    "ml milliliter milliliters millilitre millilitres",
    "hl",
    "kg kilogram kilograms kilogramm kilo kilos",
    "g gram grams gramm gramme grammes",
    "mg milligram milligrams milligramm",
    "\u03bcg ug mcg microgram micrograms",
    "t ton tons tonne tonnes tonnen",
    "lb lbs pound pounds",
    "oz ounce ounces",
    "n newton newtons",
    "kn kilonewton",
    "nm3",
    "j joule joules",
    "kj",
    "kcal",
    "pa pascal",
    "kpa",
    "hpa",
    "mpa",
    "bar bars",
    "mbar",
    "psi",
    "rpm u/min",
    "s sec secs second seconds sekunde sekunden",
    "ms millisecond milliseconds millisekunden",
    "\u03bcs us microsecond microseconds",
    "min mins minute minutes minuten",
    "h hr hrs hour hours stunde stunden heures",
    "d day days tag tage tagen jours",
    "km/h kmh kph",
    "m/s",
    "mph",
    "l/min",
    "l/h",
    "m3/h",
    "mg/l",
    "g/l",
    "kg/m3",
    "bit bits",
    "b byte bytes",
    "kb kilobyte kilobytes",
    "mb megabyte megabytes",
    "gb gigabyte gigabytes",
    "tb terabyte terabytes",
    "kib",
    "mib",
    "gib",
    "tib",
    "mbit/s mbps",
    "gbit/s gbps",
    "dpi",
    "px pixel pixels",
    "mp megapixel megapixels",
    "% percent prozent pourcent pct",
    "\u2030 promille permille",
    "usd $ dollar dollars",
    "eur \u20ac euro euros",
    "gbp \u00a3",
    "jpy \u00a5 yen",
    "chf",
)
"""A unit as it stands in terms, and its other spellings, in lower case: a search does not tell mW from MW."""
_ALIASES = {spelling: unit.split()[0] for unit in _UNITS for spelling in unit.split()} | {
    "per cent": "%",
    "degrees celsius": "\u00b0c",
    "degrees fahrenheit": "\u00b0f",
    "\u00b0 c": "\u00b0c",
    "\u00b0 f": "\u00b0f",
    "cubic meters": "m3",
    "cubic metres": "m3",
    "square meters": "m2",
    "square metres": "m2",
    "square feet": "sqft",
    "sq ft": "sqft",
    "sqft": "sqft",
}
_BLANK = "[ \u00a0\u2009\u202f]"
_DIGITS = re.compile(
    rf"\d{{1,3}}(?:{_BLANK}\d{{3}})++(?:[.,]\d++)?(?![.,'\u2019:/]?\d)"
    r"|\d{1,3}(?:['\u2019]\d{3})++(?:[.,]\d++)?(?![.,'\u2019:/]?\d)"
    r"|\d{1,3}(?:,\d{2,3}){0,12},\d{3}(?:\.\d++)?(?![.,'\u2019:/]?\d)"
    r"|\d{1,3}(?:\.\d{3})++(?:,\d++)?(?![.,'\u2019:/]?\d)"
    r"|\d++(?:[.,]\d++)?(?![.,'\u2019:/]?\d)"
)
_UNIT = re.compile(
    rf"(?P<blank>{_BLANK}?)(?P<unit>(?:(?:per|degrees|square|cubic|sq)[ ])?"
    r"(?P<first>[^\W\d_]{1,14}[23]?)(?:/[^\W\d_]{1,4}[23]?)?(?![^\W_])|[%\u2030$\u20ac\u00a3\u00a5]"
    r"|\u00b0(?:[ ]?[cf](?![^\W_]))?)",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"(?:[$\u20ac\u00a3\u00a5]|(?<![^\W_])(?:usd|eur|gbp|chf|jpy))[ \u00a0\u202f]?\Z", re.IGNORECASE)
_RUN = re.compile(r"\d++")
_WITHIN = ".,:/'\u2019"
"""Signs within numbers, times and paths."""
_SIGNS = re.compile(r"[.,]")
_GROUPING = re.compile(rf"{_BLANK}|['\u2019]")
MOST_DIGITS = 40
"""Most characters of a number: anything longer is encoded data."""


@dataclass(frozen=True, slots=True)
class Value:
    """A number, amount or date: `text[start:end]` as `written`, and its terms.

    Attributes:
        terms: the value in one notation, the likeliest reading first.
        is_amount: it has a unit.
        broader: terms of chunks alone, for questions that are less exact: the month of a date.
        words: the number without signs, which is a word of chunks.
        broader_words: the number of an amount in one word, a word of chunks alone.
    """

    start: int
    end: int
    written: str
    terms: tuple[str, ...] = ()
    is_amount: bool = False
    broader: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    broader_words: tuple[str, ...] = ()


def amounts_in(text: str) -> Iterator[Value]:
    """Find the numbers that have signs or a unit; one with both is an amount and a number."""
    position = 0
    for run in _RUN.finditer(text):
        start = run.start()
        if start < position or not is_start(text, start):
            continue
        match = _DIGITS.match(text, start)
        if match is None or len(match.group()) > MOST_DIGITS:
            continue
        position = match.end()
        is_fraction = start > 0 and text[start - 1] == "."
        yield from _values_at(text, start - is_fraction, position)


def _values_at(text: str, start: int, end: int) -> Iterator[Value]:
    digits = text[start:end]
    unit = _UNIT.match(text, end)
    symbol = _symbol(unit) if unit else None
    if unit and symbol is None and not unit["blank"]:
        return  # a code, such as 5x
    is_joined = unit is not None and symbol is not None and not unit["blank"] and unit["unit"][0].isalnum()
    readings = readings_of(digits)
    first, last = start, unit.end() if unit and symbol else end
    if symbol is None and (currency := _CURRENCY.search(text, max(0, start - len(" eur ")), start)):
        symbol, first = _ALIASES[currency.group().strip().lower()], currency.start()
    if symbol:
        yield Value(first, last, text[first:last], tuple(f"{reading}{symbol}" for reading in readings), is_amount=True)
    if text[end : end + 1] == "-" and text[end + 1 : end + 2].isalpha():
        return  # part of a name, such as phosphatidylinositol-3,4-biphosphate
    terms = tuple(reading for reading in readings if "." in reading)
    # The digits of a number that is written as a word of its own are a term already.
    words = tuple(each for each in readings if each.isdigit() and not digits.startswith(each))
    broader = tuple(each for each in readings if is_joined and each.isdigit() and each not in words)
    if terms or words or broader:
        yield Value(start, end, digits, terms, words=words, broader_words=broader)


def is_start(text: str, start: int) -> bool:
    """Return True if a number begins there: not within a word, a longer number or a time."""
    before = text[max(0, start - 2) : start]
    if before[-1:] == "-":
        return not before[:-1].isalpha()
    if not before or not (before[-1].isalnum() or before[-1] in _WITHIN):
        return True
    return before[-1] == "." and not before[:-1].isalnum() and before[:-1] != "."


def _symbol(unit: re.Match[str]) -> str | None:
    for spelling in (unit["unit"], unit["first"]):
        if spelling and (symbol := _ALIASES.get(spelling.lower().replace("\u00b5", "\u03bc"))):
            return symbol
    return None


def readings_of(written: str) -> tuple[str, ...]:
    """Return a number with a point before its decimals and no other sign; two readings if its sign is ambiguous."""
    number = _GROUPING.sub("", written)
    signs = _SIGNS.findall(number)
    if not signs:
        return (_plain(number, ""),)
    whole, _, decimals = number.rpartition(signs[-1])
    as_decimals = _plain(_SIGNS.sub("", whole), decimals)
    as_whole = _plain(_SIGNS.sub("", number), "")
    if len(signs) > 1 and signs[0] == signs[-1]:
        return (as_whole,)
    is_ambiguous = len(signs) == 1 and number == written and len(decimals) == 3 and 1 <= len(whole) <= 3
    return (as_whole, as_decimals) if is_ambiguous and whole[0] != "0" else (as_decimals,)


def _plain(whole: str, decimals: str) -> str:
    decimals = decimals.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{decimals}" if decimals else whole
