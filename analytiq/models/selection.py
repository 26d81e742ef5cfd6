"""Which chunks of a knowledge base a search may find: a filter whose questions about documents are answered.

A filter (`analytiq.models.filter`) asks about documents and about pages of chunks. The stores that hold chunks in this
process know which document and which pages a chunk is of, and nothing else; so search asks `docs` once for each largest
part of the filter that says nothing of pages, and hands on the sets of documents that it got. MongoDB's own vector
search gets the filter as it is.
"""

from dataclasses import dataclass

from analytiq.models.filter import Comparator, Filter


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """Chunks of these documents."""

    document_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class PageComparison:
    """Chunks with some page, of those from their first to their last, that compares so; never NOT_EQUAL."""

    comparator: Comparator
    page: float


@dataclass(frozen=True, slots=True)
class PageIn:
    """Chunks with some page among these."""

    pages: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Chunks in all of these; without operands, every chunk."""

    operands: tuple["Selection", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Chunks in some of these; without operands, none."""

    operands: tuple["Selection", ...]


@dataclass(frozen=True, slots=True)
class Outside:
    """Chunks that are not in the operand."""

    operand: "Selection"


Selection = DocumentSet | PageComparison | PageIn | AllOf | AnyOf | Outside


@dataclass(frozen=True, slots=True)
class ChunkFilter:
    """What a search passes to every leg. `selection` says the same as `tree`, for the stores of this process."""

    tree: Filter
    selection: Selection


def contains(selection: Selection, document_id: str, first_page: int, last_page: int) -> bool:
    """Whether a chunk is selected: the plain reading, which every store must agree with."""
    match selection:
        case DocumentSet(document_ids):
            return document_id in document_ids
        case PageIn(pages):
            return any(first_page <= page <= last_page and page == int(page) for page in pages)
        case PageComparison(comparator, page):
            return _some_page(comparator, page, first_page, last_page)
        case AllOf(operands):
            return all(contains(operand, document_id, first_page, last_page) for operand in operands)
        case AnyOf(operands):
            return any(contains(operand, document_id, first_page, last_page) for operand in operands)
        case Outside(operand):
            return not contains(operand, document_id, first_page, last_page)


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
