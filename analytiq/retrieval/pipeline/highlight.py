"""Places of a question's words in a passage, by the terms of the keyword index. Pure."""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import compress

from analytiq.retrieval.terms.analysed_text import AnalysedText
from analytiq.retrieval.terms.analysis import asked_terms, stems_of, terms_by_word, values_in
from analytiq.retrieval.terms.codes import CASED_ASCII_CHAIN, CHAIN, wholes_of
from analytiq.retrieval.terms.folding import folded, normalised
from analytiq.retrieval.terms.languages import ENGLISH, language_of
from analytiq.retrieval.terms.scripts import ASCII_WORD, UNSPACED_RUN, WORD, ascii_words, in_ascii, words_in

MAX_HIGHLIGHTS = 100

Span = tuple[int, int]
MOST_SOUGHT = 16
"""Most words of a passage that are looked for one by one: each costs a pass over its text."""
_SIGNS = "-_./\\:@+#&,"
"""Signs of ASCII that join words of a code (see `codes`)."""
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_PIECE = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")


class Highlighter:
    """A highlighter for one question. It caches the words of passages, since passages share many words."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._language = language_of(words_in(normalised(question)))
        self._sought: dict[str, _Sought] = {}

    def spans(self, passage: str) -> tuple[Span, ...]:
        """Return the spans [start, end) of words in the passage that match the question by word or stem, in order."""
        return self.spans_in(AnalysedText(passage))

    def spans_in(self, passage: AnalysedText) -> tuple[Span, ...]:
        """Return the same, by what is kept of the passage's analysis."""
        language = passage.language or self._language or ENGLISH
        sought = self._sought.get(language)
        if sought is None:
            sought = self._sought[language] = _Sought.of(self._question, language)
        found: list[Span] = []
        for start, end in _spans(sought, passage):
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            elif len(found) == MAX_HIGHLIGHTS:
                break
            else:
                found.append((start, end))
        return tuple(found)


def highlights(question: str, passage: str) -> tuple[Span, ...]:
    """See Highlighter, for a single passage."""
    return Highlighter(question).spans(passage)


@dataclass(frozen=True, slots=True)
class _Sought:
    """The question's terms in the language of the passage. `characters`: for a question without pairs of them.

    `has_number`: a term contains a digit. `known`: words of passages, as written, mapped to True if sought.
    """

    language: str
    stems: frozenset[str]
    exact: frozenset[str]
    characters: frozenset[str]
    has_number: bool
    known: dict[str, bool] = field(default_factory=dict[str, bool])

    @classmethod
    def of(cls, question: str, language: str) -> "_Sought":
        asked = asked_terms(question, (language,))
        words = [*asked.words, *asked.joined]
        stems = frozenset(stem for word in words for stem in word.stems)
        stems |= {number for code in asked.codes for number in code.numbers}
        exact = {word.exact for word in words if word.exact} | {
            spelling for code in asked.codes for spelling in code.spellings
        }
        exact = exact if words or asked.codes else set(asked.stopped)
        has_pairs = any(UNSPACED_RUN.match(stem) for stem in stems)
        return cls(
            language=language,
            stems=stems,
            exact=frozenset(exact),
            characters=frozenset(() if has_pairs else asked.characters),
            has_number=any(_DIGIT.search(term) for term in (*exact, *stems)),
        )

    def has(self, written: str) -> bool:
        """Return True if a word of a passage is sought; one sign may hold several words: `¼`."""
        known = self.known.get(written)
        if known is None:
            known = self.known[written] = any(self._has_word(word) for word in words_in(normalised(written)))
        return known

    def _has_word(self, plain: str) -> bool:
        return folded(plain) in self.exact or not self.stems.isdisjoint(stems_of(plain, self.language))

    def among(self, passage: AnalysedText, plain: str) -> set[str]:
        """Return the sought words of a passage; `plain`: it in lower-case ASCII, whose words have one stem at most."""
        vocabulary = passage.vocabulary(self.language)
        if vocabulary is not None:
            of_stems = {word for stem in self.stems for word in vocabulary.words_of(stem)}
            return of_stems | {word for word in self.exact if vocabulary.has_word(word)}
        # Without a step of the interpreter for each word: a page has some thousand.
        words = ascii_words(plain)
        stems = map(terms_by_word(self.language).__getitem__, words)
        return {*compress(words, map(self.stems.__contains__, stems)), *self.exact.intersection(words)}

    def has_whole(self, chain: str) -> bool:
        """Return True if the joined word is sought as a whole."""
        return any(whole.term in self.exact for whole in wholes_of(normalised(chain))[:1])


