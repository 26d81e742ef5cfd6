"""Compiler of selections to tantivy queries, which filter inside the search."""

import math
from collections.abc import Callable

import tantivy

from analytiq.models.index_types import INDEXES_OF_A_TYPE, first_index_of
from analytiq.retrieval.filters.selection import (
    AllOf,
    AnyOf,
    DocumentSet,
    OfTypes,
    Outside,
    PageComparison,
    PageIn,
    Selection,
)
from analytiq.retrieval.filters.tree import Comparator

LAST_PAGE = 2**62


def compiled(schema: tantivy.Schema, selection: Selection) -> tantivy.Query:
    """Return the query that finds exactly the selected chunks, as `contains` defines them."""
    match selection:
        case DocumentSet(document_ids):
            return tantivy.Query.term_set_query(schema, "document", sorted(document_ids)) if document_ids else _none()
        case PageIn(pages):
            return _any([_page(schema, Comparator.EQUAL, page) for page in pages])
        case PageComparison(comparator, page):
            return _page(schema, comparator, page)
        case OfTypes(index_types):
            starts = [first_index_of(one) for one in index_types]
            return _any([_range(schema, "chunk_index", at, at + INDEXES_OF_A_TYPE - 1) for at in starts])
        case AllOf(operands):
            return _every([compiled(schema, operand) for operand in operands])
        case AnyOf(operands):
            return _any([compiled(schema, operand) for operand in operands])
        case Outside(operand):
            excluded = compiled(schema, operand)
            return tantivy.Query.boolean_query(
                [(tantivy.Occur.Must, tantivy.Query.all_query()), (tantivy.Occur.MustNot, excluded)]
            )


def document_count(selection: Selection) -> int:
    """Count the documents named by the selection: the cost of compiling and running it grows with them."""
    match selection:
        case DocumentSet(document_ids):
            return len(document_ids)
        case AllOf(operands) | AnyOf(operands):
            return sum(document_count(operand) for operand in operands)
        case Outside(operand):
            return document_count(operand)
        case PageComparison() | PageIn() | OfTypes():
            return 0


def _page(schema: tantivy.Schema, comparator: Comparator, page: float) -> tantivy.Query:
    """Compare the pages of a chunk, from its first to its last; `page` may be any number, a fraction or infinite."""
    match comparator:
        case Comparator.EQUAL:
            if not math.isfinite(page) or page != int(page):
                return _none()
            return _every([_range(schema, "first_page", None, page), _range(schema, "last_page", page, None)])
        case Comparator.GREATER:
            return _range(schema, "last_page", _next_above(page), None)
        case Comparator.GREATER_OR_EQUAL:
            return _range(schema, "last_page", _whole(page, math.ceil), None)
        case Comparator.LESS:
            return _range(schema, "first_page", None, -_next_above(-page))
        case Comparator.LESS_OR_EQUAL:
            return _range(schema, "first_page", None, _whole(page, math.floor))
        case Comparator.NOT_EQUAL:
            raise ValueError("that no page equals it is written as Outside(PageComparison(EQUAL, page))")


def _range(schema: tantivy.Schema, name: str, least: float | None, greatest: float | None) -> tantivy.Query:
    """Match the range [least, greatest] of a field of whole numbers."""
    low = -LAST_PAGE if least is None else max(-LAST_PAGE, min(least, LAST_PAGE))
    high = LAST_PAGE if greatest is None else max(-LAST_PAGE, min(greatest, LAST_PAGE))
    if high < low:
        return _none()
    return tantivy.Query.range_query(schema, name, tantivy.FieldType.Integer, int(low), int(high))


def _next_above(page: float) -> float:
    """Return the least whole number above `number`."""
    return _whole(page, math.floor) + 1


def _whole(page: float, rounded: Callable[[float], int]) -> float:
    return page if math.isinf(page) else rounded(page)


def _every(queries: list[tantivy.Query]) -> tantivy.Query:
    if not queries:
        return tantivy.Query.all_query()
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])


def _any(queries: list[tantivy.Query]) -> tantivy.Query:
    if not queries:
        return _none()
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def _none() -> tantivy.Query:
    return tantivy.Query.empty_query()
