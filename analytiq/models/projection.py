"""The fields of a document stored in its chunks, so that MongoDB's search server can filter them."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Projection:
    """The fields stored in a document's chunks. `is_partial`: its metadata has more terms than `terms` holds."""

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
"""Raised when the projection of the same document changes; its chunks are then rewritten."""
