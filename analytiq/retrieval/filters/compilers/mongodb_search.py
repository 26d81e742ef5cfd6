"""Compiler of filters and selections to conditions of MongoDB's search server.

Metadata is matched by terms (`analytiq.retrieval.filters.projection`). Terms express most conditions exactly, except
the order of strings that are no moments, the order of integers of more than 53 bits, and metadata beyond the kept
terms. There the conditions pass more than the filter, never less, and the hits are checked against the filter
afterwards. The complement of a condition that passes too much passes too little, so each part is compiled for its side:
`is_wide` from above, else from below.
"""

from collections.abc import Iterable
from datetime import datetime

from analytiq.models.index_types import INDEXES_OF_A_TYPE, IndexType, first_index_of
from analytiq.retrieval.filters.projection import (
    EXACT_INTEGERS,
    existence_term,
    moment_key,
    moment_term,
    range_terms,
    sortable,
    text_term,
    value_term,
)
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
from analytiq.retrieval.filters.tree import (
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
from analytiq.storage.search.predicates import (
    Condition,
    Path,
    Verdict,
    complement,
    every,
    one_of,
    some,
)

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


def of_selection(selection: Selection) -> Verdict:
    """Match exactly the selected chunks."""
    match selection:
        case DocumentSet(document_ids):
            return one_of(Path.DOCUMENT_ID, sorted(document_ids))
        case PageIn(pages):
            return some(_on_page(page) for page in pages)
        case PageComparison(comparator, page):
            return _pages(comparator, page)
        case OfTypes(index_types):
            return of_types(index_types)
        case AllOf(operands):
            return every(of_selection(operand) for operand in operands)
        case AnyOf(operands):
            return some(of_selection(operand) for operand in operands)
        case Outside(operand):
            return complement(of_selection(operand))


def of_types(index_types: Iterable[IndexType]) -> Verdict:
    """Match exactly the chunks of these types."""
    return some(_between(first_index_of(one), first_index_of(one) + INDEXES_OF_A_TYPE) for one in index_types)


def _between(first: int, stop: int) -> Verdict:
    return every([Condition(Path.CHUNK_INDEX, "$gte", first), Condition(Path.CHUNK_INDEX, "$lt", stop)])


def of_filter(tree: Filter, *, is_wide: bool = True) -> Verdict:
    """Match at least the chunks that pass the filter; without `is_wide`, at most those."""
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
            # false < true, and there are no other booleans.
            passing = [one for one in (False, True) if _holds(comparator, one, bool(value))]
            return _of_terms([value_term(field.keys, one) for one in passing], is_wide=is_wide)
        case ValueClass.STRING if isinstance(value, str):
            return _string_ordered(field, comparator, value, is_wide=is_wide)
        case ValueClass.TIME:
            return _exists(field, is_wide=True) if is_wide else False
        case _:
            return False


def _string_ordered(field: MetadataField, comparator: Comparator, value: str, *, is_wide: bool) -> Verdict:
    """Order moments as declared dates are ordered; match every other string by its type only."""
    others = [text_term(field.keys)] if is_wide else []
    key = moment_key(value)
    if key is None:
        return _of_terms([*others, moment_term(field.keys)], is_wide=True) if is_wide else False
    first, last = _span(comparator, key, is_strict=comparator in _STRICT)
    return _of_terms([*range_terms(field.keys, first, last, of="m"), *others], is_wide=is_wide)


def _bounds(comparator: Comparator, value: float, *, is_wide: bool) -> tuple[int, int]:
    """Return the numbers that satisfy the comparison, as the first and last `sortable`."""
    key = sortable(value)
    is_strict = comparator in _STRICT
    if abs(value) >= EXACT_INTEGERS:
        # Several integers share the key: some satisfy the comparison and some do not.
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
    """Return the literals that a value of the field can equal."""
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
