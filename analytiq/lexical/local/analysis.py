"""From a text to the terms that stand for it: the same for chunks and for questions.

- Words are runs of letters and digits, case folded, stop words left out, stemmed by the text's language (Snowball, by
  tantivy's own filters), then without accents.
- Runs of characters that are written without spaces (Chinese, Japanese, Thai and others, and Korean, whose endings are
  many) are taken in pairs; a single such character also alone, for questions of one character.
- What looks like a code (`INV-2024/00123`, `AX-42-B`, `jo@example.org`) is a term as a whole, and in its parts.
- In Arabic, the forms of alef, ya and ta marbuta are one, and marks and lengthening are left out.
"""

import re
import unicodedata
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cache

import tantivy

LONGEST_WORD = 100
"""Characters; what is longer is no word that anybody asks for."""
KNOWN_WORDS = 200_000
"""Stems that are remembered for each language: a dictionary look-up instead of 2 µs."""

_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\uac00-\ud7af\u1100-\u11ff"  # Hangul
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_ASCII_WORD = re.compile(r"[^\W_]+", re.ASCII)
_JOINED = (
    "\u0300-\u036f\u0640\u064b-\u065f\u0670\u0900-\u0dff"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ecd\u102b-\u103e\u17b4-\u17d3"
)
"""Marks within words, which Python does not count among letters: accents, Arabic and Indic vowels, Thai tones."""
_WORD = re.compile(f"(?:[^\\W_]|[{_JOINED}])+")
# Begins where a run of letters and digits does: tried within one, a run of n is gone through n times.
_CODE = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:@#+&][^\W_]++)+")
_HAS_DIGIT = re.compile(r"\d")
_ARABIC_MARKS = re.compile("[\u064b-\u065f\u0670\u0640]")
_MARKS = re.compile("[\u0300-\u036f\u064b-\u065f\u0670\u0640]")
"""Accents of Latin, Greek and Cyrillic letters; Arabic vowels and lengthening. Other scripts' marks are letters."""
_ARABIC = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"})


@dataclass(slots=True)
class Terms:
    """Of one text. `words` with their repetitions; `codes` and `singles` as they come."""

    words: list[str] = field(default_factory=list[str])
    codes: list[str] = field(default_factory=list[str])
    singles: list[str] = field(default_factory=list[str])


def terms_of(text: str, language: str) -> Terms:
    """The terms of a text in a language (`analytiq.lexical.local.languages`)."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    terms = Terms(codes=[code for code in _CODE.findall(folded) if _is_code(code)])
    stems = _stems(language)
    words = (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)
    for word in words:
        if word.isascii():
            _add_spaced(word, stems, terms)
        else:
            # Before stemming: the stemmer takes `ال` for an article and the same with a hamza for a root.
            _add_mixed(_ARABIC_MARKS.sub("", word).translate(_ARABIC), stems, terms)
    return terms


def _add_mixed(word: str, stems: "_Stems", terms: Terms) -> None:
    """A run of letters may change between scripts that have spaces and those that have none."""
    place = 0
    for run in _RUN.finditer(word):
        _add_spaced(word[place : run.start()], stems, terms)
        characters = run.group()
        terms.words.extend(characters[start : start + 2] for start in range(len(characters) - 1))
        terms.singles.extend(characters)
        place = run.end()
    _add_spaced(word[place:], stems, terms)


def _add_spaced(word: str, stems: "_Stems", terms: Terms) -> None:
    if not word:
        return
    stem = stems.of(word)
    if stem:
        terms.words.append(stem)


def _is_code(code: str) -> bool:
    return len(code) <= LONGEST_WORD and (_HAS_DIGIT.search(code) is not None or "@" in code)


class _Stems:
    """A word's stem, or an empty string for a stop word; remembered."""

    def __init__(self, language: str) -> None:
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
        try:
            builder = builder.filter(tantivy.Filter.stopword(language))
        except ValueError:  # no list of stop words for this language
            builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
        self._analyzer = builder.filter(tantivy.Filter.stemmer(language)).build()
        self._known: OrderedDict[str, str] = OrderedDict()

    def of(self, word: str) -> str:
        known = self._known.get(word)
        if known is not None:
            return known
        if len(word) > LONGEST_WORD:
            return ""
        stems = self._analyzer.analyze(word)
        stem = without_accents(stems[0]) if stems else ""
        self._known[word] = stem
        if len(self._known) > KNOWN_WORDS:
            self._known.popitem(last=False)
        return stem


def without_accents(word: str) -> str:
    """A word as people type it who have no keys for its accents."""
    if word.isascii():
        return word
    plain = _MARKS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", plain)


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)
