"""Conditions on the declared paths of a chunk, in forms that MongoDB's search server can check."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Path(StrEnum):
    """A path by which chunks can be filtered; every path is declared in both indexes."""

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
    """Some value at the path compares to the literal by `comparator`: `$eq`, `$gt`, `$gte`, `$lt` or `$lte`."""

    path: Path
    comparator: str
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
"""A predicate, or a bool that holds for every chunk: the server's grammar has neither constant."""


def every(operands: Iterable[Verdict]) -> Verdict:
    """Return the conjunction of these, simplified."""
    left: list[Predicate] = []
    for operand in operands:
        if operand is False:
            return False
        if operand is not True:
            left.append(operand)
    return (Every(tuple(left)) if len(left) > 1 else left[0]) if left else True


def some(operands: Iterable[Verdict]) -> Verdict:
    """Return the disjunction of these, simplified."""
    left: list[Predicate] = []
    for operand in operands:
        if operand is True:
            return True
        if operand is not False:
            left.append(operand)
    return (Some(tuple(left)) if len(left) > 1 else left[0]) if left else False


def complement(operand: Verdict) -> Verdict:
    """Return the complement of the operand, simplified."""
    if isinstance(operand, bool):
        return not operand
    return operand.operand if isinstance(operand, Complement) else Complement(operand)


def one_of(path: Path, values: Iterable[Scalar]) -> Verdict:
    """Return the condition that some value at the path is among these."""
    kept = tuple(values)
    return OneOf(path, kept) if kept else False
