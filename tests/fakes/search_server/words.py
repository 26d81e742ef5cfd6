"""`$search`: the operators that the store uses, strictly; BM25."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.search_server.analysis import Analyzer, analyzer
from tests.fakes.search_server.definitions import WordDefinition
from tests.fakes.search_server.errors import RefusedError, unknown_keys
from tests.fakes.search_server.filters import Document, type_of, values_at

Score = Callable[[Any, Document], float | None]
"""The score of a document that matches; None where it does not."""
Way = tuple[str, str]
"""A path, and one of the ways in which it is analyzed."""

_OPERATORS = {"text", "compound", "equals", "in", "range", "exists"}
_OPTIONS = {"index", "count"}
_RANGE_KEYS = {"gt": "$gt", "gte": "$gte", "lt": "$lt", "lte": "$lte"}
_TYPE_OF = {"token": "string", "number": "number", "date": "date", "boolean": "boolean", "objectId": "objectId"}
K1, B = 1.2, 0.75
MOST_CLAUSES = 1024
"""Terms and conditions of one question, wherever they stand in it."""
LOWER_BOUND = 1000
"""Up to here matches are counted exactly, unless more is asked for."""


@dataclass(frozen=True, slots=True)
class FoundByWords:
    """A document that matches."""

    identifier: Any
    score: float


class _Texts:
    """The words of every document, analyzed once in each way that is asked for."""

    def __init__(self, definition: WordDefinition, documents: Mapping[Any, Document]) -> None:
        self._definition = definition
        self._documents = documents
        self._counts: dict[Way, dict[Any, Counter[str]]] = {}
        self._clauses = 0

    def add_clauses(self, count: int) -> None:
        self._clauses += count
        if self._clauses > MOST_CLAUSES:
            raise RefusedError(f"maxClauseCount is set to {MOST_CLAUSES}")

    def analyzer(self, way: Way) -> Analyzer:
        name = self._definition.analyzers.get(way)
        if name is None:
            raise RefusedError(f"{way} is not mapped as string")
        return analyzer(name, self._definition.custom)

    def counts(self, way: Way) -> dict[Any, Counter[str]]:
        if way not in self._counts:
            analyze = self.analyzer(way)
            self._counts[way] = {
                identifier: Counter(
                    word.term
                    for value in values_at(document, way[0])
                    if isinstance(value, str)
                    for word in analyze(value)
                )
                for identifier, document in self._documents.items()
            }
        return self._counts[way]


def run(stage: Mapping[str, Any], definition: WordDefinition, documents: Mapping[Any, Document]) -> list[FoundByWords]:
    """Everything that matches, best first."""
    unknown_keys("$search", set(stage), _OPERATORS | _OPTIONS)
    texts = _Texts(definition, documents)
    score = _operator({key: value for key, value in stage.items() if key not in _OPTIONS}, definition, texts)
    found = [
        FoundByWords(identifier, value)
        for identifier, document in documents.items()
        if (value := score(identifier, document)) is not None
    ]
    return sorted(found, key=lambda one: -one.score)


def count_of(stage: Mapping[str, Any], found: int) -> dict[str, int]:
    """Return the count of `$searchMeta`: all by request, else up to a threshold."""
    asked = stage.get("count", {})
    unknown_keys("count", set(asked), {"type", "threshold"})
    match asked.get("type", "lowerBound"):
        case "total":
            return {"total": found}
        case "lowerBound":
            return {"lowerBound": min(found, int(asked.get("threshold", LOWER_BOUND)))}
        case other:
            raise RefusedError(f'"count.type" must be one of [lowerBound, total], not {other!r}')


def _operator(given: object, definition: WordDefinition, texts: _Texts) -> Score:
    if not isinstance(given, Mapping) or len(given) != 1:
        raise RefusedError(f"exactly one operator is wanted, not {given!r}")
    name, options = next(iter(given.items()))
    if name not in ("text", "compound"):
        texts.add_clauses(1)
    match name:
        case "text":
            return _text(options, texts)
        case "compound":
            return _compound(options, definition, texts)
        case "equals":
            unknown_keys("equals", set(options), {"path", "value"})
            return _among(options["path"], [options["value"]], definition)
        case "in":
            unknown_keys("in", set(options), {"path", "value"})
            if not isinstance(options["value"], list) or not options["value"]:
                raise RefusedError('"in.value" must be a non-empty array')
            return _among(options["path"], options["value"], definition)
        case "range":
            return _range(options, definition)
        case "exists":
            unknown_keys("exists", set(options), {"path"})
            path = options["path"]
            return lambda _, document: 1.0 if any(True for _ in values_at(document, path)) else None
        case _:
            raise RefusedError(f"the operator {name!r} is not emulated")


def _text(options: Mapping[str, Any], texts: _Texts) -> Score:
    unknown_keys("text", set(options), {"query", "path", "score"})
    if not isinstance(options.get("query"), str) or not options["query"]:
        raise RefusedError('"text.query" must be a non-empty string')
    way = _way(options["path"])
    terms = [word.term for word in texts.analyzer(way)(options["query"])]
    texts.add_clauses(len(terms))
    boost = options.get("score", {"boost": {"value": 1.0}})["boost"]["value"]
    counts = texts.counts(way)
    total = max(1, len(counts))
    average = max(1.0, sum(count.total() for count in counts.values()) / total)
    frequency = {term: sum(term in count for count in counts.values()) for term in set(terms)}
    weight = {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in frequency.items()}

    def score(identifier: Any, _: Document) -> float | None:
        count = counts[identifier]
        length = K1 * (1 - B + B * count.total() / average)
        value = sum(weight[term] * count[term] / (count[term] + length) for term in terms if count[term])
        return boost * value if value else None

    return score


def _compound(options: Mapping[str, Any], definition: WordDefinition, texts: _Texts) -> Score:
    unknown_keys("compound", set(options), {"must", "mustNot", "should", "filter", "minimumShouldMatch"})
    clauses = {
        name: [_operator(item, definition, texts) for item in options.get(name, [])]
        for name in ("must", "mustNot", "should", "filter")
    }
    if not any(clauses.values()) or any(name in options and not of for name, of in clauses.items()):
        raise RefusedError('"compound" and its clauses cannot be empty')
    least = options.get("minimumShouldMatch", 0)
    if not clauses["must"] and not clauses["filter"] and clauses["should"]:
        least = max(1, least)

    def score(identifier: Any, document: Document) -> float | None:
        must = [clause(identifier, document) for clause in clauses["must"]]
        kept = [clause(identifier, document) for clause in clauses["filter"]]
        should = [value for clause in clauses["should"] if (value := clause(identifier, document)) is not None]
        refused = any(clause(identifier, document) is not None for clause in clauses["mustNot"])
        # Lucene finds nothing by what a document must not be alone.
        has_positive = bool(must or kept or clauses["should"])
        if refused or not has_positive or None in must or None in kept or len(should) < least:
            return None
        return sum(value for value in must if value is not None) + sum(should)

    return score


def _among(path: str, literals: Sequence[object], definition: WordDefinition) -> Score:
    kind = _kind(path, definition)
    if any(type_of(literal) != kind for literal in literals):
        raise RefusedError(f"{path} is mapped as {kind} and compared to {literals!r}")
    wanted = set(literals)
    return lambda _, document: (
        1.0 if any(type_of(value) == kind and value in wanted for value in values_at(document, path)) else None
    )


def _range(options: Mapping[str, Any], definition: WordDefinition) -> Score:
    unknown_keys("range", set(options), {"path", *_RANGE_KEYS})
    path = options["path"]
    kind = _kind(path, definition)
    bounds = [(key, literal) for key, literal in options.items() if key != "path"]
    if not bounds or any(type_of(literal) != kind for _, literal in bounds):
        raise RefusedError(f"{path} is mapped as {kind} and compared to {bounds!r}")
    compare = {
        "gt": lambda value, literal: value > literal,
        "gte": lambda value, literal: value >= literal,
        "lt": lambda value, literal: value < literal,
        "lte": lambda value, literal: value <= literal,
    }
    return lambda _, document: (
        1.0
        if any(
            type_of(value) == kind and all(compare[key](value, literal) for key, literal in bounds)
            for value in values_at(document, path)
        )
        else None
    )


def _kind(path: str, definition: WordDefinition) -> str:
    mapped = definition.types.get(path)
    if mapped not in _TYPE_OF:
        raise RefusedError(f"Path '{path}' needs to be indexed as token, number, date, boolean, objectId or uuid")
    return _TYPE_OF[mapped]


def _way(given: Any) -> Way:
    match given:
        case str():
            return given, ""
        case {"value": str(path), "multi": str(way)} if len(given) == 2:
            return path, way
        case _:
            raise RefusedError(f"a path is a string, or has a value and a multi, and not {given!r}")
