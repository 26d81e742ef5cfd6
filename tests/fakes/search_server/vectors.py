"""`$vectorSearch`: the stage, strictly, and an exact scan."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from bson.binary import Binary
from numpy.typing import NDArray

from tests.fakes.search_server.definitions import VectorDefinition, VectorField
from tests.fakes.search_server.errors import RefusedError, unknown_keys
from tests.fakes.search_server.filters import Document, parse_filter

Vector = NDArray[np.float32]
Scored = list[tuple[Any, float]]

MOST_CANDIDATES = 10_000
_KEYS = {"index", "path", "queryVector", "query", "filter", "limit", "numCandidates", "exact", "explainOptions"}
_VECTOR_SUBTYPE = 9
_FLOAT32 = 0x27


def limit_of(stage: Mapping[str, Any]) -> int:
    """The limit, checked as mongod itself does before it asks."""
    limit = stage.get("limit")
    if not isinstance(limit, int | float) or isinstance(limit, bool):
        raise RefusedError('"limit" must be a number', code=8575100, name="Location8575100")
    if limit <= 0:
        raise RefusedError('"limit" must be positive', code=7912700, name="Location7912700")
    if limit != int(limit):
        raise RefusedError('"limit" must be an integer')
    return int(limit)


def check(stage: Mapping[str, Any]) -> None:
    """Refuse what is wrong whatever the index."""
    unknown_keys("$vectorSearch", set(stage), _KEYS)
    limit = limit_of(stage)
    for key in ("index", "path"):
        if not isinstance(stage.get(key), str) or not stage[key]:
            raise RefusedError(f'"{key}" must be a non-empty string')
    if ("queryVector" in stage) == ("query" in stage):
        raise RefusedError("Exactly one and only one of query and queryVector can be present")
    if "query" in stage:
        raise RefusedError("embedding the query text is not emulated")
    candidates = stage.get("numCandidates")
    if stage.get("exact", False) is True:
        if candidates is not None:
            raise RefusedError('"numCandidates" must be omitted when "exact" is set to true')
        return
    if candidates is None:
        raise RefusedError("numCandidates is required for approximate vector search")
    if not isinstance(candidates, int) or not 1 <= candidates <= MOST_CANDIDATES:
        raise RefusedError(f'"numCandidates" must be within bounds [1, {MOST_CANDIDATES}]')
    if limit > candidates:
        raise RefusedError("limit should be less than or equal to numCandidates")


def run(stage: Mapping[str, Any], definition: VectorDefinition, documents: Mapping[Any, Document]) -> Scored:
    """(_id, score) of the nearest documents that pass the filter, best first."""
    path = stage["path"]
    field = definition.vectors.get(path)
    if field is None:
        raise RefusedError(f"{path} is not indexed as vector")
    passes = parse_filter(stage.get("filter", {}), definition.filters)
    query = _query(stage["queryVector"], field)
    scored: Scored = []
    for identifier, document in documents.items():
        vector = _stored(document, path, field) if passes(document) else None
        if vector is not None:
            scored.append((identifier, _score(query, vector, field.similarity)))
    scored.sort(key=lambda pair: -pair[1])  # stable: ties stay in the order of indexing
    return scored[: limit_of(stage)]


def _query(given: object, field: VectorField) -> Vector:
    query = _floats(given)
    if query is None:
        raise RefusedError('"queryVector" must be an array of numbers or BinData float32')
    if len(query) != field.dimensions:
        raise RefusedError(f"vector field is indexed with {field.dimensions} dimensions but queried with {len(query)}")
    if not np.isfinite(query).all():
        raise RefusedError('"queryVector" elements must be finite')
    if field.similarity == "cosine" and not query.any():
        raise RefusedError("Cosine similarity cannot be calculated against a zero vector.")
    return query


def _stored(document: Document, path: str, field: VectorField) -> Vector | None:
    """The vector as it is indexed; what cannot be, is left out without a word."""
    value: object = document
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    vector = _floats(value)
    if vector is None or len(vector) != field.dimensions or not np.isfinite(vector).all():
        return None
    return None if field.similarity == "cosine" and not vector.any() else vector


def _floats(value: object) -> Vector | None:
    if isinstance(value, Binary):
        if value.subtype != _VECTOR_SUBTYPE or len(value) < 2 or value[0] != _FLOAT32 or value[1] != 0:
            return None
        return np.frombuffer(bytes(value), dtype="<f4", offset=2)
    if not isinstance(value, list) or not all(
        type(item) is not bool and isinstance(item, int | float) for item in value
    ):
        return None
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is then refused
        return np.array(value, dtype=np.float64).astype(np.float32)


def _score(query: Vector, vector: Vector, similarity: str) -> float:
    match similarity:
        case "cosine":
            return (1 + float(query @ vector) / float(np.linalg.norm(query) * np.linalg.norm(vector))) / 2
        case "dotProduct":
            return (1 + float(query @ vector)) / 2
        case _:
            return 1 / (1 + float(np.linalg.norm(query - vector)))
