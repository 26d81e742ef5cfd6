"""A search filter as conditions on the declared paths of a chunk: pure.

What it means is said in `analytiq.models.filter`. Metadata is asked for by terms (`analytiq.models.projection`), which
say most things exactly, but not all: the order of strings that are no moments, the order of integers of more than 53
bits, and whatever a document's metadata has beyond the terms that are kept. There the conditions let more through than
the filter does, never less, and the hits are held against the filter afterwards. A complement of something that lets
too much through would let too little through, so each part is compiled for the side it is on: `is_wide` from above,
else from below.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from analytiq.models.filter import (
    And,
    BuiltInField,
    Comparator,
    Comparison,
    Exists,
    Filter,
    FilterField,
    FilterValue,
    In,
    MetadataField,
    Nor,
    Not,
    Or,
    ValueClass,
    value_class,
)
from analytiq.models.projection import (
    EXACT_INTEGERS,
    existence_term,
    moment_key,
    moment_term,
    range_terms,
    sortable,
    text_term,
    value_term,
)
from analytiq.models.selection import AllOf, AnyOf, DocumentSet, Outside, PageComparison, PageIn, Selection


class Path(StrEnum):
    """What a chunk can be filtered by; every one is declared in both indexes."""

    ORGANIZATION_ID = "organization_id"
    DOCUMENT_ID = "document_id"
    GENERATION_ID = "generation_id"
    CHUNK_INDEX = "chunk_index"
    FIRST_PAGE = "first_page"
    LAST_PAGE = "last_page"
    DOCUMENT_NAME = "projection.document_name"
    TAG_IDS = "projection.tag_ids"
    CONTENT_TYPE = "projection.content_type"
    UPLOAD_DATE = "projection.upload_date"
    TERMS = "projection.terms"
    IS_PARTIAL = "projection.is_partial"


Scalar = str | int | float | bool | datetime


@dataclass(frozen=True, slots=True)
class Condition:
    """Some value at the path compares so to the literal; never NOT_EQUAL."""

    path: Path
    comparator: Comparator
    value: Scalar


@dataclass(frozen=True, slots=True)
class OneOf:
    """Some value at the path is among these: at least one, all of one type."""

    path: Path
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """All hold; at least two."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One holds; at least two."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Complement:
    """The operand does not hold."""

    operand: "Predicate"


Predicate = Condition | OneOf | Every | Some | Complement
Verdict = Predicate | bool
"""A predicate, or what is known of every chunk: the server's grammar has no word for either."""

_PATHS = {
    BuiltInField.DOCUMENT_ID: Path.DOCUMENT_ID,
    BuiltInField.DOCUMENT_NAME: Path.DOCUMENT_NAME,
    BuiltInField.TAG_IDS: Path.TAG_IDS,
    BuiltInField.CONTENT_TYPE: Path.CONTENT_TYPE,
    BuiltInField.UPLOAD_DATE: Path.UPLOAD_DATE,
}
_UPWARD = (Comparator.GREATER, Comparator.GREATER_OR_EQUAL)
_STRICT = (Comparator.GREATER, Comparator.LESS)
_PARTIAL = Condition(Path.IS_PARTIAL, Comparator.EQUAL, True)  # noqa: FBT003  # a literal of the filter


def every(operands: Iterable[Verdict]) -> Verdict:
    """All of these, without what goes without saying."""
    left: list[Predicate] = []
    for operand in operands:
        if operand is False:
            return False
        if operand is not True:
            left.append(operand)
    return (Every(tuple(left)) if len(left) > 1 else left[0]) if left else True


def some(operands: Iterable[Verdict]) -> Verdict:
    """One of these, without what goes without saying."""
    left: list[Predicate] = []
    for operand in operands:
        if operand is True:
            return True
        if operand is not False:
            left.append(operand)
    return (Some(tuple(left)) if len(left) > 1 else left[0]) if left else False


def complement(operand: Verdict) -> Verdict:
    """None of what the operand lets through."""
    if isinstance(operand, bool):
        return not operand
    return operand.operand if isinstance(operand, Complement) else Complement(operand)


def one_of(path: Path, values: Iterable[Scalar]) -> Verdict:
    """Some value at the path is among these."""
    kept = tuple(values)
    return OneOf(path, kept) if kept else False


def of_selection(selection: Selection) -> Verdict:
    """Just the selected chunks."""
    match selection:
        case DocumentSet(document_ids):
            return one_of(Path.DOCUMENT_ID, sorted(document_ids))
        case PageIn(pages):
            return some(_on_page(page) for page in pages)
        case PageComparison(comparator, page):
            return _pages(comparator, page)
        case AllOf(operands):
            return every(of_selection(operand) for operand in operands)
        case AnyOf(operands):
            return some(of_selection(operand) for operand in operands)
        case Outside(operand):
            return complement(of_selection(operand))


def of_filter(tree: Filter, *, is_wide: bool = True) -> Verdict:
    """At least the chunks that pass the filter; not `is_wide`: at most."""
    match tree:
        case And(operands):
            return every(of_filter(operand, is_wide=is_wide) for operand in operands)
        case Or(operands):
            return some(of_filter(operand, is_wide=is_wide) for operand in operands)
        case Nor(operands):
            return complement(some(of_filter(operand, is_wide=not is_wide) for operand in operands))
        case Not(operand):
            return complement(of_filter(operand, is_wide=not is_wide))
        case Exists(field, True):
            return _exists(field, is_wide=is_wide)
        case Exists(field, _):
            return complement(_exists(field, is_wide=not is_wide))
        case In(field, values, False):
            return _equal(field, values, is_wide=is_wide)
        case In(field, values, _):
            return complement(_equal(field, values, is_wide=not is_wide))
        case Comparison(field, Comparator.EQUAL, value):
            return _equal(field, (value,), is_wide=is_wide)
        case Comparison(field, Comparator.NOT_EQUAL, value):
            return complement(_equal(field, (value,), is_wide=not is_wide))
        case Comparison(field, comparator, value):
            return _ordered(field, comparator, value, is_wide=is_wide)


