"""Detection of noise: characters that carry no text, although the page may look fine."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

LEAST_VISIBLE = 40
UNMAPPED_SHARE = 0.2
"""Share of private, unassigned and replacement characters. Bullets and icons of symbol fonts stay below 0.1."""
SOUP_SIGNS = 0.35
SOUP_WORDS = 0.25
SOUP_KINDS = 8
CID_SHARE = 0.3
CONSONANT_SHARE = 0.3
LEAST_LETTERS = 120
LEAST_DISTINCT = 15
"""A genome has 4 letters, prose 18 and more."""

NATURAL_SHARE = 0.03
"""Share of frequent trigrams below which a shift is tried: 480 paragraphs of English and German have 0.065 and more."""
SHIFTED_SHARE = 0.06
SMALL_WORDS_SHARE = 0.08
LEAST_SMALL_WORDS = 3
UNDIVIDED_SHARE = 0.08
"""The same for text whose blanks were lost with the shift."""
SHIFT_TESTS = 40
"""Tests of all shifts for a page: each takes 5 ms."""
SHIFT_SAMPLE = 400

_CID = re.compile(r"\(cid:\d+\)")
_REPEATED = re.compile(r"([^\w\s])\1+")
_WORD = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\d+(?:[.,:/-]\d+)*")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}")
_LATIN_WORD = re.compile(r"(?<![\w@/.\\-])[a-zA-Z]{2,14}(?![\w@/\\-])")

_TRIGRAMS = (
    # English
    "the and ing ion tio ent ati for her ter hat tha ere ate his con res ver all ons nce men ith ted ers pro thi wit"
    " are ess not ive was ect rea com eve per int est sta cti ica ist ear ain one our iti rat ell ant"
    # German, Dutch
    " der die und ein sch ich nde che den gen ten ine ung ber end cht ste erd sei een van het aan"
    # French, Spanish, Italian, Portuguese
    " que les des ait eme ous ans une por ado los del par ara ien nte ita lla che ndo zio oni ell dos ada"
)
_WORDS = (
    "the and for that with are not this was from his has had but were its which their have they been also"
    " der die und das ein eine von mit den ist nicht auf des dem als sich auch wurde werden het een van"
    " les des une que pour dans est par sur qui los las del por con para una che per della sono não uma dos"
)
_COMMON = frozenset(_TRIGRAMS.split())
_SMALL_WORDS = frozenset(_WORDS.split())


LEAST_READING_WORDS = 4
READING_SHARE = 0.2
"""Share of the small words of a language in a sentence of it; in noise they are rare."""


def reads(paragraph: str) -> bool:
    """Return True for a paragraph with the small words of a language."""
    words = _LATIN_WORD.findall(paragraph)
    small = sum(word.lower() in _SMALL_WORDS for word in words)
    return len(words) >= LEAST_READING_WORDS and small >= READING_SHARE * len(words)


class NoiseJudge:
    """Judges the stretches of one page: a shifted font of one stretch is known at the next."""

    def __init__(self) -> None:
        self._tests_left = SHIFT_TESTS
        self._shifts: list[dict[int, int]] = []

    def judge(self, stretch: str) -> str | None:
        """Return the reason to call a stretch noise, None if it reads."""
        counts = Counter(stretch)
        visible = sum(count for character, count in counts.items() if not character.isspace())
        if visible < LEAST_VISIBLE:
            return None
        unmapped = sum(count for character, count in counts.items() if is_unmapped(character))
        if unmapped >= UNMAPPED_SHARE * visible:
            return "the font has no map to Unicode"
        if "(cid:" in stretch and sum(map(len, _CID.findall(stretch))) >= CID_SHARE * visible:
            return "the font has no map to Unicode"
        signs = sum(count for character, count in counts.items() if _is_sign(character))
        if signs >= SOUP_SIGNS * visible and _is_soup(stretch):
            return "mostly punctuation and symbols"
        if self._is_shifted(stretch, counts, visible):
            return "the font maps letters to other letters"
        return "words that cannot be pronounced" if _is_unpronounceable(stretch) else None

    def _is_shifted(self, stretch: str, counts: Counter[str], visible: int) -> bool:
        if not self._tests_left and not self._shifts:
            return False
        ascii_signs = sum(count for character, count in counts.items() if "!" <= character <= "~")
        if ascii_signs < 0.8 * visible or ascii_signs < LEAST_LETTERS or len(counts) < LEAST_DISTINCT:
            return False
        sample = stretch[:SHIFT_SAMPLE]
        if naturalness(sample) >= NATURAL_SHARE:
            return False
        if any(_reads_well(sample.translate(shift)) for shift in self._shifts):
            return True
        if not self._tests_left:
            return False
        self._tests_left -= 1
        best = max(_shifts(), key=lambda shift: naturalness(sample.translate(shift)))
        if not _reads_well(sample.translate(best)):
            return False
        self._shifts.append(best)
        return True


def is_unmapped(character: str) -> bool:
    """Return True for a character without a meaning of its own."""
    return character == "\ufffd" or _category(character) in {"Co", "Cn", "Cs"}


@lru_cache(maxsize=8_192)
def _category(character: str) -> str:
    return unicodedata.category(character)


def _is_sign(character: str) -> bool:
    # Emoji and other pictures stand for themselves; some scripts divide syllables by points.
    is_western = character < "\u0590" or "\u2000" <= character < "\u2800"
    return is_western and _category(character)[0] in "PS" and _category(character) != "So"


def _is_soup(stretch: str) -> bool:
    once = _REPEATED.sub(r"\1", stretch)  # rules and leaders of tables and forms
    visible = sum(not character.isspace() for character in once)
    if visible < LEAST_VISIBLE:
        return False
    signs = Counter(filter(_is_sign, once))
    if signs.total() < SOUP_SIGNS * visible or len(signs) < SOUP_KINDS:
        return False
    return sum(map(len, _WORD.findall(once))) < SOUP_WORDS * visible


def naturalness(text: str) -> float:
    """Return the share of trigrams that are common in languages of Latin script."""
    lower = text.lower()
    found = sum(lower[start : start + 3] in _COMMON for start in range(len(lower) - 2))
    return found / max(len(lower), 1)


def _reads_well(text: str) -> bool:
    """Return True for a text in a frequent language of Latin script, with or without blanks."""
    words = text.lower().split()
    if len(words) < len(text) / 30:
        return naturalness(text) >= UNDIVIDED_SHARE
    small = sum(word in _SMALL_WORDS for word in words)
    return small >= max(LEAST_SMALL_WORDS, SMALL_WORDS_SHARE * len(words)) and naturalness(text) >= SHIFTED_SHARE


@lru_cache(maxsize=1)
def _shifts() -> tuple[dict[int, int], ...]:
    """Return the translations that undo a shift of the character codes, or of the alphabet."""
    codes = [
        {code: code + distance for code in range(0x21, 0x7F) if 0x20 <= code + distance < 0x7F}
        for distance in (*range(-31, 0), *range(1, 32))
    ]
    alphabet = [
        {first + place: first + (place + distance) % 26 for first in (65, 97) for place in range(26)}
        for distance in range(1, 26)
    ]
    return (*codes, *alphabet)


def _is_unpronounceable(stretch: str) -> bool:
    if sum(map(len, _CONSONANTS.findall(stretch.lower()))) < CONSONANT_SHARE * LEAST_LETTERS:
        return False
    words = [word for word in _LATIN_WORD.findall(stretch) if not word.isupper()]
    letters = "".join(words).lower()
    if (
        len(letters) < LEAST_LETTERS
        or len(set(letters)) < LEAST_DISTINCT
        or len(letters) < 0.7 * sum(map(str.isalpha, stretch))
    ):
        return False
    runs = sum(len(run) for word in words for run in _CONSONANTS.findall(word.lower()))
    return runs >= CONSONANT_SHARE * len(letters)
