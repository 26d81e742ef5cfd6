"""Filters compiled for the search server, evaluated by the emulator's reading of its two languages."""

from dataclasses import asdict
from datetime import datetime

import bson
from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.document import Document
from analytiq.models.index_types import IndexType
from analytiq.retrieval.filters.compilers.mongodb_search import of_filter, of_selection
from analytiq.retrieval.filters.projection import moment_key, projection_of
from analytiq.retrieval.filters.selection import (
    AllOf,
    AnyOf,
    DocumentSet,
    OfTypes,
    Outside,
    PageComparison,
    PageIn,
    Selection,
    contains,
)
from analytiq.retrieval.filters.tree import Comparator, Comparison, Exists, Filter, MetadataField, Not, evaluate
from analytiq.storage.search.indexes import vector_index, word_index
from analytiq.storage.search.predicates import Verdict, every
from analytiq.storage.search.rendering import search_operator, vector_search_filter
from tests.examples import examples
from tests.fakes.search_server import definitions, words
from tests.fakes.search_server.filters import parse_filter
from tests.fakes.search_server.wire import CODEC
from tests.made_filters import IDS, a_document, chunk_filters, documents

VECTORS = definitions.parse("vectorSearch", vector_index(8, "none").definition)
WORDS = definitions.parse("search", word_index().definition)

page_ranges = st.tuples(st.integers(1, 4), st.integers(0, 2)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def row_of(document: Document, pages: tuple[int, int], chunk_index: int = 0) -> dict[str, object]:
    """A chunk as it is read back, but for its text and vector."""
    row = {
        "organization_id": document.organization_id,
        "document_id": document.id,
        "chunk_index": chunk_index,
        "first_page": pages[0],
        "last_page": pages[1],
        "projection": asdict(projection_of(document)),
    }
    return bson.decode(bson.encode(row), CODEC)


def lets_through(verdict: Verdict, row: dict[str, object]) -> bool:
    """In both languages, which must agree."""
    if isinstance(verdict, bool):
        return verdict
    by_vector = parse_filter(vector_search_filter(verdict), VECTORS.filters)(row)
    by_words = words.run({"index": "words", **search_operator(verdict)}, WORDS, {1: row})
    assert by_vector == bool(by_words), (vector_search_filter(verdict), search_operator(verdict))
    return by_vector


@examples(400)
@given(documents(), page_ranges, chunk_filters)
def test_what_a_filter_lets_through_lies_between_its_two_readings(
    document: Document, pages: tuple[int, int], tree: Filter
) -> None:
    row = row_of(document, pages)
    expected = evaluate(tree, document, range(pages[0], pages[1] + 1))
    wide, narrow = of_filter(tree), of_filter(tree, is_wide=False)
    assert lets_through(wide, row) >= expected >= lets_through(narrow, row), (tree, wide, narrow)
    if is_exact(tree):
        assert lets_through(wide, row) == expected, (tree, wide)


def is_exact(tree: Filter) -> bool:
    """Return True if the chunk carries enough to answer: all but the order of strings and of large integers."""
    match tree:
        case Comparison(MetadataField(), comparator, value):
            if comparator in (Comparator.EQUAL, Comparator.NOT_EQUAL) or isinstance(value, bool):
                return True
            return isinstance(value, int | float) and abs(value) < 2**53
        case Not(operand):
            return is_exact(operand)
        case _:
            return all(is_exact(operand) for operand in getattr(tree, "operands", ()))


selections: st.SearchStrategy[Selection] = st.recursive(
    st.one_of(
        st.builds(DocumentSet, st.frozensets(st.sampled_from(IDS), max_size=3)),
        st.builds(
            PageComparison,
            st.sampled_from([one for one in Comparator if one is not Comparator.NOT_EQUAL]),
            st.sampled_from([0, 1, 2, 2.5, 3.0, 4, 9]),
        ),
        st.builds(PageIn, st.lists(st.sampled_from([1, 2, 2.5, 3.0]), max_size=3).map(tuple)),
        st.builds(OfTypes, st.lists(st.sampled_from(list(IndexType)), unique=True).map(tuple)),
    ),
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Outside, inner),
    ),
    max_leaves=8,
)


@examples(300)
@given(documents(), page_ranges, selections, st.sampled_from([0, 2**24 - 1, 2**24, 2**25 - 1, 2**25 + 7]))
def test_a_selection_is_told_to_the_server_exactly(
    document: Document, pages: tuple[int, int], selection: Selection, chunk_index: int
) -> None:
    expected = contains(selection, document.id, *pages, chunk_index=chunk_index)
    assert lets_through(of_selection(selection), row_of(document, pages, chunk_index)) == expected


def test_a_document_that_says_more_than_its_chunks_carry_is_let_through() -> None:
    document = a_document(IDS[0], a=[f"{number}" for number in range(5000)])
    row = row_of(document, (1, 1))
    conditions: list[Filter] = [
        Comparison(MetadataField(("a",)), Comparator.EQUAL, f"{number}") for number in range(0, 5001, 500)
    ]
    for tree in [*conditions, *map(Not, conditions), Not(Exists(MetadataField(("z",))))]:
        if evaluate(tree, document):
            assert lets_through(of_filter(tree), row), tree


def test_what_goes_without_saying_is_not_said() -> None:
    assert every([True, True]) is True
    assert of_filter(Exists(MetadataField(("a",)))) != every([])
    assert of_selection(AnyOf(())) is False
    assert of_selection(Outside(DocumentSet(frozenset()))) is True


moments = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)).map(  # noqa: DTZ001  # as text
    lambda moment: f"{moment.isoformat(timespec='milliseconds')}Z"
)
near_moments = st.integers(-3, 3).map(lambda count: f"2024-01-01T00:00:0{abs(count)}.{count % 3:03}Z")
strings = st.one_of(
    moments,
    near_moments,
    st.sampled_from(["", "2", "2024-01-01", "2024-01-01T00:00:00Z", "2024-13-01T00:00:00.000Z", "zebra", "1999"]),
)
DUE = MetadataField(("due",))


@examples(300)
@given(st.lists(strings, min_size=1, max_size=3), st.sampled_from(list(Comparator)), strings)
def test_the_order_of_strings_is_told_exactly_where_all_are_moments(
    values: list[str], comparator: Comparator, literal: str
) -> None:
    row, tree = row_of(a_document(IDS[0], due=list(values)), (1, 1)), Comparison(DUE, comparator, literal)
    expected = evaluate(tree, a_document(IDS[0], due=list(values)))
    wide, narrow = of_filter(tree), of_filter(tree, is_wide=False)
    assert lets_through(wide, row) >= expected >= lets_through(narrow, row), (tree, wide, narrow)
    if all(moment_key(value) is not None for value in [*values, literal]):
        assert lets_through(wide, row) == expected, (tree, wide)
