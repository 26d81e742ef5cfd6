"""Compiler of selections to NumPy masks: `contains`, for all rows at once."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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

Mask = NDArray[np.bool_]
"""One boolean a row, shape (rows,)."""


class Rows(Protocol):
    """The known facts of the rows; the arrays have the shape (rows,)."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def first_pages(self) -> NDArray[np.int32]:
        """The first page of each row's chunk."""
        ...

    @property
    def last_pages(self) -> NDArray[np.int32]:
        """The last page of each row's chunk."""
        ...

    @property
    def chunk_indexes(self) -> NDArray[np.int32]:
        """The index of each row's chunk."""
        ...

    def spans_of(self, document_id: str) -> Iterable[tuple[int, int]]:
        """Return the rows of a document, each span from its start to before its stop."""
        ...


def selected(selection: Selection, rows: Rows) -> Mask:
    """Mark the selected rows with True; the marks of dead rows mean nothing."""
    match selection:
        case DocumentSet(document_ids):
            return _of_documents(document_ids, rows)
        case PageComparison(comparator, page):
            return _COMPARE[comparator](rows.first_pages, rows.last_pages, page)
        case PageIn(pages):
            mask = np.zeros(rows.rows, dtype=np.bool_)
            first, last = rows.first_pages, rows.last_pages
            for page in pages:
                mask |= _on_page(first, last, page)
            return mask
        case OfTypes(index_types):
            mask = np.zeros(rows.rows, dtype=np.bool_)
            indexes = rows.chunk_indexes
            for start in map(first_index_of, index_types):
                mask |= (indexes >= start) & (indexes < start + INDEXES_OF_A_TYPE)
            return mask
        case AllOf(operands):
            mask = np.ones(rows.rows, dtype=np.bool_)
            for operand in operands:
                mask &= selected(operand, rows)
            return mask
        case AnyOf(operands):
            mask = np.zeros(rows.rows, dtype=np.bool_)
            for operand in operands:
                mask |= selected(operand, rows)
            return mask
        case Outside(operand):
            return ~selected(operand, rows)


def _of_documents(document_ids: frozenset[str], rows: Rows) -> Mask:
    mask = np.zeros(rows.rows, dtype=np.bool_)
    for document_id in document_ids:
        for start, stop in rows.spans_of(document_id):
            mask[start:stop] = True
    return mask


def _on_page(first: NDArray[np.int32], last: NDArray[np.int32], page: float) -> Mask:
    if page != int(page):
        return np.zeros(len(first), dtype=np.bool_)
    return (first <= page) & (page <= last)


_COMPARE: Mapping[Comparator, Callable[[NDArray[np.int32], NDArray[np.int32], float], Mask]] = {
    Comparator.EQUAL: _on_page,
    Comparator.GREATER: lambda _, last, page: last > page,
    Comparator.GREATER_OR_EQUAL: lambda _, last, page: last >= page,
    Comparator.LESS: lambda first, _, page: first < page,
    Comparator.LESS_OR_EQUAL: lambda first, _, page: first <= page,
}
"""NOT_EQUAL is missing here: it arrives as `Outside(PageComparison(EQUAL, page))`."""
