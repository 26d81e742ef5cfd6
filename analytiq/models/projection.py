"""The fields of a document that its chunks carry, so that MongoDB's search server can filter them."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Projection:
    """The fields that a document's chunks carry. `is_partial`: its metadata has more than `terms` holds."""

    document_name: str
    tag_ids: tuple[str, ...]
    content_type: str
    upload_date: datetime
    terms: tuple[str, ...]
    is_partial: bool

    @property
    def hash(self) -> str:
        """Return the hash by which chunks are compared with their document."""
        parts = [self.document_name, self.tag_ids, self.content_type, self.upload_date.isoformat(), self.terms]
        return hashlib.sha256(json.dumps([RELEASE, *parts, self.is_partial]).encode()).hexdigest()


RELEASE = 1
"""Raised when the same document would be projected in another way; its chunks are then written again."""
