"""Detection of noise: characters that carry no text, although the page may look fine."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import product

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
"""Tests of all shifts for a page: each takes 0.2 ms."""
SHIFT_SAMPLE = 400
SHIFT_CANDIDATES = 3
"""Shifts that are tried in full, of those that make the most trigrams common."""
_ALPHABET = 26
_FURTHEST = 31

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
        if _is_natural(sample):
            return False
        if any(_reads_well(sample.translate(shift)) for shift in self._shifts):
            return True
        if not self._tests_left:
            return False
        self._tests_left -= 1
        best = max(_likely_shifts(sample), key=lambda shift: naturalness(sample.translate(shift)))
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
    found = sum(map(_COMMON.__contains__, map("".join, zip(lower, lower[1:], lower[2:], strict=False))))
    return found / max(len(lower), 1)


def _is_natural(text: str) -> bool:
    """Return True at the share of common trigrams that makes a shift unlikely; prose ends the search early."""
    lower = text.lower()
    found = 0
    for start in range(len(lower) - 2):
        found += lower[start : start + 3] in _COMMON
        if found / len(lower) >= NATURAL_SHARE:
            return True
    return False


def _reads_well(text: str) -> bool:
    """Return True for a text in a frequent language of Latin script, with or without blanks."""
    words = text.lower().split()
    if len(words) < len(text) / 30:
        return naturalness(text) >= UNDIVIDED_SHARE
    small = sum(word in _SMALL_WORDS for word in words)
    return small >= max(LEAST_SMALL_WORDS, SMALL_WORDS_SHARE * len(words)) and naturalness(text) >= SHIFTED_SHARE


def _likely_shifts(sample: str) -> list[dict[int, int]]:
    """Return the shifts that make the most trigrams common, counted for all shifts in one pass.

    A shift keeps the steps between letters, so the steps of a trigram name the shifts that make it a common one.
    """
    by_code, by_letter = _steps()
    hits: Counter[int] = Counter()
    codes = [ord(character) for character in sample]
    for first, second, third in zip(codes, codes[1:], codes[2:], strict=False):
        for common in by_code.get((second - first, third - second), ()):
            if 0 < abs(common - first) <= _FURTHEST:
                hits[common - first] += 1
    places = [ord(character) - 97 for character in sample.lower()]
    for first, second, third in zip(places, places[1:], places[2:], strict=False):
        if 0 <= first < _ALPHABET and 0 <= second < _ALPHABET and 0 <= third < _ALPHABET:
            for common in by_letter.get(((second - first) % _ALPHABET, (third - second) % _ALPHABET), ()):
                hits[2 * _FURTHEST + (common - first) % _ALPHABET] += 1
    hits.pop(2 * _FURTHEST, None)  # no shift of the alphabet at all
    by_code_distance, by_place = _shifts()
    likely = [key for key, _ in hits.most_common(SHIFT_CANDIDATES)] or [1]
    return [by_code_distance[key] if key <= _FURTHEST else by_place[key - 2 * _FURTHEST] for key in likely]


@lru_cache(maxsize=1)
def _steps() -> tuple[dict[tuple[int, int], tuple[int, ...]], dict[tuple[int, int], tuple[int, ...]]]:
    """Return the first codes, and the first places in the alphabet, of the common trigrams with the same steps."""
    by_code: dict[tuple[int, int], tuple[int, ...]] = {}
    by_letter: dict[tuple[int, int], tuple[int, ...]] = {}
    for trigram in sorted(_COMMON):
        if not (trigram.isascii() and trigram.isalpha()):
            continue
        first, second, third = (ord(letter) - 97 for letter in trigram)
        key = ((second - first) % _ALPHABET, (third - second) % _ALPHABET)
        by_letter[key] = (*by_letter.get(key, ()), first)
        for letters in product(*((letter, letter.upper()) for letter in trigram)):
            first, second, third = map(ord, letters)
            key = (second - first, third - second)
            by_code[key] = (*by_code.get(key, ()), first)
    return by_code, by_letter


@lru_cache(maxsize=1)
def _shifts() -> tuple[dict[int, dict[int, int]], dict[int, dict[int, int]]]:
    """Return the translations that undo a shift of the character codes, or of the alphabet, by distance."""
    codes = {
        distance: {code: code + distance for code in range(0x21, 0x7F) if 0x20 <= code + distance < 0x7F}
        for distance in (*range(-_FURTHEST, 0), *range(1, _FURTHEST + 1))
    }
    alphabet = {
        distance: {first + place: first + (place + distance) % _ALPHABET for first in (65, 97) for place in range(26)}
        for distance in range(1, _ALPHABET)
    }
    return codes, alphabet


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
