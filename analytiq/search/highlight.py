"""Where the words of a question stand in a passage, read as the index of words reads both: pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analytiq.lexical.analysis import asked_terms, stems_of
from analytiq.lexical.codes import CHAIN, wholes_of
from analytiq.lexical.folding import folded, normalised
from analytiq.lexical.languages import ENGLISH, language_of
from analytiq.lexical.scripts import UNSPACED_RUN, WORD, words_in

MAX_HIGHLIGHTS = 100

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Sought:
    """What the question asks for, in the language of the passage. `characters`: where it has no pair of them."""

    language: str
    stems: frozenset[str]
    exact: frozenset[str]
    characters: frozenset[str]

    @classmethod
    def of(cls, question: str, language: str) -> "_Sought":
        asked = asked_terms(question, (language,))
        words = [*asked.words, *asked.joined]
        stems = frozenset(stem for word in words for stem in word.stems)
        exact = {word.exact for word in words if word.exact} | {code.whole for code in asked.codes}
        has_pairs = any(UNSPACED_RUN.match(stem) for stem in stems)
        return cls(
            language=language,
            stems=stems,
            exact=frozenset(exact if words or asked.codes else asked.stopped),
            characters=frozenset(() if has_pairs else asked.characters),
        )


def highlights(question: str, passage: str) -> tuple[Span, ...]:
    """[start, end) of the passage's words that the question has, or that share their stem with one; in order."""
    language = language_of(words_in(normalised(passage))) or language_of(words_in(normalised(question))) or ENGLISH
    sought = _Sought.of(question, language)
    found: list[Span] = []
    for start, end in _spans(sought, passage):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif len(found) == MAX_HIGHLIGHTS:
            break
        else:
            found.append((start, end))
    return tuple(found)


def _spans(sought: _Sought, passage: str) -> Iterator[Span]:
    """In order of their starts; they may touch and overlap."""
    codes = {match.start(): match.end() for match in CHAIN.finditer(passage) if _is_sought_whole(sought, match)}
    code_end = 0
    for match in WORD.finditer(passage):
        if match.start() in codes:
            code_end = codes[match.start()]
            yield match.start(), code_end
        elif match.start() < code_end:
            continue
        elif UNSPACED_RUN.match(match.group()):
            yield from _in_run(sought, match)
        elif any(_is_sought(sought, word) for word in words_in(normalised(match.group()))):
            yield match.span()  # of one sign there may be several words: `¼`


def _is_sought_whole(sought: _Sought, match: re.Match[str]) -> bool:
    chain = normalised(match.group())
    return bool(sought.exact) and any(whole.term in sought.exact for whole in wholes_of(chain)[:1])


def _is_sought(sought: _Sought, plain: str) -> bool:
    return folded(plain) in sought.exact or _have_common(stems_of(plain, sought.language), sought.stems)


def _in_run(sought: _Sought, match: re.Match[str]) -> Iterator[Span]:
    """Pairs of characters that the question has; single ones where it has no pair."""
    run, start = match.group(), match.start()
    for place in range(len(run)):
        if run[place : place + 2] in sought.stems:
            yield start + place, start + place + 2
        elif run[place] in sought.characters:
            yield start + place, start + place + 1


def _have_common(stems: Iterable[str], sought: frozenset[str]) -> bool:
    return any(stem in sought for stem in stems)
