"""A passage on a terminal: its best sentence is marked, and every cut is shown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

SENTENCE_STYLE = "bold"
WORD_STYLE = "underline"
CUT = "…"

MAX_CHARACTERS = 700
"""Longest excerpt, about nine lines of a terminal: the best sentence with its context."""

Span = tuple[int, int]

_CONTROLS = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""Control characters: a document's text must not move the cursor or colour the terminal."""
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s)|[。！？]|\n\s*\n|\Z)", re.DOTALL)
_COMPLETE = re.compile(r"[.!?:;。！？\"'”’)\]|]\Z")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The shown part [start, end) of a passage, its best sentence, and whether text is missing on either side."""

    start: int
    end: int
    sentence: Span | None
    is_cut_before: bool
    is_cut_after: bool


def render_passage(content: str, highlights: Sequence[Span], *, begins_document: bool) -> Text:
    """Mark the best sentence of a passage and its matching words, and put an ellipsis wherever text is missing.

    Args:
        content: the passage's text.
        highlights: [start, end) in `content` of words that the query contains, in order.
        begins_document: whether the passage stands at the very beginning of its document.
    """
    excerpt = choose_excerpt(content, highlights, begins_document=begins_document)
    shown = Text(content[excerpt.start : excerpt.end].translate(_CONTROLS))
    if excerpt.sentence is not None:
        shown.stylize(SENTENCE_STYLE, *_shifted(excerpt.sentence, excerpt))
    for span in highlights:
        if excerpt.start <= span[0] and span[1] <= excerpt.end:
            shown.stylize(WORD_STYLE, *_shifted(span, excerpt))
    before = Text(f"{CUT} ") if excerpt.is_cut_before else Text()
    return before + shown + Text(f" {CUT}" if excerpt.is_cut_after else "")


def choose_excerpt(content: str, highlights: Sequence[Span], *, begins_document: bool) -> Excerpt:
    """Choose the excerpt of a passage: whole sentences around the best one, at most `MAX_CHARACTERS` if possible."""
    sentences = _sentences_of(content)
    if not sentences:
        return Excerpt(0, len(content), None, is_cut_before=False, is_cut_after=False)
    best = max(range(len(sentences)), key=lambda place: _matches(content, sentences[place], highlights))
    has_match = _matches(content, sentences[best], highlights) > 0
    first = last = best if has_match else 0
    while True:
        length = sentences[last][1] - sentences[first][0]
        if last + 1 < len(sentences) and length + _length(sentences[last + 1]) <= MAX_CHARACTERS:
            last += 1
        elif first > 0 and length + _length(sentences[first - 1]) <= MAX_CHARACTERS:
            first -= 1
        else:
            break
    start, end = sentences[first][0], sentences[last][1]
    begins_amid = not begins_document and content[start].islower()
    return Excerpt(
        start,
        end,
        sentences[best] if has_match and len(sentences) > 1 else None,
        is_cut_before=first > 0 or begins_amid,
        is_cut_after=last + 1 < len(sentences) or _COMPLETE.search(content[start:end]) is None,
    )


def _sentences_of(content: str) -> list[Span]:
    """Return [start, end) of each sentence without the white space around it."""
    spans: list[Span] = []
    for match in _SENTENCE.finditer(content):
        text = match.group()
        if text.strip():
            start = match.start() + len(text) - len(text.lstrip())
            spans.append((start, start + len(text.strip())))
    return spans


def _matches(content: str, sentence: Span, highlights: Sequence[Span]) -> int:
    """Count the letters of distinct matching words, so that a long word outweighs several short ones."""
    words = {content[start:end].lower() for start, end in highlights if sentence[0] <= start and end <= sentence[1]}
    return sum(map(len, words))


def _length(span: Span) -> int:
    return span[1] - span[0]


def _shifted(span: Span, excerpt: Excerpt) -> Span:
    return span[0] - excerpt.start, span[1] - excerpt.start
