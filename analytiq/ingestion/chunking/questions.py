"""Questions in a text: by a label, by a heading or line that ends in a question mark."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from analytiq.ingestion.chunking.parts import Part
from analytiq.ingestion.chunking.spans import trimmed
from analytiq.models.blocks import BlockKind

_LONGEST_QUESTION = 300
_QUESTION_MARKS = ("?", "？", "؟", "\u037e")
_EMPHASIS = "*_ \t"
_BEFORE = r"[ \t>]*(?:[-*+•][ \t]+)?(?:\d{1,4}[.)][ \t]*)?(?:#{1,6}[ \t]+)?"
_LABEL = re.compile(
    _BEFORE + r"[*_]{0,3}(?:Q|Question|Frage|F|Pregunta|Domanda|Vraag|Pergunta|Вопрос|問|质问|質問|問題|问题|问)"
    r"[ \t]?\d{0,4}[*_]{0,3}[ \t]?[:：][*_]{0,3}[ \t]*\S|" + _BEFORE + r"[*_]{0,3}Q\d{0,4}[.)][*_]{0,3}[ \t]+\S",
    re.IGNORECASE,
)
_BOLD = re.compile(_BEFORE + r"(\*\*|__)[^\n]{1,300}?[?？؟]\1")
_PROSE = {BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.QUOTE}


@dataclass(frozen=True, slots=True)
class Passage:
    """A part, or the lines of one, that begins with a question or has none.

    `is_answered`: more than the question stands in the passage.
    """

    part: Part
    is_question: bool
    is_answered: bool = False


def passages_of(text: str, part: Part) -> Iterator[Passage]:
    """Yield the part cut before each of its questions."""
    if part.kind is BlockKind.HEADING:
        yield Passage(part, is_question=_ends_in_question(text[part.start : part.end]))
    elif part.kind is BlockKind.CODE:
        yield Passage(part, is_question=False)
    else:
        starts = [start for start, line in _lines(text, part) if _begins_question(line)]
        for start, end in zip([part.start, *starts], [*starts, part.end], strict=True):
            begin, stop = trimmed(text, start, end)
            if begin < stop:
                rows = tuple(row for row in part.rows if begin <= row[0] < stop)
                follows = part.follows_furniture and begin == part.start
                yield _passage(text, replace(part, start=begin, end=stop, rows=rows, follows_furniture=follows))


def _passage(text: str, part: Part) -> Passage:
    first, *rest = text[part.start : part.end].split("\n", 1)
    is_question = _begins_question(first) or (part.kind in _PROSE and _ends_in_question(first))
    bold = _BOLD.match(first)
    goes_on = bool(bold and first[bold.end() :].strip())
    return Passage(part, is_question, is_answered=bool(rest) or goes_on or part.kind is BlockKind.TABLE)


def _lines(text: str, part: Part) -> Iterator[tuple[int, str]]:
    start = part.start
    for line in text[part.start : part.end].split("\n"):
        if line.strip():
            yield start, line
        start += len(line) + 1


def _begins_question(line: str) -> bool:
    return bool(_LABEL.match(line) or _BOLD.match(line))


def _ends_in_question(line: str) -> bool:
    words = line.strip().rstrip(_EMPHASIS)
    return len(words) <= _LONGEST_QUESTION and words.endswith(_QUESTION_MARKS)
