"""Spans of a text: cutting them to a size in tokens, trimming them, and adding overlap.

Chunkers differ in where they cut; this module fulfils the contract for all of them.
Texts passed here have no lone surrogates (`tokens.without_surrogates`).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analytiq.inference.tokens import CHARACTERS_PER_TOKEN, count_tokens, prefix_end, suffix_start

_BREAKS = (" ", "\n", "\t", "\u3000", "。", "！", "？", "、", "，", "；")
_SENTENCE_START = re.compile(r"[.!?][\"'”’)\]]*\s+|\n\s*|[。！？]\s*")
_WORD_START = re.compile(r"\s+")
_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")
_LONGEST_CLUSTER = 16


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` and its size in tokens; begins and ends with a nonblank character."""

    start: int
    end: int
    token_count: int


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the slice without the blanks at its ends; `start == end` if it is all blank."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def sections(text: str, max_characters: int) -> Iterator[tuple[int, int]]:
    """Cut a long text at paragraph, line or word ends, so that no piece exceeds `max_characters`."""
    start = 0
    while len(text) - start > max_characters:
        middle, limit = start + max_characters // 2, start + max_characters
        for separator in ("\n\n", "\n", " "):
            found = text.rfind(separator, middle, limit)
            if found >= 0:
                cut = found + len(separator)
                break
        else:
            cut = _outside_cluster(text, start, limit)
        yield start, cut
        start = cut
    yield start, len(text)


def fitted(text: str, start: int, end: int, *, max_tokens: int, lookback: float) -> Iterator[Span]:
    """Cut a slice into spans of at most `max_tokens`; a slice that fits is returned whole.

    `lookback` is the share of a span, counted from its end, that may be sacrificed to cut between words: 0 cuts
    at any token, 1 never inside a word that fits. No cut falls inside a letter with its marks, or an emoji.
    """
    start, end = trimmed(text, start, end)
    while start < end:
        span, cut = _first_fitting(text, start, end, max_tokens, lookback)
        yield span
        start, end = trimmed(text, cut, end)


def overlapping(text: str, spans: Iterable[Span], *, max_tokens: int, overlap: int, exact: bool) -> Iterator[Span]:
    """Let each span begin up to `overlap` tokens earlier, in the previous one, without exceeding `max_tokens`.

    The new beginning is that of a sentence, or else of a word, in the first half of the shared part; `exact`
    takes the token where the count ends. The order stays; the first span is unchanged.
    """
    previous: Span | None = None
    for span in spans:
        yield span if previous is None else _extended(text, previous.start, span, max_tokens, overlap, exact)
        previous = span


def _first_fitting(text: str, start: int, end: int, max_tokens: int, lookback: float) -> tuple[Span, int]:
    """Return the first span of `text[start:end]`, which has no blanks at its ends, and the start of the rest."""
    if end - start <= max_tokens * CHARACTERS_PER_TOKEN:
        # What a splitter proposes mostly fits: one count tells, where `prefix_end` would count once more.
        token_count = count_tokens(text[start:end])
        if token_count <= max_tokens:
            return Span(start, end, token_count), end
    limit = max_tokens
    while limit > 0:
        cut = prefix_end(text, start, end, limit)
        if cut < end:
            cut = _between_words(text, start, cut, lookback)
        _, span_end = trimmed(text, start, cut)
        # Counted again, since losing its trailing blanks can change how a slice is tokenized.
        token_count = count_tokens(text[start:span_end])
        if token_count <= max_tokens:
            return Span(start, span_end, token_count), cut
        limit -= max(1, token_count - max_tokens)
    return Span(start, start + 1, count_tokens(text[start])), start + 1


def _extended(text: str, floor: int, span: Span, max_tokens: int, overlap: int, exact: bool) -> Span:  # noqa: FBT001
    shared = min(overlap, max_tokens - span.token_count)
    while shared > 0:
        start = suffix_start(text, floor, span.start, shared)
        if start > floor and not exact:
            start = _good_start(text, start, span.start)
        if start > floor:
            start = _outside_cluster(text, floor, start)
        start, _ = trimmed(text, start, span.start)
        if start >= span.start:
            return span
        token_count = count_tokens(text[start : span.end])
        if token_count <= max_tokens:
            return Span(start, span.end, token_count)
        shared -= max(1, token_count - max_tokens)
    return span


def _good_start(text: str, start: int, end: int) -> int:
    latest = start + (end - start) // 2
    for pattern in (_SENTENCE_START, _WORD_START):
        found = pattern.search(text, start - 1, latest)
        if found:
            return found.end()
    return start


def _between_words(text: str, start: int, cut: int, lookback: float) -> int:
    earliest = cut - int((cut - start) * lookback)
    if earliest < cut:
        if text[cut].isspace():
            return cut
        found = max(text.rfind(mark, max(earliest, start + 1), cut) for mark in _BREAKS)
        if found >= 0:
            return found + 1
    return _outside_cluster(text, start, cut)


def _outside_cluster(text: str, start: int, cut: int) -> int:
    """Move a cut back out of a visible character (grapheme cluster), unless nothing would remain."""
    moved = cut
    while _is_inside_cluster(text, moved):
        moved -= 1
        if moved <= start or cut - moved > _LONGEST_CLUSTER:
            return cut
    return moved


def _is_inside_cluster(text: str, cut: int) -> bool:
    if not 0 < cut < len(text):
        return False
    before, after = text[cut - 1], text[cut]
    if after.isascii():
        return before == "\r" and after == "\n"
    return (
        _ZERO_WIDTH_JOINER in {before, after}
        or unicodedata.category(after).startswith("M")
        or _SKIN_TONES[0] <= after <= _SKIN_TONES[1]
    )
