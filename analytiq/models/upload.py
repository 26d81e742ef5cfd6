"""Uploads under way."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class DuplicatePolicy(StrEnum):
    """What an upload does when the organization already has the same bytes under the same name."""

    RETURN = "return"
    CREATE = "create"
    REPLACE = "replace"


class UploadOutcome(StrEnum):
    """What an upload did."""

    CREATED = "created"
    RETURNED = "returned"
    REPLACED = "replaced"


class Upload(Stored):
    """A row of `uploads`: while its lease runs, the bytes of `file_id` are being written.

    One that was given up can no longer commit; its row stays until its bytes are gone, so that a crash in between is
    made up for.
    """

    id: str
    organization_id: str
    file_id: str
    document_name: str
    lease_expires_at: datetime
    is_given_up: bool = False
    created_at: datetime
