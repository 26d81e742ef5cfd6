"""Uploads in progress."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored

BULK_FILES = 20
"""A call with more files is in bulk: single uploads go before them. While a bulk of 900 documents was indexed, a single
one into the same knowledge base was found after 9.3 s at one priority, and after 1.6 s at its own."""


class DuplicatePolicy(StrEnum):
    """The treatment of an upload whose bytes the organization already has under the same name."""

    RETURN = "return"
    CREATE = "create"
    REPLACE = "replace"


class UploadOutcome(StrEnum):
    """The outcome of an upload."""

    CREATED = "created"
    RETURNED = "returned"
    REPLACED = "replaced"


class Upload(Stored):
    """A row of `uploads`: while its lease runs, the bytes of `file_id` are being written.

    An abandoned upload can no longer commit; its row stays until its bytes are deleted, so that a crash in between
    loses no track of them.
    """

    id: str
    organization_id: str
    file_id: str
    document_name: str
    lease_expires_at: datetime
    is_given_up: bool = False
    created_at: datetime