def _exists(field: FilterField, *, is_wide: bool) -> Verdict:
    if not isinstance(field, MetadataField):
        return True
    return _of_terms([existence_term(field.keys)], is_wide=is_wide)


def _equal(field: FilterField, values: Iterable[FilterValue], *, is_wide: bool) -> Verdict:
    if isinstance(field, MetadataField):
        if any(isinstance(value, datetime) for value in values):
            return _exists(field, is_wide=is_wide) if is_wide else False
        literals = [value for value in values if not isinstance(value, datetime)]
        return _of_terms([value_term(field.keys, value) for value in literals], is_wide=is_wide)
    if field is BuiltInField.PAGE:
        return some(_on_page(page) for page in _numbers(values))
    return one_of(_PATHS[field], _of_type(field, values))


def _ordered(field: FilterField, comparator: Comparator, value: FilterValue, *, is_wide: bool) -> Verdict:
    if isinstance(field, MetadataField):
        return _metadata_ordered(field, comparator, value, is_wide=is_wide)
    if field is BuiltInField.PAGE:
        return some(_pages(comparator, page) for page in _numbers([value]))
    return some(Condition(_PATHS[field], comparator, literal) for literal in _of_type(field, [value]))


def _metadata_ordered(field: MetadataField, comparator: Comparator, value: FilterValue, *, is_wide: bool) -> Verdict:
    match value_class(value):
        case ValueClass.NUMBER if isinstance(value, int | float):
            first, last = _bounds(comparator, value, is_wide=is_wide)
            return _of_terms(range_terms(field.keys, first, last), is_wide=is_wide)
        case ValueClass.BOOLEAN:
            # false < true, of which there are only two.
            passing = [one for one in (False, True) if _holds(comparator, one, bool(value))]
            return _of_terms([value_term(field.keys, one) for one in passing], is_wide=is_wide)
        case ValueClass.STRING if isinstance(value, str):
            return _string_ordered(field, comparator, value, is_wide=is_wide)
        case ValueClass.TIME:
            return _exists(field, is_wide=True) if is_wide else False
        case _:
            return False


def _string_ordered(field: MetadataField, comparator: Comparator, value: str, *, is_wide: bool) -> Verdict:
    """Moments among each other, as declared dates are; of all other strings only that they are strings is known."""
    others = [text_term(field.keys)] if is_wide else []
    key = moment_key(value)
    if key is None:
        return _of_terms([*others, moment_term(field.keys)], is_wide=True) if is_wide else False
    first, last = _span(comparator, key, is_strict=comparator in _STRICT)
    return _of_terms([*range_terms(field.keys, first, last, of="m"), *others], is_wide=is_wide)


def _bounds(comparator: Comparator, value: float, *, is_wide: bool) -> tuple[int, int]:
    """The numbers that compare so, as the first and last `sortable`."""
    key = sortable(value)
    is_strict = comparator in _STRICT
    if abs(value) >= EXACT_INTEGERS:
        # Several integers share the key: those that compare so and those that do not.
        is_strict = not is_wide
    return _span(comparator, key, is_strict=is_strict)


def _span(comparator: Comparator, key: int, *, is_strict: bool) -> tuple[int, int]:
    if comparator in _UPWARD:
        return key + is_strict, sortable(float("inf"))
    return sortable(float("-inf")), key - is_strict


def _of_terms(terms: list[str], *, is_wide: bool) -> Verdict:
    found = one_of(Path.TERMS, terms)
    if found is False or not is_wide:
        return found
    return some([found, _PARTIAL])


def _on_page(page: float) -> Verdict:
    return _pages(Comparator.EQUAL, page)


def _pages(comparator: Comparator, page: float) -> Verdict:
    match comparator:
        case Comparator.EQUAL if page != int(page):
            return False
        case Comparator.EQUAL:
            return every(
                [
                    Condition(Path.FIRST_PAGE, Comparator.LESS_OR_EQUAL, page),
                    Condition(Path.LAST_PAGE, Comparator.GREATER_OR_EQUAL, page),
                ]
            )
        case Comparator.GREATER | Comparator.GREATER_OR_EQUAL:
            return Condition(Path.LAST_PAGE, comparator, page)
        case _:
            return Condition(Path.FIRST_PAGE, comparator, page)


def _of_type(field: BuiltInField, values: Iterable[FilterValue]) -> list[str | datetime]:
    """The literals that a value of the field can equal."""
    kind = datetime if field is BuiltInField.UPLOAD_DATE else str
    return [value for value in values if isinstance(value, kind)]


def _numbers(values: Iterable[FilterValue]) -> list[float]:
    return [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def _holds(comparator: Comparator, left: bool, right: bool) -> bool:  # noqa: FBT001  # the two operands
    return {
        Comparator.GREATER: left > right,
        Comparator.GREATER_OR_EQUAL: left >= right,
        Comparator.LESS: left < right,
        Comparator.LESS_OR_EQUAL: left <= right,
    }[comparator]