def _spans(sought: _Sought, analysed: AnalysedText) -> Iterator[Span]:
    """Return the spans in order of their starts; they may touch and overlap."""
    passage = analysed.text
    ascii_passage = in_ascii(passage)
    codes: dict[int, int] = {}
    if sought.exact or sought.stems:
        chains = _codes(sought, passage) if ascii_passage is None else _ascii_codes(sought, ascii_passage)
        codes = dict(sorted((*chains, *_values(sought, passage))))
    if ascii_passage is None:
        return _spans_of_words(sought, passage, codes)
    plain = ascii_passage.lower()
    # Normalised as a whole, a sign may have become letters of the word beside it: `Pump™`.
    marked = sought.among(analysed, plain)
    if codes or len(marked) > MOST_SOUGHT:
        return _spans_of_ascii_words(marked, plain, codes)
    return iter(sorted(span for word in marked for span in _occurrences(word, plain)))


def _occurrences(word: str, plain: str) -> Iterator[Span]:
    """Return the spans of a word of ASCII in a lower-case passage of ASCII alone."""
    start = plain.find(word)
    while start >= 0:
        end = start + len(word)
        if plain[start - 1 : start] not in _LETTERS and plain[end : end + 1] not in _LETTERS:
            yield start, end
        # No other word begins within the letters that are found, whether or not they are a whole word.
        start = plain.find(word, end)


def _spans_of_ascii_words(marked: Container[str], plain: str, codes: Mapping[int, int]) -> Iterator[Span]:
    """Return the same as `_spans_of_words`, for a lower-case passage of ASCII alone; lower case keeps the offsets."""
    code_end = 0
    for match in ASCII_WORD.finditer(plain) if codes or marked else ():
        start = match.start()
        if start < code_end:
            continue
        if start in codes:
            code_end = codes[start]
            yield start, code_end
        elif match.group() in marked:
            yield start, match.end()


def _spans_of_words(sought: _Sought, passage: str, codes: Mapping[int, int]) -> Iterator[Span]:
    code_end = 0
    for match in WORD.finditer(passage):
        start, end = match.span()
        if start < code_end:
            continue
        if codes and start in codes:
            code_end = codes[start]
            yield start, code_end
            continue
        word = match.group()
        # Looked up here as well: most words have been seen, and a call for each would take half of the time.
        is_sought = sought.known.get(word)
        if is_sought is None and UNSPACED_RUN.match(word):
            yield from _in_run(sought, match)
        elif is_sought or (is_sought is None and sought.has(word)):
            yield start, end


def _codes(sought: _Sought, passage: str) -> Iterator[Span]:
    for piece in _PIECE.finditer(passage):
        if not piece.group().isalnum():
            for match in CHAIN.finditer(passage, *piece.span()):
                if sought.has_whole(match.group()):
                    yield match.span()


def _ascii_codes(sought: _Sought, passage: str) -> Iterator[Span]:
    # A chain holds no space: searching the whole passage finds those of its pieces.
    if not any(map(passage.__contains__, _SIGNS)):
        return iter(())
    return (match.span() for match in CASED_ASCII_CHAIN.finditer(passage) if sought.has_whole(match.group()))


def _values(sought: _Sought, passage: str) -> Iterator[Span]:
    """Return the numbers, amounts and dates, from their first word on, that are the question's in any notation."""
    if sought.has_number:
        for value in values_in(passage, words_in(normalised(passage))):
            if not sought.exact.isdisjoint(value.terms) or not sought.stems.isdisjoint(value.words):
                word = WORD.search(passage, value.start, value.end)
                yield (word.start() if word else value.start), value.end


def _in_run(sought: _Sought, match: re.Match[str]) -> Iterator[Span]:
    """Return the pairs of characters in common with the question; single characters if the question has no pair."""
    run, start = match.group(), match.start()
    for place in range(len(run)):
        # Compatibility ideographs are compared by their canonical form.
        # A character that stands for two (Thai sara am) is a pair by itself, and may be the last.
        if normalised(run[place : place + 2]) in sought.stems:
            yield start + place, start + min(place + 2, len(run))
        elif normalised(run[place]) in sought.characters:
            yield start + place, start + place + 1
