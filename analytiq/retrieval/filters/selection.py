"""Selections of chunks: filters whose questions about documents have been answered.

A filter asks about documents and about pages of chunks. The local stores know only the document and the pages of a
chunk. So search asks `docs` once for each largest part of the filter without pages, and passes on the document ids.
MongoDB's search server gets the filter itself.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import cast

from analytiq.models.index_types import IndexType, index_type_at
from analytiq.retrieval.filters.tree import (
    EVERYTHING,
    And,
    Comparator,
    Comparison,
    Exists,
    Filter,
    In,
    Nor,
    Not,
    Or,
    speaks_of_pages,
)


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """Chunks of these documents."""

    document_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class PageComparison:
    """Chunks with a page, from their first to their last, that satisfies the comparison; never NOT_EQUAL."""

    comparator: Comparator
    page: float


@dataclass(frozen=True, slots=True)
class PageIn:
    """Chunks with a page among these."""

    pages: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class OfTypes:
    """Chunks of these index types."""

    index_types: tuple[IndexType, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Chunks in every operand; without operands, every chunk."""

    operands: tuple["Selection", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Chunks in at least one operand; without operands, none."""

    operands: tuple["Selection", ...]


@dataclass(frozen=True, slots=True)
class Outside:
    """Chunks outside the operand."""

    operand: "Selection"


Selection = DocumentSet | PageComparison | PageIn | OfTypes | AllOf | AnyOf | Outside


@dataclass(frozen=True, slots=True)
class ChunkFilter:
    """A search's filter. `selection` says the same as `tree` and `index_types`, for the local stores.

    `index_types` None: all.
    """

    tree: Filter
    selection: Selection
    index_types: tuple[IndexType, ...] | None = None

    def of_types(self, index_types: tuple[IndexType, ...]) -> "ChunkFilter":
        """Return the filter that lets through the chunks of these types alone."""
        selection = NOTHING if self.selection == NOTHING else AllOf((self.selection, OfTypes(index_types)))
        return ChunkFilter(self.tree, selection, index_types)


ANY_CHUNK = ChunkFilter(EVERYTHING, AllOf(()))

Matching = Callable[[Filter], Awaitable[frozenset[str]]]
"""Return the ids of the documents that pass a filter without pages."""

NOTHING = DocumentSet(frozenset())


def contains(selection: Selection, document_id: str, first_page: int, last_page: int, *, chunk_index: int) -> bool:
    """Return True if a chunk is selected: the reference that every store must agree with."""

    def holds(operand: Selection) -> bool:
        return contains(operand, document_id, first_page, last_page, chunk_index=chunk_index)

    match selection:
        case OfTypes(index_types):
            return index_type_at(chunk_index) in index_types
        case DocumentSet(document_ids):
            return document_id in document_ids
        case PageIn(pages):
            return any(first_page <= page <= last_page and page == int(page) for page in pages)
        case PageComparison(comparator, page):
            return _some_page(comparator, page, first_page, last_page)
        case AllOf(operands):
            return all(map(holds, operands))
        case AnyOf(operands):
            return any(map(holds, operands))
        case Outside(operand):
            return not holds(operand)


async def selection_of(tree: Filter, matching: Matching) -> Selection:
    """Return the chunks that pass the filter. Queries run one after another, since a filter of pages has few parts."""
    if not speaks_of_pages(tree):
        return DocumentSet(await matching(tree))
    match tree:
        case And(operands):
            return AllOf(await _all(_grouped(operands, And), matching))
        case Or(operands):
            return AnyOf(await _all(_grouped(operands, Or), matching))
        case Nor(operands):
            return Outside(AnyOf(await _all(_grouped(operands, Or), matching)))
        case Not(operand):
            return Outside(await selection_of(operand, matching))
        case Comparison() | In() | Exists():
            return _pages(tree)


async def _all(operands: Sequence[Filter], matching: Matching) -> tuple[Selection, ...]:
    return tuple([await selection_of(operand, matching) for operand in operands])


def _grouped(operands: Sequence[Filter], combination: type[And] | type[Or]) -> list[Filter]:
    """Group the operands without pages into one query."""
    without = tuple(operand for operand in operands if not speaks_of_pages(operand))
    rest = [operand for operand in operands if speaks_of_pages(operand)]
    return [combination(without), *rest] if without else rest


def _pages(leaf: Comparison | In | Exists) -> Selection:
    match leaf:
        case Exists(_, is_expected):
            return AllOf(()) if is_expected else AnyOf(())
        case In(_, values, is_negated):
            found = PageIn(cast("tuple[int, ...]", values))
            return Outside(found) if is_negated else found
        case Comparison(_, Comparator.NOT_EQUAL, value):
            return Outside(PageComparison(Comparator.EQUAL, cast("int", value)))
        case Comparison(_, comparator, value):
            return PageComparison(comparator, cast("int", value))


def _some_page(comparator: Comparator, page: float, first_page: int, last_page: int) -> bool:
    match comparator:
        case Comparator.GREATER:
            return last_page > page
        case Comparator.GREATER_OR_EQUAL:
            return last_page >= page
        case Comparator.LESS:
            return first_page < page
        case Comparator.LESS_OR_EQUAL:
            return first_page <= page
        case Comparator.EQUAL:
            return first_page <= page <= last_page and page == int(page)
        case Comparator.NOT_EQUAL:
            raise ValueError("that no page equals it is written as Outside(PageComparison(EQUAL, page))")
