"""Citations of an answer: the cited passages, and the sentence of each that fits best. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analytiq.assistants.chat.marks import marks_of, without_marks
from analytiq.models.shown_passage import ShownPassage

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”’)\]]*\s+|\n+|(?<=[。！？])")
_LONG_LINE = 40
"""Characters. A line of at least this length that ends within a sentence was wrapped at the page's width."""
_WORD = re.compile(r"\w+")
LONGEST_QUOTE = 600
"""Characters. Bounds the quote of a table, which has no sentences."""
DIGITS_WEIGHT = 3.0
"""Weight of a word with digits: answers are usually asked for numbers."""
LENGTH_PENALTY = 0.02
"""Penalty for each word of a sentence that the answer lacks: of two sentences with the same facts, the shorter wins."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A cited passage, its quoted range [start, end), and the ranges of its marks in the answer."""

    passage: ShownPassage
    start: int
    end: int
    marks: tuple[tuple[int, int], ...]


def cited(answer: str, passages: Sequence[ShownPassage]) -> list[Cited]:
    """Return the passages that an answer cites, in the order of their first mark; ignore unknown numbers."""
    known = {passage.number: passage for passage in passages}
    marks: dict[int, list[tuple[int, int]]] = {}
    for mark in marks_of(answer):
        for number in mark.numbers:
            if number in known:
                marks.setdefault(number, []).append((mark.start, mark.end))
    found: list[Cited] = []
    for number, places in marks.items():
        claims = " ".join(_claim(answer, start) for start, _ in places)
        start, end = _best_sentence(known[number].content, claims)
        found.append(Cited(known[number], start, end, tuple(places)))
    return found


def _claim(answer: str, mark_start: int) -> str:
    """Return the sentence that a mark closes or stands in."""
    before = answer[:mark_start].rstrip().rstrip(".!?…")
    begin = max((end.end() for end in _SENTENCE_END.finditer(before)), default=0)
    return without_marks(before[begin:])


def _best_sentence(passage: str, claims: str) -> tuple[int, int]:
    """Return the range of the sentence that shares most with the claims; the first sentence if none does."""
    wanted = _words(claims)
    best, best_score = (0, 0), -1.0
    for start, end in _sentences(passage):
        score = _overlap(_words(passage[start:end]), wanted)
        if score > best_score:
            best, best_score = (start, end), score
    start, end = best
    return start, min(end, start + LONGEST_QUOTE)


def _overlap(have: Counter[str], wanted: Mapping[str, int]) -> float:
    shared = sum(_weight(word) for word in have if word in wanted)
    return shared - LENGTH_PENALTY * sum(word not in wanted for word in have)


def _weight(word: str) -> float:
    return DIGITS_WEIGHT if any(character.isdigit() for character in word) else min(len(word), 8) / 8


def _words(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in _WORD.findall(text))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of sentences without surrounding white space; one range for an empty text."""
    start = 0
    is_any = False
    ends = [match.span() for match in _SENTENCE_END.finditer(text) if not _is_wrap(text, *match.span())]
    for boundary in [*ends, (len(text), len(text))]:
        piece = text[start : boundary[0]]
        if piece.strip():
            left = start + len(piece) - len(piece.lstrip())
            yield left, left + len(piece.strip())
            is_any = True
        start = boundary[1]
    if not is_any:
        yield 0, len(text)


def _is_wrap(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` is a line break within a sentence, unlike the breaks in tables and lists."""
    if text[start:end] != "\n":
        return False
    line = text[text.rfind("\n", 0, start) + 1 : start]
    is_prose = len(line) >= _LONG_LINE and line.count(",") < 4 and "|" not in line and "\t" not in line
    return is_prose and (line[-1].isalnum() or line[-1] in ",-–") and text[end : end + 1].isalnum()
