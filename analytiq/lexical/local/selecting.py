"""Compiles a selection of chunks to a query of tantivy's, which filters inside the search."""

from collections.abc import Mapping

import tantivy

from analytiq.models.filter import Comparator
from analytiq.models.selection import AllOf, AnyOf, DocumentSet, Outside, PageComparison, PageIn, Selection

LAST_PAGE = 2**62


class Generations:
    """The generations of an index by the document that they are of."""

    def __init__(self, document_ids: Mapping[int, str]) -> None:
        self._document_ids = document_ids

    def of(self, wanted: frozenset[str]) -> tuple[list[int], list[int]]:
        """Those of the documents, and the others."""
        inside = [number for number, document_id in self._document_ids.items() if document_id in wanted]
        outside = [number for number, document_id in self._document_ids.items() if document_id not in wanted]
        return inside, outside


def compile_selection(schema: tantivy.Schema, selection: Selection, generations: Generations) -> tantivy.Query | None:
    """The query that finds exactly the selected chunks; None where there are none."""
    match selection:
        case DocumentSet(document_ids):
            return _documents(schema, document_ids, generations)
        case PageIn(pages):
            return _any([_page(schema, Comparator.EQUAL, page) for page in pages])
        case PageComparison(comparator, page):
            return _page(schema, comparator, page)
        case AllOf(operands):
            return _all([compile_selection(schema, operand, generations) for operand in operands])
        case AnyOf(operands):
            return _any([compile_selection(schema, operand, generations) for operand in operands])
        case Outside(operand):
            inner = compile_selection(schema, operand, generations)
            return tantivy.Query.all_query() if inner is None else _but(inner)


def _documents(schema: tantivy.Schema, document_ids: frozenset[str], generations: Generations) -> tantivy.Query | None:
    """By whichever set is smaller: that of the documents, or that of the others."""
    inside, outside = generations.of(document_ids)
    if not inside:
        return None
    if not outside:
        return tantivy.Query.all_query()
    if len(inside) <= len(outside):
        return tantivy.Query.term_set_query(schema, "generation", inside)
    return _but(tantivy.Query.term_set_query(schema, "generation", outside))


def _page(schema: tantivy.Schema, comparator: Comparator, page: float) -> tantivy.Query | None:
    """Pages of a chunk are those from its first to its last."""
    whole = int(page)
    match comparator:
        case Comparator.EQUAL:
            if whole != page:
                return None
            return _all([_range(schema, "first_page", None, whole), _range(schema, "last_page", whole, None)])
        case Comparator.GREATER:
            return _range(schema, "last_page", whole + 1, None)
        case Comparator.GREATER_OR_EQUAL:
            return _range(schema, "last_page", whole, None)
        case Comparator.LESS:
            return _range(schema, "first_page", None, whole - 1)
        case Comparator.LESS_OR_EQUAL:
            return _range(schema, "first_page", None, whole)
        case Comparator.NOT_EQUAL:
            raise ValueError("that no page equals it is written as Outside(PageComparison(EQUAL, page))")


def _range(schema: tantivy.Schema, name: str, least: int | None, greatest: int | None) -> tantivy.Query | None:
    """[least, greatest] of a field that holds numbers from 0."""
    low = max(0, min(least or 0, LAST_PAGE))
    high = LAST_PAGE if greatest is None else min(greatest, LAST_PAGE)
    if high < low:
        return None
    return tantivy.Query.range_query(schema, name, tantivy.FieldType.Integer, low, high)


def _all(queries: list[tantivy.Query | None]) -> tantivy.Query | None:
    if any(query is None for query in queries):
        return None
    clauses = [(tantivy.Occur.Must, query) for query in queries if query is not None]
    return tantivy.Query.boolean_query(clauses) if clauses else tantivy.Query.all_query()


def _any(queries: list[tantivy.Query | None]) -> tantivy.Query | None:
    clauses = [(tantivy.Occur.Should, query) for query in queries if query is not None]
    return tantivy.Query.boolean_query(clauses) if clauses else None


def _but(query: tantivy.Query) -> tantivy.Query:
    return tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, tantivy.Query.all_query()), (tantivy.Occur.MustNot, query)]
    )
