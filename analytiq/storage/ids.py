"""Ids: ObjectIds in the database, 24 hex digits everywhere else."""

from datetime import datetime

from bson import ObjectId
from bson.errors import InvalidId

from analytiq.errors import NotFoundError


def new_id() -> str:
    """A fresh id."""
    return str(ObjectId())


def object_id(value: str, *, what: str = "object") -> ObjectId:
    """The stored form of an id.

    Raises:
        NotFoundError: it is not 24 hex digits; to the caller that is the same as an unknown one.
    """
    try:
        return ObjectId(value)
    except (InvalidId, TypeError) as error:
        raise NotFoundError(f"no {what} has the id {value!r}") from error


def object_ids(values: "list[str] | tuple[str, ...] | set[str] | frozenset[str]") -> list[ObjectId]:
    """The stored forms of those values that are ids at all."""
    return [ObjectId(value) for value in values if ObjectId.is_valid(value)]


def is_made_before(value: str, moment: datetime) -> bool:
    """Whether `new_id` made the id before the moment, to the second; False where it is no id."""
    return ObjectId.is_valid(value) and ObjectId(value).generation_time <= moment
