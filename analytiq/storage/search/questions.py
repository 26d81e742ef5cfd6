"""Conversion of a question to clauses of `$search`. Pure.

Each clause adds to the score, so an analyzer is used only if it finds something that the others do not: pairs of
characters for scripts without spaces, whole words for codes.
"""

import re

from analytiq.storage.search.indexes import CHARACTER_PAIRS, CHUNK_TEXT, WHOLE
from analytiq.storage.search.rendering import Stage

MOST_WORDS = 256
"""Most words: runs of letters, and characters of scripts without spaces. Lucene refuses more than 1,024 terms and
conditions: these words appear in up to three ways, which leaves at least 384 to the filter."""
LONGEST_WORD = 255
"""Most characters of a word: Lucene's analyzers cut longer ones."""
WHOLE_WEIGHT = 2.0
"""Weight of a code found literally, above that of its parts."""

_UNSPACED_CHARACTERS = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_UNSPACED = re.compile(f"[{_UNSPACED_CHARACTERS}]")
_WORD = re.compile(f"[{_UNSPACED_CHARACTERS}]|[^\\W_{_UNSPACED_CHARACTERS}]+")
# Begins where a run of letters and digits does: tried within a run, n characters would be scanned n times.
_CODE = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:@#+&]++[^\W_]++)+")


def clauses_of(question: str) -> list[Stage]:
    """Return clauses of which one must match; none for a question without words."""
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
    """Return the field of the text under a further analyzer."""
    return {"value": CHUNK_TEXT, "multi": analyzer}


def _text(query: str, path: str | Stage) -> Stage:
    return {"text": {"query": query, "path": path}}
