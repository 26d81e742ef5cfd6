"""Ids: ObjectIds in the database, 24 hex digits everywhere else."""

import re
from datetime import datetime

from bson import ObjectId
from bson.errors import InvalidId

from analytiq.errors import NotFoundError

_HEX = re.compile("[0-9a-fA-F]{24}")


def new_id() -> str:
    """Create a new id."""
    return str(ObjectId())


def object_id(value: str, *, what: str = "object") -> ObjectId:
    """Return the stored form of an id.

    Raises:
        NotFoundError: it is not 24 hex digits; callers treat it as an unknown id.
    """
    try:
        return ObjectId(value)
    except (InvalidId, TypeError) as error:
        raise NotFoundError(f"No {what} has the id {value!r}. Check the id.") from error


def object_ids(values: "list[str] | tuple[str, ...] | set[str] | frozenset[str]") -> list[ObjectId]:
    """Return the stored forms of the valid ids among the values."""
    return [ObjectId(bytes.fromhex(value)) for value in values if _HEX.fullmatch(value)]


def is_made_before(value: str, moment: datetime) -> bool:
    """Return True if `new_id` created the id before the moment, in whole seconds; False for an invalid id."""
    return ObjectId.is_valid(value) and ObjectId(value).generation_time <= moment
