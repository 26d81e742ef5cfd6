"""Compiler of filters to queries on the `docs` collection.

The tree was parsed from a user's input, and the query is built from the tree with every literal behind an operator of
this module: MongoDB never reads a user's input as an operator. MongoDB's semantics
differ from the filter's (`analytiq.retrieval.filters.tree`), and are adapted here:

- `{$eq: null}` matches missing fields as well, so null is asked for by its type;
- ids are ObjectIds there and strings here, so a string that is not an id matches nothing instead of failing;
- an empty `$or` is an error there, an empty `$nor` too;
- `$not` wants an operator document and `$nor` takes any, so complements are written with `$nor`.
"""

import re
from collections.abc import Iterable, Mapping

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
    Nor,
    Not,
    Or,
)
from analytiq.storage.ids import object_ids

MongoQuery = Mapping[str, object]

_COLUMNS = {
    BuiltInField.DOCUMENT_ID: "_id",
    BuiltInField.DOCUMENT_NAME: "document_name",
    BuiltInField.TAG_IDS: "tag_ids",
    BuiltInField.CONTENT_TYPE: "content_type",
    BuiltInField.UPLOAD_DATE: "created_at",
}

_NOTHING: MongoQuery = {"_id": {"$in": []}}

# Upper case is refused although ObjectId accepts it: ids are compared as strings elsewhere.
_OBJECT_ID = re.compile(r"[0-9a-f]{24}")


def compile_filter(tree: Filter) -> MongoQuery:
    """Return the query that finds in `docs` exactly the documents that pass the filter.

    The query ignores pages and has no organization: put it into an `$and` beside `{"organization_id": ...}`.
    """
    match tree:
        case And(operands):
            return {"$and": [compile_filter(operand) for operand in operands]} if operands else {}
        case Or(operands):
            return {"$or": [compile_filter(operand) for operand in operands]} if operands else _NOTHING
        case Nor(operands):
            return {"$nor": [compile_filter(operand) for operand in operands]} if operands else {}
        case Not(operand):
            return _complement(compile_filter(operand))
        case Exists(field, is_expected):
            return {_column(field): {"$exists": is_expected}}
        case In(field, values, is_negated):
            query: MongoQuery = {_column(field): {"$in": _stored_values(field, values)}}
            return _complement(query) if is_negated else query
        case Comparison(field, comparator, value):
            return _compile_comparison(field, comparator, value)


def _compile_comparison(field: FilterField, comparator: Comparator, value: FilterValue) -> MongoQuery:
    if comparator is Comparator.NOT_EQUAL:
        return _complement(_compile_comparison(field, Comparator.EQUAL, value))
    if value is None:
        return {_column(field): {"$type": "null"}}
    stored = _stored_values(field, [value])
    return {_column(field): {comparator.value: stored[0]}} if stored else _NOTHING


def _complement(query: MongoQuery) -> MongoQuery:
    return {"$nor": [query]}


def _column(field: FilterField) -> str:
    if field is BuiltInField.PAGE:
        raise ValueError("`docs` knows no pages of chunks; what a filter says of them is resolved before")
    return _COLUMNS[field] if isinstance(field, BuiltInField) else str(field)


def _stored_values(field: FilterField, values: Iterable[FilterValue]) -> list[object]:
    """Convert literals to the form stored in `docs`; drop those that no document can contain."""
    if field is not BuiltInField.DOCUMENT_ID:
        return list(values)
    return [*object_ids([value for value in values if isinstance(value, str) and _OBJECT_ID.fullmatch(value)])]
