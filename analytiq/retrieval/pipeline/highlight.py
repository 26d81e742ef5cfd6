"""Places of a question's words in a passage, by the terms of the keyword index. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from analytiq.retrieval.terms.analysis import asked_terms, stems_of, values_in
from analytiq.retrieval.terms.codes import CHAIN, wholes_of
from analytiq.retrieval.terms.folding import folded, normalised
from analytiq.retrieval.terms.languages import ENGLISH, language_of
from analytiq.retrieval.terms.scripts import UNSPACED_RUN, WORD, words_in

MAX_HIGHLIGHTS = 100

Span = tuple[int, int]
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
        language = language_of(words_in(normalised(passage))) or self._language or ENGLISH
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

    `known`: words of passages, as written, mapped to True if sought.
    """

    language: str
    stems: frozenset[str]
    exact: frozenset[str]
    characters: frozenset[str]
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
        has_pairs = any(UNSPACED_RUN.match(stem) for stem in stems)
        return cls(
            language=language,
            stems=stems,
            exact=frozenset(exact if words or asked.codes else asked.stopped),
            characters=frozenset(() if has_pairs else asked.characters),
        )

    @property
    def has_number(self) -> bool:
        """Return True if any term contains a digit."""
        return any(_DIGIT.search(term) for term in (*self.exact, *self.stems))

    def has(self, written: str) -> bool:
        """Return True if a word of a passage is sought; one sign may hold several words: `¼`."""
        known = self.known.get(written)
        if known is None:
            known = self.known[written] = any(self._has_word(word) for word in words_in(normalised(written)))
        return known

    def _has_word(self, plain: str) -> bool:
        return folded(plain) in self.exact or not self.stems.isdisjoint(stems_of(plain, self.language))

    def has_whole(self, chain: str) -> bool:
        """Return True if the joined word is sought as a whole."""
        return any(whole.term in self.exact for whole in wholes_of(normalised(chain))[:1])


def _spans(sought: _Sought, passage: str) -> Iterator[Span]:
    """Return the spans in order of their starts; they may touch and overlap."""
    codes = dict(sorted((*_codes(sought, passage), *_values(sought, passage)))) if sought.exact or sought.stems else {}
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
