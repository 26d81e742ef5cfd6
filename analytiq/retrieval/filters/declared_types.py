"""Conversion of a filter's literals to the declared types of metadata; undeclared fields stay unchanged."""

from collections.abc import Callable
from dataclasses import replace

from analytiq.errors import InvalidInputError
from analytiq.models.metadata_field import DeclaredPath, FieldTypes, Misfit, declared_path, fitted_one
from analytiq.retrieval.filters.tree import (
    And,
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

_Read = Callable[[FilterValue], FilterValue]


def with_declared_types(tree: Filter, types: FieldTypes) -> Filter:
    """Convert the literals of declared fields to the form in which documents store the values.

    Null is compared to every field.

    Raises:
        InvalidInputError: names the field, its type, and the literal of another type.
    """
    if not types:
        return tree
    match tree:
        case And(operands) | Or(operands) | Nor(operands):
            return type(tree)(tuple(with_declared_types(operand, types) for operand in operands))
        case Not(operand):
            return Not(with_declared_types(operand, types))
        case Comparison(field, _, value):
            return replace(tree, value=_reader(field, types)(value))
        case In(field, values):
            return replace(tree, values=tuple(map(_reader(field, types), values)))
        case Exists(field):
            _reader(field, types)
            return tree


def _reader(field: FilterField, types: FieldTypes) -> _Read:
    declared = declared_path(field.keys, types) if isinstance(field, MetadataField) else None
    if declared is None:
        return lambda value: value
    if declared.has_parts:
        raise _refusal(declared, f"it has no parts, so {field} leads nowhere")
    return lambda value: _read(declared, value)


def _read(declared: DeclaredPath, value: FilterValue) -> FilterValue:
    if value is None:
        return None
    try:
        return fitted_one(value, declared.field_type)
    except Misfit as misfit:
        raise _refusal(declared, str(misfit)) from misfit


def _refusal(declared: DeclaredPath, reason: str) -> InvalidInputError:
    return InvalidInputError.of_field(
        f"metadata_filter.{declared.name}", f"This field is declared as {declared.field_type.value}: {reason}."
    )
