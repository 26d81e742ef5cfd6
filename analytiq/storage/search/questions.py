"""A question in the words of `$search`: pure.

Each clause adds to the score, so a way of cutting words is only asked where it finds what the others do not: pairs of
characters where there are scripts without spaces, whole words where a word is a code.
"""

import re

from analytiq.storage.search.indexes import CHARACTER_PAIRS, CHUNK_TEXT, WHOLE
from analytiq.storage.search.rendering import Stage

MOST_WORDS = 256
"""Runs of letters, and characters that are written without spaces. Lucene refuses more than 1,024 terms and conditions:
these are asked for in up to three ways, which leaves at least 384 to the filter."""
LONGEST_WORD = 255
"""Characters: Lucene's analyzers cut longer ones."""
WHOLE_WEIGHT = 2.0
"""A code found as it was written counts for more than its parts."""

_UNSPACED_CHARACTERS = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_UNSPACED = re.compile(f"[{_UNSPACED_CHARACTERS}]")
_WORD = re.compile(f"[{_UNSPACED_CHARACTERS}]|[^\\W_{_UNSPACED_CHARACTERS}]+")
# Begins where a run of letters and digits does: tried within one, a run of n is gone through n times.
_CODE = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:@#+&]++[^\W_]++)+")


def clauses_of(question: str) -> list[Stage]:
    """Clauses of which one must match; none where there is no word in the question."""
    words = [word[:LONGEST_WORD] for word in _beginning(question).split()]
    is_unspaced = any(_UNSPACED.search(word) for word in words)
    text = " ".join(words)
    codes = [code for word in words for code in _CODE.findall(word)]
    if not any(character.isalnum() for character in text):
        return []
    clauses = [_text(text, CHUNK_TEXT)]
    if is_unspaced:
        clauses.append(_text(text, way(CHARACTER_PAIRS)))
    if codes:
        weight = {"boost": {"value": WHOLE_WEIGHT}}
        clauses.append({"text": {"query": " ".join(codes), "path": way(WHOLE), "score": weight}})
    return clauses


def _beginning(question: str) -> str:
    """Cut the question to the longest permitted beginning."""
    for count, word in enumerate(_WORD.finditer(question)):
        if count == MOST_WORDS:
            return question[: word.start()]
    return question


def way(analyzer: str) -> Stage:
    """Return the text, cut into words in one of the ways besides the plain one."""
    return {"value": CHUNK_TEXT, "multi": analyzer}


def _text(query: str, path: str | Stage) -> Stage:
    return {"text": {"query": query, "path": path}}
