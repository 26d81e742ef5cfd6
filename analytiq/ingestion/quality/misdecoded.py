"""Detection of text that was decoded by a wrong charset."""

import re
from collections.abc import Iterable, Iterator

LEAST_SEQUENCES = 2
LEAST_SHARE = 0.6
"""Share of the characters beyond ASCII. An article about the subject quotes sequences among sound characters."""
LEAST_LATIN_LETTERS = 24
LATIN_SHARE = 0.6
"""Share of `ÀÁÂ…ÿ` among letters. Icelandic has 0.15, Vietnamese 0.3; Cyrillic decoded as cp1252 0.9 and more."""

_CHARSETS = ("cp1252", "cp1251", "cp1250", "mac_roman", "cp850", "cp437")


def misdecoded(stretch: str) -> str | None:
    """Return the reason to believe that a stretch was decoded by a wrong charset, None if it was not."""
    if stretch.isascii():
        return None
    beyond = [letter for letter in stretch if letter > "\x7f" and letter != "\xa0"]
    for charset, pattern in _SEQUENCES:
        found = pattern.findall(stretch)
        if len(found) >= LEAST_SEQUENCES and sum(map(len, found)) >= LEAST_SHARE * len(beyond):
            return f"UTF-8 was decoded as {charset}"
    return _other_alphabet(stretch, beyond)


def _other_alphabet(stretch: str, beyond: list[str]) -> str | None:
    latin = sum("\xc0" <= letter <= "\xff" for letter in beyond)
    if latin < LEAST_LATIN_LETTERS:
        return None
    letters = sum(map(str.isalpha, stretch))
    return "letters of another alphabet were decoded as Latin ones" if latin >= LATIN_SHARE * letters else None


def _characters(charset: str, codes: Iterable[int]) -> Iterator[str]:
    for code in codes:
        yield bytes([code]).decode(charset, errors="ignore") or chr(code)
        if code < 0xC0 and charset == "cp1252":
            yield chr(code)  # Latin-1 instead of cp1252


def _one_of(charset: str, codes: Iterable[int]) -> str:
    return "[" + "".join(map(re.escape, dict.fromkeys(_characters(charset, codes)))) + "]"


def _pattern(charset: str) -> re.Pattern[str]:
    """Return the sequences that UTF-8 leaves in a charset.

    In cp1252 no natural text has any of them often. In the others quotation marks and dashes stand where UTF-8 has its
    first bytes, so only sequences of Latin and Cyrillic letters and of typographic signs count.
    """
    if charset == "cp1252":
        after = _one_of(charset, range(0x80, 0xC0))
        two, three, four = (_one_of(charset, range(*codes)) for codes in ((0xC2, 0xE0), (0xE0, 0xF0), (0xF0, 0xF5)))
        # Compatibility forms take the third character of a quotation mark apart.
        return re.compile(f"{two}{after}|{three}{after}{after}|{four}{after}{after}{after}|â€")
    first = _CYRILLIC_FIRST if charset == "cp1251" else _LATIN_FIRST
    # Tables are drawn with the signs above 0xAF of cp437 and cp850.
    after = _one_of(charset, range(0x80, 0xB0 if charset in {"cp437", "cp850"} else 0xC0))
    typographic = _one_of(charset, [0xE2]) + _one_of(charset, [0x80, 0x82, 0x84]) + after
    return re.compile(f"{_one_of(charset, first)}{after}|{typographic}")


_LATIN_FIRST = (0xC2, 0xC3, 0xC4, 0xC5)
_CYRILLIC_FIRST = (0xC2, 0xC3, 0xD0, 0xD1)
_SEQUENCES = tuple((charset, _pattern(charset)) for charset in _CHARSETS)
