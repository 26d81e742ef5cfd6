"""Documents and filters made at random, where their meaning is most likely to be read in two ways."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from pydantic import JsonValue

from analytiq.models.document import Document, DocumentState
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
)

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
IDS = [f"{number:024x}" for number in range(0xABCDEF, 0xABCDEF + 6)]

# Small pools, so that documents and filters meet often. The values sit where MongoDB and Python, or BSON's
# types among each other, might disagree: equal numbers of different types, integers beyond a double's
# precision, booleans beside 0 and 1, signed zero, NaN, NUL inside strings, operators as values.
NUMBERS = [0, 1, 2, -1, 1.0, 1.5, -0.0, 2**31, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), 1e300]
STRINGS = ["", "a", "A", "b", "ab", "1", "é", "\U0001f600", "\uffff", "a\0", "a\0b", "$gt", "null", "true"]
KEYS = ["a", "b", "0", "1", "00", "-1"]

scalars = st.sampled_from([None, True, False, float("nan"), float("inf"), *NUMBERS, *STRINGS])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["invoice.pdf", "Invoice.pdf", "invoice", "", "$where"])
tags = st.sampled_from(["invoice", "2024", "t3"])
content_types = st.sampled_from(["application/pdf", "text/plain"])
pages = st.integers(0, 5)
moments = st.integers(-2, 2).map(lambda count: EPOCH + timedelta(milliseconds=count))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    moment = draw(moments)
    return Document(
        id=draw(st.sampled_from(IDS)),
        organization_id="o1",
        document_name=draw(names),
        identity="",
        sha256="",
        byte_size=1,
        content_type=draw(content_types),
        file_id=IDS[0],
        state=DocumentState.EXTRACTED,
        tag_ids=tuple(draw(st.lists(tags, max_size=3))),
        metadata=draw(st.dictionaries(st.sampled_from(KEYS), values, max_size=4)),
        created_at=moment,
        updated_at=moment,
    )


document_lists = st.lists(documents(), min_size=1, max_size=6, unique_by=lambda document: document.id)

paths = st.lists(st.sampled_from(KEYS), min_size=1, max_size=4).map(lambda keys: MetadataField(tuple(keys)))
ids = st.sampled_from([*IDS, IDS[0].upper(), "doc_id_1", ""])


def literals_of(field: FilterField) -> st.SearchStrategy[FilterValue]:
    """Literals other than null that the field can be compared to."""
    match field:
        case MetadataField():
            return st.sampled_from([True, False, *NUMBERS, *STRINGS])
        case BuiltInField.UPLOAD_DATE:
            return moments
        case BuiltInField.DOCUMENT_ID:
            return ids
        case BuiltInField.TAG_IDS:
            return tags
        case BuiltInField.CONTENT_TYPE:
            return content_types
        case BuiltInField.DOCUMENT_NAME:
            return names
        case BuiltInField.PAGE:
            return pages


@st.composite
def conditions(draw: st.DrawFn, fields: st.SearchStrategy[BuiltInField]) -> Filter:
    field = draw(st.one_of(paths, paths, fields))
    literals = literals_of(field)
    match draw(st.integers(0, 4)):
        case 0:
            return Exists(field, draw(st.booleans()))
        case 1:
            return In(field, tuple(draw(st.lists(literals, max_size=4))), draw(st.booleans()))
        case 2 if isinstance(field, MetadataField):
            return Comparison(field, draw(st.sampled_from([Comparator.EQUAL, Comparator.NOT_EQUAL])), None)
        case _:
            ordered = field not in (BuiltInField.DOCUMENT_ID, BuiltInField.TAG_IDS)
            comparators = list(Comparator) if ordered else [Comparator.EQUAL, Comparator.NOT_EQUAL]
            return Comparison(field, draw(st.sampled_from(comparators)), draw(literals))


def filters_of(fields: st.SearchStrategy[BuiltInField]) -> st.SearchStrategy[Filter]:
    """Filters on these fields and on metadata."""
    return st.recursive(
        conditions(fields),
        lambda inner: st.one_of(
            st.builds(Not, inner),
            *(st.builds(combination, st.lists(inner, max_size=3).map(tuple)) for combination in (And, Or, Nor)),
        ),
        max_leaves=8,
    )


filters = filters_of(st.sampled_from([field for field in BuiltInField if field is not BuiltInField.PAGE]))
chunk_filters = filters_of(st.sampled_from(BuiltInField))


def a_document(document_id: str, **metadata: JsonValue) -> Document:
    return Document(
        id=document_id,
        organization_id="o1",
        document_name="invoice.pdf",
        identity="",
        sha256="",
        byte_size=1,
        content_type="application/pdf",
        file_id=IDS[0],
        state=DocumentState.EXTRACTED,
        tag_ids=("invoice", "2024"),
        metadata=metadata,
        created_at=EPOCH,
        updated_at=EPOCH,
    )
