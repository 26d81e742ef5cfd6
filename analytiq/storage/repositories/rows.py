"""Conversion between stored models and rows."""

from collections.abc import Mapping
from typing import Any, TypeVar

from analytiq.models.stored import Stored
from analytiq.storage.ids import object_id

Row = dict[str, Any]
"""A BSON document as pymongo returns it; it never leaves `analytiq.storage`."""

StoredModel = TypeVar("StoredModel", bound=Stored)


def decode(model: type[StoredModel], row: Mapping[str, Any]) -> StoredModel:
    """Return a row as a model; `_id` becomes `id`, an ObjectId as 24 hex digits."""
    values = dict(row)
    if "_id" in values:
        values["id"] = str(values.pop("_id"))
    return model.model_validate(values)


def encode(stored: Stored) -> Row:
    """Return a model as a row; an `id` becomes an ObjectId `_id`."""
    row: Row = stored.model_dump()
    if "id" in row:
        row["_id"] = object_id(row.pop("id"))
    return row
