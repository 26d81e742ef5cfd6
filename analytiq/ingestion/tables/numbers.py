"""Numbers as people write them: German and English marks, currencies, percentages, brackets for less than zero."""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

_SYMBOLS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₺": "TRY", "zł": "PLN", "kr": "kr"}
_CODE_NAMES = (  # noqa: SIM905 -- too many for a list
    "AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MXN MYR NGN NOK "
    "NZD PEN PHP PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
).split()
_CODES = frozenset(_CODE_NAMES)
_WORDS = {"euro": "EUR", "eur": "EUR", "dollar": "USD", "fr.": "CHF", "sfr.": "CHF"}
_UNIT = r"[€$£¥₹₽₺%‰]|zł|kr\.?|[A-Z]{3}|(?i:euro|dollar|s?fr\.)"
_WRITTEN = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−–])?\s*(?P<before>{_UNIT})?\s*(?P<inner>[-+−])?\s*"
    rf"(?P<digits>\d[\d.,'’ \u00a0\u202f]*(?:[eE][-+]?\d{{1,3}})?|[.,]\d+)\s*"
    rf"(?P<last>[-−])?\s*(?P<after>{_UNIT})?\s*\)?"
)
_PLAIN = re.compile(r"\d+")
_EXPONENT = re.compile(r"\d+\.\d+[eE][-+]?\d{1,3}|\d+[eE][-+]\d{1,3}")
"""`1E5` is a code more often than a number."""
_ENGLISH = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d*\.\d+|\d+\.")
_GERMAN = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d*)?|\d*,\d+|\d+,")
_SPACED = re.compile(r"\d{1,3}(?:['’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?")
_SPACES = re.compile(r"['’ \u00a0\u202f]")
LONGEST_NUMBER = 60
"""Characters of the longest text that is read as a number."""


class Style(Enum):
    """The writing of a number: the mark before its decimals."""

    ANY = "any"
    """Without a mark."""
    ENGLISH = "english"
    GERMAN = "german"
    EITHER = "either"
    """`1.234` is a number of three decimals, or a thousand."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number that was read. `digits` have no marks but those of `style`; `unit` is a currency's code, `%` or ""."""

    digits: str
    style: Style
    unit: str = ""
    is_negative: bool = False

    @property
    def has_leading_zero(self) -> bool:
        """Return True for codes such as `00123`."""
        return self.style is Style.ANY and len(self.digits) > 1 and self.digits.startswith("0")

    def value(self, style: Style) -> Decimal:
        """Return the number, its marks read by the column's style."""
        digits = self.digits
        if self.style in {Style.GERMAN, Style.ENGLISH, Style.EITHER}:
            mark = "," if (style if self.style is Style.EITHER else self.style) is Style.GERMAN else "."
            digits = digits.replace("." if mark == "," else ",", "").replace(mark, ".")
        number = Decimal(digits)
        return -number if self.is_negative else number


def read_number(text: str) -> Number | None:
    """Return the number that a text is, None for other texts."""
    if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER:
        return Number(text, Style.ANY)  # the most frequent
    if len(text) > LONGEST_NUMBER:
        return None
    match = _WRITTEN.fullmatch(text.strip())
    if match is None or bool(match["open"]) != text.rstrip().endswith(")"):
        return None
    units = [_unit(part) for part in (match["before"], match["after"]) if part]
    if None in units or len(units) > 1:
        return None
    signs = [part for part in (match["sign"], match["inner"], match["last"], match["open"]) if part]
    if len(signs) > 1:
        return None
    digits, style = _style(match["digits"].strip())
    if style is None:
        return None
    return Number(digits, style, units[0] or "" if units else "", bool(signs) and signs[0] != "+")


def _style(written: str) -> tuple[str, Style | None]:
    if _PLAIN.fullmatch(written):
        return written, Style.ANY
    if _EXPONENT.fullmatch(written):
        return written, Style.ENGLISH
    if _SPACED.fullmatch(written):
        digits = _SPACES.sub("", written)
        return digits, Style.GERMAN if "," in digits else Style.ENGLISH if "." in digits else Style.ANY
    is_english, is_german = _ENGLISH.fullmatch(written), _GERMAN.fullmatch(written)
    if is_english and is_german:
        return written, Style.EITHER
    return written, Style.ENGLISH if is_english else Style.GERMAN if is_german else None


def _unit(written: str) -> str | None:
    """Return the name of a unit, None for other letters."""
    if written in {"%", "‰"} or written in _CODES:
        return written
    return _SYMBOLS.get(written.rstrip(".")) or _WORDS.get(written.lower())
