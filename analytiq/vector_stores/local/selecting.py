"""Which rows of the buffers a selection holds: `analytiq.models.selection.contains`, for all rows at once."""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analytiq.models.filter import Comparator
from analytiq.models.selection import AllOf, AnyOf, DocumentSet, Outside, PageComparison, PageIn, Selection

Mask = NDArray[np.bool_]
"""One truth a row, shape (rows,)."""


class Block(Protocol):
    """Rows of one document: from `start` to before `stop`."""

    @property
    def start(self) -> int:
        """The first row."""
        ...

    @property
    def stop(self) -> int:
        """Behind the last row."""
        ...


class Rows(Protocol):
    """What is known of the rows; `first_pages` and `last_pages` have the shape (rows,)."""

    @property
    def first_pages(self) -> NDArray[np.int32]:
        """The first page of each row's chunk."""
        ...

    @property
    def last_pages(self) -> NDArray[np.int32]:
        """The last page of each row's chunk."""
        ...

    @property
    def of_document(self) -> Mapping[str, tuple[Block, ...]]:
        """Document id → its rows; rows of nobody are dead, and of no interest."""
        ...


def selected(selection: Selection, rows: Rows) -> Mask:
    """True for the selected rows; what it says of dead rows means nothing."""
    match selection:
        case DocumentSet(document_ids):
            return _of_documents(document_ids, rows)
        case PageComparison(comparator, page):
            return _COMPARE[comparator](rows.first_pages, rows.last_pages, page)
        case PageIn(pages):
            mask = np.zeros(len(rows.first_pages), dtype=np.bool_)
            for page in pages:
                mask |= _on_page(rows.first_pages, rows.last_pages, page)
            return mask
        case AllOf(operands):
            mask = np.ones(len(rows.first_pages), dtype=np.bool_)
            for operand in operands:
                mask &= selected(operand, rows)
            return mask
        case AnyOf(operands):
            mask = np.zeros(len(rows.first_pages), dtype=np.bool_)
            for operand in operands:
                mask |= selected(operand, rows)
            return mask
        case Outside(operand):
            return ~selected(operand, rows)


def _of_documents(document_ids: frozenset[str], rows: Rows) -> Mask:
    mask = np.zeros(len(rows.first_pages), dtype=np.bool_)
    # The smaller of the two is gone through: a filter may name more documents than the knowledge base has.
    known = rows.of_document.keys() & document_ids
    for document_id in known:
        for block in rows.of_document[document_id]:
            mask[block.start : block.stop] = True
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
"""That no page equals it comes as `Outside(PageComparison(EQUAL, page))`."""
