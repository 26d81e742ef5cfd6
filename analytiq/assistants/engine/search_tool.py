"""The tool `search_knowledge_base`: its definition, and the validation of a model's arguments."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import JsonValue

from analytiq.errors import InvalidInputError
from analytiq.inference.llm.base import Tool
from analytiq.inference.llm.bounding import LONGEST_ARGUMENTS
from analytiq.models.index_types import IndexType, in_order
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.tree import EVERYTHING, And, Filter
from analytiq.retrieval.pipeline.request import SearchRequest

NAME = "search_knowledge_base"
_PROPERTIES: dict[str, JsonValue] = {
    "query": {"type": "string", "description": "Search query"},
    "top_k": {"type": "integer", "default": 5},
    "metadata_filter": {"type": "object"},
    "coalesce_neighbors": {"type": "integer"},
}
_INDEX_TYPES: JsonValue = {
    "type": "array",
    "items": {"type": "string", "enum": [one.value for one in IndexType]},
    "description": "Granularities of the passages; left out: all. website: whole pages",
}


def _tool(properties: dict[str, JsonValue]) -> Tool:
    return Tool(
        name=NAME,
        description="Search the knowledge base for relevant information",
        parameters={"type": "object", "properties": properties, "required": ["query"]},
    )


SEARCH_TOOL = _tool(_PROPERTIES)
"""The tool's definition. The prompt decides which knowledge base is searched."""
TYPED_SEARCH_TOOL = _tool({**_PROPERTIES, "index_types": _INDEX_TYPES})
"""The same for knowledge bases of several index types."""


def search_tool(index_types: Collection[IndexType]) -> Tool:
    """Return the tool that searches knowledge bases of these index types."""
    return TYPED_SEARCH_TOOL if len(index_types) > 1 else SEARCH_TOOL


DEFAULT_TOP_K = 5
MAX_TOP_K = 20
MAX_NEIGHBOURS = 5
MAX_QUERY_CHARACTERS = 2000
_KNOWN = ("query", "top_k", "metadata_filter", "coalesce_neighbors", "index_types")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason for a refused call, sent to the model, which may ask again."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class BoundedSearch:
    """A validated search; `notes` state the server's changes."""

    request: SearchRequest
    notes: tuple[str, ...] = ()


def read_call(name: str, arguments: str, *, scope: Filter) -> BoundedSearch | Refusal:
    """Validate a call. The model can narrow the prompt's scope, and never widen it.

    Args:
        name: the name of the tool.
        arguments: the text of the model.
        scope: the prompt's filter on all of its searches.
    """
    if name != NAME:
        return Refusal("unknown_tool", f"There is no tool {name[:80]!r}. The only one is {NAME!r}.")
    values = _object_of(arguments)
    if isinstance(values, Refusal):
        return values
    unknown = sorted(set(values) - set(_KNOWN))
    if unknown:
        named = ", ".join(repr(key[:80]) for key in unknown[:5])
        return Refusal(
            "unknown_argument",
            f"{NAME} takes no {named}. It takes {', '.join(_KNOWN)}, and searches the one knowledge base of this task.",
        )
    notes: list[str] = []
    try:
        request = SearchRequest(
            query=_query(values.get("query"), notes),
            top_k=_bounded("top_k", values.get("top_k"), DEFAULT_TOP_K, 1, MAX_TOP_K, notes) or DEFAULT_TOP_K,
            filter=_narrowed(scope, values.get("metadata_filter")),
            coalesce_neighbors=_bounded(
                "coalesce_neighbors", values.get("coalesce_neighbors"), None, 0, MAX_NEIGHBOURS, notes
            ),
            index_types=_index_types(values.get("index_types")),
        )
    except InvalidInputError as error:
        return Refusal("invalid_arguments", error.detail)
    return BoundedSearch(request, tuple(notes))


def _object_of(arguments: str) -> Mapping[str, Any] | Refusal:
    if len(arguments) > LONGEST_ARGUMENTS:
        return Refusal("invalid_arguments", f"The arguments are longer than {LONGEST_ARGUMENTS} characters.")
    try:
        values: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return Refusal(
            "invalid_json", 'The arguments are not JSON. Write an object such as {"query": "notice period"}.'
        )
    if not isinstance(values, dict):
        return Refusal("invalid_json", 'The arguments are not an object. Write {"query": "…"}.')
    return cast("Mapping[str, Any]", values)


def _query(value: object, notes: list[str]) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError.of_field("query", "Must be a text that is not empty.")
    query = "".join(character for character in value.strip() if character != "\0" and not _is_surrogate(character))
    if len(query) > MAX_QUERY_CHARACTERS:
        notes.append(f"query was cut to {MAX_QUERY_CHARACTERS} characters")
    if not query.strip():
        raise InvalidInputError.of_field("query", "Must be a text that is not empty.")
    return query[:MAX_QUERY_CHARACTERS]


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _bounded(name: str, value: object, default: int | None, least: int, most: int, notes: list[str]) -> int | None:
    if value is None:
        return default
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        raise InvalidInputError.of_field(name, "Must be a whole number.")
    bounded = min(max(int(value), least), most)
    if bounded != value:
        notes.append(f"{name} was set to {bounded}: from {least} to {most} are allowed")
    return bounded


def _index_types(value: object) -> tuple[IndexType, ...]:
    if value is None or value == []:
        return ()
    known = [one.value for one in IndexType]
    if not isinstance(value, list) or any(one not in known for one in cast("list[object]", value)):
        raise InvalidInputError.of_field("index_types", f"Must be a list of these: {', '.join(known)}.")
    return in_order([IndexType(one) for one in cast("list[str]", value)])


def _narrowed(scope: Filter, value: object) -> Filter:
    if value is None or value == {}:
        return scope
    if not isinstance(value, dict):
        raise InvalidInputError.of_field("metadata_filter", 'Must be an object, such as {"customer": "Acme"}.')
    narrowing = parse_filter(cast("dict[str, JsonValue]", value))
    return narrowing if scope == EVERYTHING else And((scope, narrowing))
