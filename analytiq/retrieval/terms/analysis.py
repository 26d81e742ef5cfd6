"""Analysis of texts into index terms, for chunks and questions alike.

- `words`: words without stop words, stemmed by the text's language (Snowball), without accents. Runs of characters
  written without spaces (Chinese, Japanese, Thai and others; Korean, whose endings are many) are taken in pairs.
- `exact`: terms matched literally: whole codes (`INV-2024/00123`, `AX-42-B`, `jo@example.org`, an IBAN) and hyphenated
  compounds, whose parts are words as well; and stop words, for questions that contain nothing else.
  Numbers, amounts and dates are exact terms in one notation as well: `1,234.50` is `1234.5` (see `values`, `dates`).
- `characters`: the single characters of text without spaces, which weigh less than pairs.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import tantivy

from analytiq.retrieval.terms.codes import joined_words, parts_of_single, single_codes
from analytiq.retrieval.terms.dates import dates_in
from analytiq.retrieval.terms.folding import folded, normalised, opened
from analytiq.retrieval.terms.languages import ENGLISH, STOP_WORDS, language_of
from analytiq.retrieval.terms.scripts import UNSPACED_RUN, language_of_script, pairs, words_in
from analytiq.retrieval.terms.values import Value, amounts_in

RELEASE = 4
"""Raised when the terms of a text change; indexes of an older release are rebuilt."""
LONGEST_WORD = 64
"""Most characters of a word: anything longer is encoded data."""
KNOWN_WORDS = 200_000
"""Words of each language whose terms are cached: a look-up instead of 2 µs."""


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """The terms of a chunk, with repetitions; `words` and `characters` are separated by spaces.

    `language`: of its words in Latin script; None if undetected.
    """

    words: str
    codes: tuple[str, ...]
    stopped: tuple[str, ...]
    characters: str
    language: str | None

    @property
    def exact(self) -> str:
        """The exact terms, separated by spaces."""
        return " ".join((*self.codes, *self.stopped))


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word of a question: any of its stems, or its form in a code or compound (None: not in any)."""

    stems: tuple[str, ...]
    exact: str | None


@dataclass(frozen=True, slots=True)
class AskedCode:
    """A code or value of a question, whole, and the stems of its parts.

    `others`: the same value in another notation, or other readings of it, which are as good. `is_amount`: it is a
    number with its unit, written apart or with a sign, and the number counts as a word as well. `numbers`: the value
    without signs, which is a word of chunks.
    """

    whole: str
    parts: tuple[str, ...]
    others: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    is_amount: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """The exact terms of a chunk that match; `numbers` match its words."""
        return (self.whole, *self.others)


@dataclass(frozen=True, slots=True)
class Asked:
    """The terms of a question with their counts. `stopped`: its stop words, if it has no other words."""

    words: dict[AskedWord, int]
    codes: tuple[AskedCode, ...]
    joined: tuple[AskedWord, ...]
    characters: tuple[str, ...]
    stopped: tuple[str, ...]


def chunk_terms(text: str, *, language: str | None = None) -> ChunkTerms:
    """Analyse a chunk; `language` applies if the language of its words is undetected."""
    plain = normalised(opened(text))
    words = words_in(plain)
    return _terms_of(plain, words, language_of(words) or language)


def context_terms(context: str, language: str | None) -> ChunkTerms:
    """Analyse a chunk's context in the language of its text: a title is too short to tell its own."""
    plain = normalised(opened(context))
    return _terms_of(plain, words_in(plain), language)


def _terms_of(plain: str, words: Sequence[str], own: str | None) -> ChunkTerms:
    characters = "" if plain.isascii() else " ".join("".join(UNSPACED_RUN.findall(plain)))
    stems = _stems(own or ENGLISH)
    terms = [stems[word] for word in words]
    stopped = [folded(word) for word, term in zip(words, terms, strict=True) if not term]
    wholes = [*joined_words(plain), *single_codes(plain, words)]
    codes = [whole.term for whole in wholes]
    written = set(codes)
    for value in values_in(plain, words):
        terms += (*value.words, *value.broader_words)
        codes += [term for term in (*value.terms, *value.broader) if term not in written]
    return ChunkTerms(
        words=" ".join(filter(None, terms)),
        codes=tuple(codes),
        stopped=tuple(word for word in stopped if len(word) > 1 or word not in characters),
        characters=characters,
        language=own,
    )


