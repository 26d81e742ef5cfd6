"""Texts to words: approximations of Lucene's analyzers that keep the kind of what these do, not each word of it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.search_server.errors import RefusedError

_IDEOGRAPH = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_STANDARD = re.compile(rf"{_IDEOGRAPH}|(?:(?!{_IDEOGRAPH})\w)+")
_RUN = re.compile(rf"{_IDEOGRAPH}+|(?:(?!{_IDEOGRAPH})\w)+")
_STOP_WORDS = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
     "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with")
)  # fmt: skip
_ENDINGS = ("ingly", "edly", "ing", "ed", "ies", "es", "s", "ly", "e")
_SHORTEST_STEM = 3
_NEITHER_LETTER_NOR_NUMBER = r"[^\p{L}\p{N}]"
"""Java's way to write it, and the only such class that is emulated."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it is indexed, and where it stands."""

    term: str
    start: int
    end: int


Analyzer = Callable[[str], list[Word]]


def analyzer(name: str, custom: Mapping[str, Mapping[str, Any]]) -> Analyzer:
    """The analyzer of this name.

    Raises:
        RefusedError: it is not emulated.
    """
    if name in custom:
        return _custom(custom[name])
    known: dict[str, Analyzer] = {"lucene.standard": _standard, "lucene.english": _english, "lucene.cjk": _pairs}
    if name not in known:
        raise RefusedError(f"the analyzer {name!r} is not emulated")
    return known[name]


def _standard(text: str) -> list[Word]:
    return [Word(match[0].lower(), match.start(), match.end()) for match in _STANDARD.finditer(text)]


def _english(text: str) -> list[Word]:
    return [Word(_stem(word.term), word.start, word.end) for word in _standard(text) if word.term not in _STOP_WORDS]


def _stem(term: str) -> str:
    for ending in _ENDINGS:
        if term.endswith(ending) and len(term) - len(ending) >= _SHORTEST_STEM:
            return term.removesuffix(ending)
    return term


def _pairs(text: str) -> list[Word]:
    return list(_pairs_in(text))


def _pairs_in(text: str) -> Iterator[Word]:
    for match in _RUN.finditer(text):
        if not re.match(_IDEOGRAPH, match[0]) or len(match[0]) == 1:
            yield Word(match[0].lower(), match.start(), match.end())
            continue
        for place in range(match.start(), match.end() - 1):
            yield Word(text[place : place + 2], place, place + 2)


def _custom(definition: Mapping[str, Any]) -> Analyzer:
    if definition["tokenizer"] != {"type": "whitespace"}:
        raise RefusedError("only the whitespace tokenizer is emulated")
    changes: list[Callable[[str], str]] = [_token_filter(item) for item in definition.get("tokenFilters", [])]

    def analyze(text: str) -> list[Word]:
        words: list[Word] = []
        for match in re.finditer(r"\S+", text):
            term = match[0]
            for change in changes:
                term = change(term)
            if term:
                words.append(Word(term, match.start(), match.end()))
        return words

    return analyze


def _token_filter(item: Mapping[str, Any]) -> Callable[[str], str]:
    match item:
        case {"type": "lowercase"}:
            return str.lower
        case {"type": "regex", "pattern": str(pattern), "replacement": str(replacement), "matches": "all"}:
            compiled = re.compile(pattern.replace(_NEITHER_LETTER_NOR_NUMBER, r"[\W_]"))
            return lambda term: compiled.sub(replacement, term)
        case _:
            raise RefusedError(f"the token filter {item} is not emulated")
