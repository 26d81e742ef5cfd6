"""Citation marks in an answer, in every form that models write. Pure.

Models are told to write `[1]`. They also write `[1, 2]`, `[1-3]`, `[^1]`, `[Source 1]`, `[1, page 7]`, `(Source 1)`,
`【1】`, `【1†source】` and `［1］`. In code, brackets with a number are code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = (
    r"(?:sources?|passages?|documents?|docs?|references?|refs?|citations?|chunks?|excerpts?|quellen?|fuentes?|fontes?"
    r"|fonti|来源|來源|出典)"
)
_NUMBER = r"[\^#]?\d{1,3}"
_ITEM = rf"(?:{_WORD}\.?\s*)?{_NUMBER}"
_RANGE = rf"{_ITEM}(?:\s*[-–—‐‑~～]\s*{_ITEM})?"
_LIST = rf"{_RANGE}(?:\s*(?:[,;、，；&]|\band\b|\bund\b|\bet\b)\s*{_RANGE})*"
_PAGES = r"\s*,\s*(?:pages?|pp?\.?|seiten?|s\.)\s*\d+(?:\s*[-–]\s*\d+)?"
_REMARK = r"\s*(?:†[^\[\]【】\n]{0,200}|[:：]\s*[^\d\s\[\]【】\n][^\[\]【】\n]{0,200})"
_TAIL = rf"(?:{_PAGES})?(?:{_REMARK})?\s*"
_MARK = re.compile(
    rf"[\[［【〔]\s*(?P<square>{_LIST}){_TAIL}[\]］】〕]"
    rf"|[(（]\s*(?:see\s+|cf\.?\s+|siehe\s+)?(?={_WORD})(?P<round>{_LIST}){_TAIL}[)）]",
    re.IGNORECASE,
)
_PIECE = re.compile(rf"({_NUMBER})(?:\s*[-–—‐‑~～]\s*(?:{_WORD}\.?\s*)?({_NUMBER}))?", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_APART = re.compile(r"⟦([^⟦⟧\n]{1,300})⟧")
MOST_OF_A_RANGE = 50
"""Numbers. A longer range is not a list of sources."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation mark: the range [start, end) of the text, and the distinct numbers in it."""

    start: int
    end: int
    numbers: tuple[int, ...]


def marks_of(text: str) -> list[Mark]:
    """Return the marks of an answer, in order, except in code."""
    code = code_of(text)
    return [mark for mark in _marks(text) if not any(start <= mark.start < end for start, end in code)]


def without_marks(text: str) -> str:
    """Return the answer without its marks and the white space before them."""
    parts: list[str] = []
    place = 0
    for mark in marks_of(text):
        parts.append(text[place : mark.start].rstrip())
        place = mark.end
    return "".join((*parts, text[place:]))


def with_own_marks_apart(content: str) -> str:
    """Write `[2]` in a passage's text as `⟦2⟧`, so that an answer that quotes the passage cites nothing."""
    parts: list[str] = []
    place = 0
    for mark in _marks(content):
        parts += [content[place : mark.start], f"⟦{content[mark.start + 1 : mark.end - 1]}⟧"]
        place = mark.end
    return "".join((*parts, content[place:]))


def code_restored(answer: str) -> str:
    """Undo `with_own_marks_apart` in an answer's code; every character keeps its position."""
    parts: list[str] = []
    place = 0
    for start, end in code_of(answer):
        parts += [answer[place:start], _APART.sub(r"[\1]", answer[start:end])]
        place = end
    return "".join((*parts, answer[place:]))


def code_of(text: str) -> list[tuple[int, int]]:
    """Return the ranges of Markdown code: fenced blocks and backtick spans."""
    found: list[tuple[int, int]] = []
    prose_start = place = 0
    while place < len(text):
        line_end = text.find("\n", place)
        line_end = len(text) if line_end < 0 else line_end + 1
        fence = _FENCE.match(text, place, line_end)
        if fence is None or (fence[1][0] == "`" and "`" in text[fence.end() : line_end]):
            place = line_end
            continue
        found += _spans(text, prose_start, place)
        end = _end_of_block(text, line_end, fence[1])
        found.append((place, end))
        prose_start = place = end
    return found + list(_spans(text, prose_start, len(text)))


def _end_of_block(text: str, place: int, fence: str) -> int:
    while place < len(text):
        line_end = text.find("\n", place)
        line_end = len(text) if line_end < 0 else line_end + 1
        closing = _FENCE.match(text, place, line_end)
        if closing and closing[1].startswith(fence) and not text[closing.end() : line_end].strip():
            return line_end
        place = line_end
    return len(text)


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges between backtick runs of equal length within a paragraph."""
    place = start
    while opening := _TICKS.search(text, place, end):
        paragraph = text.find("\n\n", opening.end(), end)
        limit = end if paragraph < 0 else paragraph
        runs = _TICKS.finditer(text, opening.end(), limit)
        closing = next((run for run in runs if len(run.group()) == len(opening.group())), None)
        place = opening.end() if closing is None else closing.end()
        if closing is not None:
            yield opening.start(), closing.end()


def _marks(text: str) -> Iterator[Mark]:
    for match in _MARK.finditer(text):
        listed = match["square"] or match["round"]
        numbers = tuple(dict.fromkeys(number for piece in _PIECE.finditer(listed) for number in _numbers(piece)))
        yield Mark(*match.span(), numbers)


def _numbers(piece: re.Match[str]) -> Iterator[int]:
    first = int(piece[1].lstrip("^#"))
    last = int(piece[2].lstrip("^#")) if piece[2] else first
    yield from range(first, last + 1) if first <= last < first + MOST_OF_A_RANGE else dict.fromkeys((first, last))
