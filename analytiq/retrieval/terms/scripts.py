"""Word boundaries, in scripts with and without spaces."""

import re
import unicodedata

UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\uac00-\ud7af\u1100-\u11ff"  # Hangul
    "\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces; and Hangul, whose spaces separate more than words."""
STEMMED = {
    "arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "russian": "\u0400-\u052f",
    "tamil": "\u0b80-\u0bff",
}
"""Stemmer → the characters that it stems, whatever the language of the surrounding text."""


def _marks() -> str:
    """Return the marks within words that Python does not count as letters: accents, vowel signs, tones, joiners."""
    marks = [chr(code) for code in range(0x0300, 0x1E00) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    return "".join(mark for mark in marks if not re.match(f"[{UNSPACED}]", mark)) + "\u00ad\u200c\u200d"


_MARKS = _marks()
_LETTER = f"[^\\W_{UNSPACED}]"
SPACED = f"{_LETTER}++(?:[{_MARKS}]++{_LETTER}*+)*+"
"""Expression for a word between spaces; it ends where a script without spaces begins."""
WITHIN_WORD = f"(?:{_LETTER}|[{_MARKS}])"
"""Expression for any character of such a word."""
SPACED_WORD = re.compile(SPACED)
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
WORD = re.compile(f"{SPACED}|[{UNSPACED}]+")
ASCII_WORD = re.compile(r"[a-z0-9]+")
"""The same as WORD for a normalised text of ASCII alone, and four times as fast."""
_ASCII_LETTERS = "".join(chr(code) if ASCII_WORD.match(chr(code)) else " " for code in range(128))
_BEYOND_ASCII = re.compile("[^\\x00-\\x7f]")
_PART_OF_WORD_BEYOND_ASCII = re.compile(f"[^\\W\\x00-\\x7f]|[{_MARKS}{UNSPACED}\u2010\u2011]")
"""A letter or mark beyond ASCII, or a hyphen that joins words (see `codes`)."""
_SCRIPTS = {language: re.compile(f"[{characters}]") for language, characters in STEMMED.items()}


def words_in(plain: str) -> list[str]:
    """Return the words of a normalised text, and its runs without spaces."""
    return ascii_words(plain) if plain.isascii() else WORD.findall(plain)


def ascii_words(plain: str) -> list[str]:
    """Return the words of a lower-case text of ASCII alone, as ASCII_WORD finds them; twice as fast."""
    return plain.translate(_ASCII_LETTERS).split()


def in_ascii(text: str) -> str | None:
    """Return the text with the same words at the same offsets in ASCII; None if a word has other characters.

    Quotation marks, dashes and the like become spaces: most texts in English have no other characters beyond ASCII.
    """
    if text.isascii():
        return text
    return None if _PART_OF_WORD_BEYOND_ASCII.search(text) else _BEYOND_ASCII.sub(" ", text)


def pairs(run: str) -> list[str]:
    """Return the overlapping pairs of a run of characters without spaces."""
    return [run[start : start + 2] for start in range(len(run) - 1)]


def language_of_script(word: str) -> str | None:
    """Return the stemmer given by a word's first character; None for Latin and for scripts without a stemmer."""
    if word.isascii():
        return None
    return next((language for language, letters in _SCRIPTS.items() if letters.match(word)), None)
