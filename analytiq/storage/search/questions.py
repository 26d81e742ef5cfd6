"""Conversion of a question to clauses of `$search`. Pure.

Each clause adds to the score, so an analyzer is used only if it finds something that the others do not: pairs of
characters for scripts without spaces, whole words for codes. The server cannot take the better of two fields: a word
counts in a chunk's context only if the text lacks it, so that no word counts twice.
"""

import re

from analytiq.storage.search.indexes import CHARACTER_PAIRS, CHUNK_TEXT, CONTEXT, WHOLE
from analytiq.storage.search.rendering import Stage

MOST_WORDS = 256
"""Most words: runs of letters, and characters of scripts without spaces. Lucene refuses more than 1,024 terms and
conditions: these words appear in up to three ways, which leaves at least 384 to the filter."""
MOST_WORDS_WITH_CONTEXT, MOST_CONTEXT_WORDS = 192, 24
"""The same where chunks have contexts, and the words that are searched there too: the first ones, two terms each."""
LONGEST_WORD = 255
"""Most characters of a word: Lucene's analyzers cut longer ones."""
WHOLE_WEIGHT = 2.0
"""Weight of a code found literally, above that of its parts."""

_UNSPACED_CHARACTERS = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_UNSPACED = re.compile(f"[{_UNSPACED_CHARACTERS}]")
_WORD = re.compile(f"[{_UNSPACED_CHARACTERS}]|[^\\W_{_UNSPACED_CHARACTERS}]+")
# Begins where a run of letters and digits does: tried within a run, n characters would be scanned n times.
_CODE = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:@#+&]++[^\W_]++)+")


def clauses_of(question: str, *, has_context: bool = False) -> list[Stage]:
    """Return clauses of which one must match; none for a question without words. `has_context`: of the chunks."""
    most = MOST_WORDS_WITH_CONTEXT if has_context else MOST_WORDS
    words = [word[:LONGEST_WORD] for word in _beginning(question, most).split()]
    is_unspaced = any(_UNSPACED.search(word) for word in words)
    text = " ".join(words)
    codes = [code for word in words for code in _CODE.findall(word)]
    if not any(character.isalnum() for character in text):
        return []
    clauses = [_text(text, CHUNK_TEXT)]
    if is_unspaced:
        clauses.append(_text(text, way(CHARACTER_PAIRS)))
    if codes:
        clauses.append(_whole(" ".join(codes), way(WHOLE)))
    return [*clauses, *_context_clauses(_beginning(text, MOST_CONTEXT_WORDS))] if has_context else clauses


def _context_clauses(text: str) -> list[Stage]:
    """Return a clause for each word that a chunk's context may have in place of its text."""
    words = list(dict.fromkeys(_WORD.findall(text)))
    codes = list(dict.fromkeys(_CODE.findall(text)))
    clauses = [_in_context(_text(word, CONTEXT), _text(word, CHUNK_TEXT)) for word in words]
    if any(_UNSPACED.match(word) for word in words):
        pairs = (way(CHARACTER_PAIRS, CONTEXT), way(CHARACTER_PAIRS))
        clauses.append(_in_context(*(_text(text, path) for path in pairs)))
    return [*clauses, *(_in_context(_whole(code, way(WHOLE, CONTEXT)), _whole(code, way(WHOLE))) for code in codes)]


def _in_context(clause: Stage, same_in_text: Stage) -> Stage:
    return {"compound": {"must": [clause], "mustNot": [same_in_text]}}


def _beginning(question: str, most: int) -> str:
    """Cut the question to its first `most` words."""
    for count, word in enumerate(_WORD.finditer(question)):
        if count == most:
            return question[: word.start()]
    return question


def way(analyzer: str, field: str = CHUNK_TEXT) -> Stage:
    """Return the field of the text under a further analyzer."""
    return {"value": field, "multi": analyzer}


def _text(query: str, path: str | Stage) -> Stage:
    return {"text": {"query": query, "path": path}}


def _whole(codes: str, path: Stage) -> Stage:
    return {"text": {"query": codes, "path": path, "score": {"boost": {"value": WHOLE_WEIGHT}}}}
