"""Replacement of tag names in filters by the ids that documents store."""

import re
from collections.abc import Mapping

from analytiq.retrieval.filters.tree import And, BuiltInField, Comparison, Exists, Filter, FilterValue, In, Nor, Not, Or

_ID = re.compile(r"[0-9a-f]{24}")


def tag_names_in(tree: Filter) -> set[str]:
    """Return the values of conditions on `tag_ids` that are no ids."""
    match tree:
        case And(operands) | Or(operands) | Nor(operands):
            return set[str]().union(*(tag_names_in(operand) for operand in operands))
        case Not(operand):
            return tag_names_in(operand)
        case Comparison(BuiltInField.TAG_IDS, _, value):
            return _names([value])
        case In(BuiltInField.TAG_IDS, values, _):
            return _names(values)
        case Comparison() | In() | Exists():
            return set()


def with_tag_ids(tree: Filter, id_of: Mapping[str, str]) -> Filter:
    """Replace tag names by ids; a name without a tag stays, and matches nothing."""
    match tree:
        case And(operands):
            return And(tuple(with_tag_ids(operand, id_of) for operand in operands))
        case Or(operands):
            return Or(tuple(with_tag_ids(operand, id_of) for operand in operands))
        case Nor(operands):
            return Nor(tuple(with_tag_ids(operand, id_of) for operand in operands))
        case Not(operand):
            return Not(with_tag_ids(operand, id_of))
        case Comparison(BuiltInField.TAG_IDS as field, comparator, value):
            return Comparison(field, comparator, _id(value, id_of))
        case In(BuiltInField.TAG_IDS as field, values, is_negated):
            return In(field, tuple(_id(value, id_of) for value in values), is_negated)
        case Comparison() | In() | Exists():
            return tree


def _names(values: "tuple[FilterValue, ...] | list[FilterValue]") -> set[str]:
    return {value for value in values if isinstance(value, str) and not _ID.fullmatch(value)}


def _id(value: FilterValue, id_of: Mapping[str, str]) -> FilterValue:
    return id_of.get(value, value) if isinstance(value, str) else value
