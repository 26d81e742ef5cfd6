"""The base class of all stored models."""

from pydantic import BaseModel, ConfigDict


class Stored(BaseModel):
    """A row as read from MongoDB: frozen, ids as 24 hex digits, times aware in UTC.

    Fields that a newer release added are ignored, so that releases can run side by side during an upgrade.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")
