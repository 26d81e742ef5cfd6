"""The documents and questions of the made set, and the place of an answer in a text."""

import re
from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path(__file__).parents[2] / "tests" / "data" / "retrieval"
"""The set as committed; `python -m benchmarks.made_set` writes it."""

CONTEXT, PLAIN, MISLEADING = "context", "plain", "misleading"
_BETWEEN = r"[^\n]{0,300}?"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class MadeDocument:
    """A file by its name."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question with its answer's place.

    Attributes:
        group: CONTEXT (the passage does not name its subject), PLAIN (it does) or MISLEADING (the answer stands
            elsewhere than in the subject's own section).
        kind: of the document: catalogue, manual, prices, law, faq, minutes, code, contract or news.
        gold: words of the answer in the document, in order, on one line.
    """

    id: str
    group: str
    kind: str
    text: str
    document: str
    gold: tuple[str, ...]


def spans_of(gold: tuple[str, ...], text: str) -> list[tuple[int, int]]:
    """Return the places of an answer in a text, whatever the white space and marks between its words."""
    fragments = [r"[\W_]+".join(map(re.escape, _WORD.findall(fragment))) for fragment in gold]
    pattern = rf"(?<!\w){_BETWEEN.join(fragments)}(?!\w)"
    return [match.span() for match in re.finditer(pattern, text)]
