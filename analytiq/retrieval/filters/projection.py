"""Projection of a document's metadata into its chunks' rows, so that MongoDB's search server can filter them. Pure.

The search server filters only by paths that were declared when its index was created, but metadata has arbitrary keys.
So metadata becomes one list of terms, each of which names a path and a property of one value there:

    customer.name..              there is a value
    customer.name..s=Acme        it is this string       (b= boolean, n= number, null)
    customer.name..text          it is a string that is no moment
    due..moment                  it is a moment, written as declared dates are: 2024-01-31T00:00:00.000Z
    total..n4=ff81               it is a number whose leading bits are these: ranges, as a prefix tree
    due..m4=c2779a               it is such a moment, likewise

No key is empty (`analytiq.ingestion.documents.metadata`), so the first two dots in a row end the path.
"""

import hashlib
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, cast

from analytiq.models.projection import Projection
from analytiq.retrieval.filters.tree import FilterableDocument

MOST_TERMS = 2000
"""Most terms of one document; each of its chunks stores them. A row with more is marked as incomplete."""
MOST_STATEMENTS = 20 * MOST_TERMS
"""Most values visited: nested lists may lead to the same values by very many paths."""
LONGEST_TERM_BYTES = 300
"""Longer terms are stored as their hash. The search server cuts strings above 8,181 characters."""
STEP_BITS = 4
"""Bits of each step of the prefix tree: 16 terms a number, and at most 480 a range."""
Tree = Literal["n", "m"]
"""The prefix tree of numbers, or that of moments."""
_KEY_BITS = 64
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z", re.ASCII)
_FIRST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)
EXACT_INTEGERS = 2.0**53
"""From here on, different integers may be the same floating-point number."""


def projection_of(document: FilterableDocument) -> Projection:
    """Project the document's present metadata."""
    terms: set[str] = set()
    is_partial = False
    for count, term in enumerate(_terms_of(document.metadata)):
        is_partial = (len(terms) == MOST_TERMS and term not in terms) or count == MOST_STATEMENTS
        if is_partial:
            break
        terms.add(term)
    return Projection(
        document_name=document.document_name,
        tag_ids=document.tag_ids,
        content_type=document.content_type,
        upload_date=document.created_at,
        terms=tuple(sorted(terms)),
        is_partial=is_partial,
    )


def existence_term(keys: Sequence[str]) -> str:
    """Return the term for a path with a value."""
    return _term(keys, "")


def text_term(keys: Sequence[str]) -> str:
    """Return the term for a string, not a moment, at the path."""
    return _term(keys, "text")


def moment_term(keys: Sequence[str]) -> str:
    """Return the term for a moment at the path."""
    return _term(keys, "moment")


def moment_key(value: str) -> int | None:
    """Return the `sortable` of a moment, in milliseconds since 1970; None for any other string.

    Only one notation counts, of fixed length and in UTC: the order of such strings is that of the moments.
    """
    if not _MOMENT.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:  # not a date of the calendar
        return None
    return sortable((moment - _FIRST_MOMENT) // timedelta(milliseconds=1))


def value_term(keys: Sequence[str], value: str | float | bool | None) -> str:  # noqa: FBT001  # a value of a document
    """Return the term for any value equal to this one, which is not NaN; 1 equals 1.0, and neither equals true."""
    match value:
        case None:
            return _term(keys, "null")
        case bool():
            return _term(keys, f"b={str(value).lower()}")
        case str():
            return _term(keys, f"s={value}")
        case int() | float():
            is_whole = isinstance(value, int) or (math.isfinite(value) and value.is_integer())
            return _term(keys, f"n={int(value) if is_whole else repr(value)}")


def range_terms(keys: Sequence[str], first: int, last: int, *, of: Tree = "n") -> list[str]:
    """Return terms that cover exactly the numbers whose `sortable` lies from `first` to `last`.

    `of`: numbers or moments.
    """
    terms: list[str] = []
    shift = 0
    while first <= last:
        width = 1 << STEP_BITS
        while first <= last and first % width:
            terms.append(_prefix_term(keys, of, shift, first))
            first += 1
        while first <= last and (last + 1) % width:
            terms.append(_prefix_term(keys, of, shift, last))
            last -= 1
        shift += STEP_BITS
        if shift == _KEY_BITS:
            terms += [_prefix_term(keys, of, shift - STEP_BITS, prefix) for prefix in range(first, last + 1)]
            break
        first, last = first >> STEP_BITS, (last >> STEP_BITS) if last >= first else -1
    return terms


def sortable(value: float) -> int:
    """Convert a number to 64 bits in the order of numbers; integers beyond floating point are rounded."""
    bits = int.from_bytes(struct.pack(">d", float(value) + 0.0), "big")  # + 0.0: there is one zero
    return bits ^ ((1 << 64) - 1) if bits >> 63 else bits | 1 << 63


def _terms_of(metadata: Mapping[str, object]) -> Iterator[str]:
    for keys, value in _values_in(metadata, ()):
        if not keys:
            continue
        yield existence_term(keys)
        match value:
            case None | bool():
                yield value_term(keys, value)
            case str():
                yield value_term(keys, value)
                yield from _string_terms(keys, value)
            case int() | float() if value == value:  # NaN equals nothing and is ordered nowhere
                yield value_term(keys, value)
                yield from _prefix_terms(keys, "n", sortable(value))
            case _:
                pass


def _values_in(value: object, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every path below with each of its values: the inverse of the filter's `_values_at`."""
    yield keys, value
    if isinstance(value, Mapping):
        yield from _values_below(cast("Mapping[str, object]", value), keys)
    elif isinstance(value, list):
        elements = cast("list[object]", value)
        for place, element in enumerate(elements):
            yield keys, element
            if isinstance(element, Mapping):
                yield from _values_below(cast("Mapping[str, object]", element), keys)
            # The element at an index is one value if the path ends there, and is descended into if it continues.
            at_place = (*keys, str(place))
            yield at_place, element
            deeper = _values_in(cast("object", element), at_place)
            yield from ((path, inner) for path, inner in deeper if path != at_place)


def _values_below(members: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, member in members.items():
        yield from _values_in(member, (*keys, key))


def _string_terms(keys: Sequence[str], value: str) -> Iterator[str]:
    key = moment_key(value)
    if key is None:
        yield text_term(keys)
    else:
        yield moment_term(keys)
        yield from _prefix_terms(keys, "m", key)


def _prefix_terms(keys: Sequence[str], of: Tree, key: int) -> Iterator[str]:
    for shift in range(0, _KEY_BITS, STEP_BITS):
        yield _prefix_term(keys, of, shift, key >> shift)


def _prefix_term(keys: Sequence[str], of: Tree, shift: int, prefix: int) -> str:
    return _term(keys, f"{of}{shift}={prefix:x}")


def _term(keys: Sequence[str], statement: str) -> str:
    term = f"{'.'.join(keys)}..{statement}"
    encoded = term.encode()
    return term if len(encoded) <= LONGEST_TERM_BYTES else f"#{hashlib.sha256(encoded).hexdigest()}"
