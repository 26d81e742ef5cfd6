"""Arguments of a model: the believed ones."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.assistants.engine.search_tool import (
    MAX_TOP_K,
    SEARCH_TOOL,
    BoundedSearch,
    Refusal,
    read_call,
    search_tool,
)
from analytiq.models.index_types import IndexType
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.tree import EVERYTHING, And

SCOPE = parse_filter({"customer": "Acme"})


def read(arguments: object, *, scope: object = EVERYTHING) -> BoundedSearch | Refusal:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return read_call("search_knowledge_base", text, scope=scope)  # type: ignore[arg-type]


def test_definition_is_the_seeds() -> None:
    assert json.loads(json.dumps(SEARCH_TOOL.parameters)) == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Search query"},
            "top_k": {"type": "integer", "default": 5},
            "metadata_filter": {"type": "object"},
            "coalesce_neighbors": {"type": "integer"},
        },
        "required": ["query"],
    }
    assert SEARCH_TOOL.name == "search_knowledge_base"
    assert SEARCH_TOOL.description == "Search the knowledge base for relevant information"


@pytest.mark.parametrize(
    ("top_k", "expected"), [(None, 5), (3, 3), (3.0, 3), (0, 1), (-7, 1), (100000, MAX_TOP_K), (10**400, MAX_TOP_K)]
)
def test_top_k_is_bounded(top_k: object, expected: int) -> None:
    wanted = read({"query": "x", "top_k": top_k})
    assert isinstance(wanted, BoundedSearch)
    assert wanted.request.top_k == expected
    assert bool(wanted.notes) == (top_k not in (None, 3, 3.0))


@pytest.mark.parametrize("arguments", ['{"query": "x", "top_k": Infinity}', '{"query": "x", "top_k": NaN}', "[" * 9999])
def test_json_that_is_none_is_refused(arguments: str) -> None:
    assert isinstance(read(arguments), Refusal)


def test_filter_can_only_narrow_the_scope() -> None:
    narrowing = {"customer": "Other"}
    wanted = read({"query": "x", "metadata_filter": narrowing}, scope=SCOPE)
    assert isinstance(wanted, BoundedSearch)
    assert wanted.request.filter == And((SCOPE, parse_filter(narrowing)))
    for nothing in ({}, None):
        wanted = read({"query": "x", "metadata_filter": nothing}, scope=SCOPE)
        assert isinstance(wanted, BoundedSearch)
        assert wanted.request.filter == SCOPE


def test_query_is_without_what_cannot_be_stored_or_sent() -> None:
    wanted = read('{"query": " a\\u0000b\\ud800c "}')
    assert isinstance(wanted, BoundedSearch)
    assert wanted.request.query == "abc"
    assert isinstance(read('{"query": "\\ud800"}'), Refusal)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["query", "top_k", "metadata_filter", "coalesce_neighbors"]) | st.text(max_size=8)


@given(st.dictionaries(names, values, max_size=5))
def test_whatever_a_model_writes_is_bounded_or_refused(arguments: dict[str, object]) -> None:
    wanted = read(arguments, scope=SCOPE)
    if isinstance(wanted, BoundedSearch):
        assert 1 <= wanted.request.top_k <= MAX_TOP_K
        assert wanted.request.coalesce_neighbors is None or 0 <= wanted.request.coalesce_neighbors <= 5
        assert wanted.request.filter == SCOPE or (
            isinstance(wanted.request.filter, And) and wanted.request.filter.operands[0] == SCOPE
        )
        assert wanted.request.query.strip()


def test_index_types_are_offered_where_there_are_several_and_read_everywhere() -> None:
    assert search_tool({IndexType.PARAGRAPH}) is SEARCH_TOOL
    typed = search_tool({IndexType.PARAGRAPH, IndexType.SECTION})
    offered, usual = (json.loads(json.dumps(tool.parameters))["properties"] for tool in (typed, SEARCH_TOOL))
    assert list(offered) == [*usual, "index_types"]
    wanted = read({"query": "x", "index_types": ["website", "section", "section"]})
    assert isinstance(wanted, BoundedSearch)
    assert wanted.request.index_types == (IndexType.SECTION, IndexType.WEBSITE)
    for wrong in ("section", ["chapter"], [["section"]], {}):
        assert isinstance(read({"query": "x", "index_types": wrong}), Refusal)