def asked_terms(question: str, languages: Sequence[str]) -> Asked:
    """Analyse a question for chunks in these languages of Latin script; other scripts identify their language."""
    plain = normalised(opened(question))
    spoken = languages or (ENGLISH,)
    words: Counter[AskedWord] = Counter()
    half_stopped: Counter[AskedWord] = Counter()
    characters: list[str] = []
    stopped: list[str] = []
    for word in words_in(plain):
        if UNSPACED_RUN.match(word):
            words.update(AskedWord((pair,), None) for pair in pairs(word))
            characters += word
            continue
        by_language = [stems_of(word, language) for language in spoken]
        if asked := _asked_word(word, by_language):
            (words if all(by_language) else half_stopped)[asked] += 1
        if not all(by_language):
            stopped.append(folded(word))
    codes, joined = _asked_wholes(plain, spoken)
    # A stop word of one language occurs in few chunks of another, and would outweigh the question's own words.
    told = words or half_stopped
    return Asked(
        words=dict(told),
        codes=tuple(codes),
        joined=tuple(joined),
        characters=tuple(dict.fromkeys(characters)),
        stopped=() if words else tuple(dict.fromkeys(stopped)),
    )


def values_in(text: str, words: Collection[str]) -> list[Value]:
    """Find the numbers, amounts and dates of a text; `words` are its normalised words."""
    return [*amounts_in(text), *dates_in(text, words)]


def stems_of(word: str, language: str) -> list[str]:
    """Return the terms of a normalised word; none for a stop word."""
    return _stems(language)[word].split()


def terms_by_word(language: str) -> Mapping[str, str]:
    """Return the terms of each normalised word, separated by spaces: for loops over many words."""
    return _stems(language)


def _asked_word(word: str, by_language: Sequence[Sequence[str]]) -> AskedWord | None:
    stems = tuple(dict.fromkeys(stem for stems in by_language for stem in stems))
    if not stems:
        return None
    # Unstemmed, it may be a stop word of one of the languages, which means nothing.
    return AskedWord(stems, folded(word)[:LONGEST_WORD] if all(by_language) else None)


def _asked_wholes(plain: str, languages: Sequence[str]) -> tuple[list[AskedCode], list[AskedWord]]:
    codes: dict[str, AskedCode] = {}
    joined: dict[str, AskedWord] = {}
    for whole in joined_words(plain):
        if whole.is_code:
            codes[whole.term] = AskedCode(whole.term, _stems_of_all(whole.parts, languages))
        elif asked := _asked_word(whole.term, [stems_of(whole.term, language) for language in languages]):
            joined[whole.term] = AskedWord(asked.stems, whole.term)
    for whole in single_codes(plain, words_in(plain)):
        parts = _stems_of_all(parts_of_single(whole.term), languages)
        codes.setdefault(whole.term, AskedCode(whole.term, parts))
    for value in values_in(plain, words_in(plain)):
        if value.terms or value.words:
            code = _asked_value(value, codes, languages)
            codes[code.whole] = code
    return list(codes.values()), list(joined.values())


def _asked_value(value: Value, codes: dict[str, AskedCode], languages: Sequence[str]) -> AskedCode:
    """Return a value as a code; the code that is written there has its other notations added."""
    wholes = [whole.term for whole in joined_words(value.written)]
    known = next((codes[term] for term in (*wholes[:1], *value.terms) if term in codes), None)
    terms = value.terms or (value.written.replace(" ", ""),)
    written = known or AskedCode(terms[0], _stems_of_all(words_in(value.written), languages), is_amount=value.is_amount)
    others = dict.fromkeys((*written.others, *terms))
    return replace(
        written,
        others=tuple(term for term in others if term != written.whole),
        numbers=value.words or written.numbers,
        is_amount=written.is_amount or value.is_amount,
    )


def _stems_of_all(words: Iterable[str], languages: Sequence[str]) -> tuple[str, ...]:
    stems = [stem for word in words for language in languages for stem in stems_of(word, language)]
    return tuple(dict.fromkeys(stems))


class _Stems(dict[str, str]):
    """A cache from normalised words to their terms, separated by spaces; empty for a stop word.

    An accented word also has the stem of its plain form if that differs: a search typed without accents finds it.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: str) -> str:
        if UNSPACED_RUN.match(word):
            return " ".join(pairs(word))
        terms = " ".join(dict.fromkeys(self._terms(word[:LONGEST_WORD])))
        if len(self) >= KNOWN_WORDS:
            self.clear()
        self[word] = terms
        return terms

    def _terms(self, word: str) -> Iterator[str]:
        language = language_of_script(word) or self._language
        plain = folded(word)
        stem = _analyzer(language).analyze(word)
        if stem:
            yield folded(stem[0])
            if plain != word:
                yield from (folded(other) for other in _analyzer(language).analyze(plain) if other)


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)


@cache
def _analyzer(language: str) -> tantivy.TextAnalyzer:
    if language in STOP_WORDS:
        words = STOP_WORDS[language].split()
        stop = tantivy.Filter.custom_stopword([*words, *map(folded, words)])
    else:
        stop = tantivy.Filter.stopword(language)
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    return builder.filter(stop).filter(tantivy.Filter.stemmer(language)).build()
