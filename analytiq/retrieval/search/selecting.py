"""From a filter to a selection of chunks: `docs` is asked once for each largest part that says nothing of pages."""

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from analytiq.models.filter import (
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
from analytiq.models.selection import AllOf, AnyOf, DocumentSet, Outside, PageComparison, PageIn, Selection

Matching = Callable[[Filter], Awaitable[frozenset[str]]]
"""The ids of the documents that pass a filter without pages."""

NOTHING = DocumentSet(frozenset())


async def selection_of(tree: Filter, matching: Matching) -> Selection:
    """The chunks that pass the filter. Asks one after the other: a filter of pages has few parts."""
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
    """The operands without pages as one, so that they are one question."""
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
