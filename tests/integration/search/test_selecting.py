"""Filters of documents and pages on real rows: exactly what a plain reading of the filter gives."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from analytiq.models.document import Document
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.filters.selection import PageComparison, contains
from analytiq.retrieval.filters.tree import (
    And,
    BuiltInField,
    Comparator,
    Comparison,
    Exists,
    Filter,
    In,
    MetadataField,
    Nor,
    Not,
    Or,
    evaluate,
)
from analytiq.retrieval.pipeline.request import Mode
from tests.e2e.made_files import pdf_of
from tests.integration.tenant import Tenant, prose

page_leaves = st.one_of(
    st.builds(Comparison, st.just(BuiltInField.PAGE), st.sampled_from(Comparator), st.integers(0, 4)),
    st.builds(
        In, st.just(BuiltInField.PAGE), st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple), st.booleans()
    ),
    st.builds(Exists, st.just(BuiltInField.PAGE), st.booleans()),
)
document_leaves = st.one_of(
    st.builds(Comparison, st.just(MetadataField(("size",))), st.sampled_from(Comparator), st.integers(0, 4)),
    st.builds(
        Comparison,
        st.just(BuiltInField.DOCUMENT_NAME),
        st.sampled_from([Comparator.EQUAL, Comparator.NOT_EQUAL]),
        st.sampled_from(["0.pdf", "1.pdf", "9.pdf"]),
    ),
    st.builds(Exists, st.just(MetadataField(("colour",))), st.booleans()),
)
trees: st.SearchStrategy[Filter] = st.recursive(
    page_leaves | document_leaves,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Nor, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=6,
)

Chunk = tuple[str, int]


@pytest.fixture
async def library(tenant: Tenant) -> tuple[Tenant, KnowledgeBase, dict[str, Document]]:
    """Four documents of up to three pages of two chunks each."""
    kb = await tenant.knowledge_base()
    documents: dict[str, Document] = {}
    for number in range(4):
        text = pdf_of([prose("whales", 2, first=10 * number + 3 * page) for page in range(number % 3 + 1)])
        metadata: dict[str, JsonValue] = {"size": number}
        if number % 2:
            metadata["colour"] = "blue"
        uploaded = await tenant.upload(f"{number}.pdf", text, metadata=metadata)
        documents[uploaded.document.id] = uploaded.document
    await tenant.drain()
    return tenant, kb, documents


async def test_every_way_of_finding_gives_exactly_what_a_plain_reading_of_the_filter_gives(
    library: tuple[Tenant, KnowledgeBase, dict[str, Document]],
) -> None:
    tenant, kb, documents = library
    everything = await tenant.search(kb.id, "whales", top_k=100, mode=Mode.VECTOR)
    pages = {
        (item.document_id, item.chunk_index): range(item.first_page, item.last_page + 1) for item in everything.results
    }
    assert len(pages) >= 10
    assert {page for of_chunk in pages.values() for page in of_chunk} == {1, 2, 3}

    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
    @given(tree=trees)
    def compare(tree: Filter) -> None:
        expected = {key for key, of_chunk in pages.items() if evaluate(tree, documents[key[0]], of_chunk)}
        collected.append((tree, expected))

    collected: list[tuple[Filter, set[Chunk]]] = []
    compare()
    for tree, expected in collected:
        for mode in (Mode.VECTOR, Mode.LEXICAL):
            answer = await tenant.search(kb.id, "whales", top_k=100, filter=tree, mode=mode)
            assert {(item.document_id, item.chunk_index) for item in answer.results} == expected, (mode, tree)
            assert answer.total_count == len(expected)


@given(
    comparator=st.sampled_from([item for item in Comparator if item is not Comparator.NOT_EQUAL]),
    page=st.integers(0, 6),
    first=st.integers(1, 5),
    length=st.integers(0, 3),
)
def test_plain_reading_of_a_selection_is_that_of_the_filter(
    comparator: Comparator, page: int, first: int, length: int
) -> None:
    last = first + length
    document = _document()
    read = evaluate(Comparison(BuiltInField.PAGE, comparator, page), document, range(first, last + 1))
    assert contains(PageComparison(comparator, page), document.id, first, last, chunk_index=0) == read


def _document() -> Document:
    return Document.model_construct(id="a" * 24, document_name="a.txt", tag_ids=(), metadata={})
