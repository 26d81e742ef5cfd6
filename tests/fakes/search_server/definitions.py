"""Definitions of indexes: the permitted fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from tests.fakes.search_server.errors import RefusedError, unknown_keys

SIMILARITIES = {"cosine", "euclidean", "dotProduct"}
QUANTIZATIONS = {"none", "scalar", "binary"}
MOST_DIMENSIONS = 8192
_VECTOR_KEYS = {
    "type", "path", "numDimensions", "similarity", "quantization", "indexingMethod", "hnswOptions",
}  # fmt: skip
_WORD_KEYS = {"mappings", "analyzers", "analyzer", "searchAnalyzer", "numPartitions", "storedSource"}
_FIELD_KEYS: dict[str, set[str]] = {
    "string": {"type", "analyzer", "searchAnalyzer", "multi"},
    "token": {"type", "normalizer"},
    "number": {"type", "representation"},
    "date": {"type"},
    "boolean": {"type"},
    "objectId": {"type"},
    "document": {"type", "dynamic", "fields"},
}


@dataclass(frozen=True, slots=True)
class VectorField:
    """An indexed vector."""

    dimensions: int
    similarity: str


@dataclass(slots=True)
class VectorDefinition:
    """An index of type `vectorSearch`."""

    vectors: dict[str, VectorField] = field(default_factory=dict)
    filters: set[str] = field(default_factory=set)


@dataclass(slots=True)
class WordDefinition:
    """An index of type `search`: path → type, (path, name of the way or "") → analyzer."""

    types: dict[str, str] = field(default_factory=dict)
    analyzers: dict[tuple[str, str], str] = field(default_factory=dict)
    custom: dict[str, Mapping[str, Any]] = field(default_factory=dict)


@overload
def parse(kind: Literal["vectorSearch"], definition: object) -> VectorDefinition: ...
@overload
def parse(kind: Literal["search"], definition: object) -> WordDefinition: ...
@overload
def parse(kind: str, definition: object) -> VectorDefinition | WordDefinition: ...
def parse(kind: str, definition: object) -> VectorDefinition | WordDefinition:
    """Read a definition strictly."""
    if not isinstance(definition, Mapping):
        raise RefusedError('"definition" must be a document')
    match kind:
        case "vectorSearch":
            return _vector_definition(definition)
        case "search":
            return _word_definition(definition)
        case _:
            raise RefusedError(f'"type" must be one of [search, vectorSearch], not {kind!r}')


def shown(kind: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition as the server lists it: with its defaults."""
    if kind != "vectorSearch":
        return dict(definition)
    defaults = {"quantization": "none", "indexingMethod": "hnsw"}
    fields = [{**defaults, **item} if item["type"] == "vector" else dict(item) for item in definition["fields"]]
    return {**definition, "fields": fields}


def _vector_definition(definition: Mapping[str, Any]) -> VectorDefinition:
    unknown_keys("definition", set(definition), {"fields", "numPartitions", "storedSource"})
    fields = definition.get("fields")
    if not isinstance(fields, list) or not fields:
        raise RefusedError('"fields" cannot be empty')
    if definition.get("numPartitions", 1) not in (1, *range(2, 65, 2)):
        raise RefusedError('"numPartitions" must be 1, or an even number up to 64')
    if definition.get("storedSource") is True:
        raise RefusedError('"storedSource" cannot be true')
    parsed = VectorDefinition()
    for item in fields:
        path = item.get("path")
        if not isinstance(path, str) or not path:
            raise RefusedError('"path" must be a non-empty string')
        if path in parsed.vectors or path in parsed.filters:
            raise RefusedError(f'"fields" has the path {path!r} twice')
        match item.get("type"):
            case "filter":
                unknown_keys(path, set(item), {"type", "path"})
                parsed.filters.add(path)
            case "vector":
                parsed.vectors[path] = _vector_field(path, item)
            case other:
                raise RefusedError(f'"type" must be one of [filter, vector], not {other!r}')
    if not parsed.vectors:
        raise RefusedError('"fields" must contain at least one vector field')
    return parsed


def _vector_field(path: str, item: Mapping[str, Any]) -> VectorField:
    unknown_keys(path, set(item), _VECTOR_KEYS)
    dimensions, similarity = item.get("numDimensions"), item.get("similarity")
    if not isinstance(dimensions, int) or not 1 <= dimensions <= MOST_DIMENSIONS:
        raise RefusedError(f'"numDimensions" must be within bounds [1, {MOST_DIMENSIONS}]')
    if similarity not in SIMILARITIES:
        raise RefusedError(f'"similarity" must be one of {sorted(SIMILARITIES)}')
    quantization = item.get("quantization", "none")
    if quantization not in QUANTIZATIONS:
        raise RefusedError(f'"quantization" must be one of {sorted(QUANTIZATIONS)}')
    if quantization == "binary" and dimensions % 8:
        raise RefusedError('"numDimensions" must be divisible by 8 for binary quantization')
    if item.get("indexingMethod", "hnsw") not in ("hnsw", "flat"):
        raise RefusedError('"indexingMethod" must be one of [flat, hnsw]')
    options = item.get("hnswOptions", {})
    unknown_keys("hnswOptions", set(options), {"maxEdges", "numEdgeCandidates"})
    if not 16 <= options.get("maxEdges", 16) <= 64 or not 100 <= options.get("numEdgeCandidates", 100) <= 3200:
        raise RefusedError('"hnswOptions" is out of bounds')
    return VectorField(dimensions, similarity)


def _word_definition(definition: Mapping[str, Any]) -> WordDefinition:
    unknown_keys("definition", set(definition), _WORD_KEYS)
    mappings = definition.get("mappings")
    if not isinstance(mappings, Mapping):
        raise RefusedError('"mappings" is required')
    unknown_keys("mappings", set(mappings), {"dynamic", "fields"})
    if mappings.get("dynamic"):
        raise RefusedError("dynamic mappings are not emulated")
    parsed = WordDefinition(custom={item["name"]: item for item in definition.get("analyzers", [])})
    for analyzer in parsed.custom.values():
        unknown_keys("analyzers", set(analyzer), {"name", "tokenizer", "tokenFilters", "charFilters"})
    _read_fields(parsed, "", mappings.get("fields", {}))
    return parsed


def _read_fields(parsed: WordDefinition, prefix: str, fields: Mapping[str, Any]) -> None:
    for name, item in fields.items():
        path = prefix + name
        kind = item.get("type")
        if kind not in _FIELD_KEYS or "." in name:
            raise RefusedError(f'"{path}" is mapped to {kind!r}, or has a dot in its name')
        unknown_keys(path, set(item), _FIELD_KEYS[kind])
        if kind == "document":
            _read_fields(parsed, f"{path}.", item.get("fields", {}))
            continue
        parsed.types[path] = kind
        if kind == "string":
            parsed.analyzers[path, ""] = item.get("analyzer", "lucene.standard")
            for way, mapping in item.get("multi", {}).items():
                unknown_keys(f"{path}.{way}", set(mapping), _FIELD_KEYS["string"] - {"multi"})
                parsed.analyzers[path, way] = mapping.get("analyzer", "lucene.standard")
    for analyzer in parsed.analyzers.values():
        if not analyzer.startswith("lucene.") and analyzer not in parsed.custom:
            raise RefusedError(f"the analyzer {analyzer!r} is not defined")
