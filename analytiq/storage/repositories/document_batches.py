"""Collection `docs`: operations on many documents, one batch a transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analytiq import clock
from analytiq.models.document import Document, DocumentState
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.document_pages import DocumentQuery, matching
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.session import Session


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the order of documents, newest first; its fields never change, so no change moves a document."""

    created_at: datetime
    document_id: str


class DocumentBatchRepository:
    """Batches of an organization's documents."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["docs"]

    async def next_of(
        self,
        session: Session,
        organization_id: str,
        query: DocumentQuery,
        *,
        excluded: Collection[str],
        after: Place | None,
        limit: int,
    ) -> list[Document]:
        """Return the first selected documents after the given position, newest first."""
        conditions: list[Row] = [await matching(self._collection, organization_id, query, session)]
        if excluded:
            conditions.append({"_id": {"$nin": object_ids(set(excluded))}})
        if after is not None:
            # The first bounds the index scan, the second excludes earlier rows of the same moment.
            conditions.append({"created_at": {"$lte": after.created_at}})
            earlier: list[Row] = [
                {"created_at": {"$lt": after.created_at}},
                {"_id": {"$lt": object_id(after.document_id)}},
            ]
            conditions.append({"$or": earlier})
        cursor = self._collection.find({"$and": conditions}, session=session)
        return [decode(Document, row) async for row in cursor.sort([("created_at", -1), ("_id", -1)]).limit(limit)]

    async def await_extraction(self, session: Session, organization_id: str, document_ids: Collection[str]) -> None:
        """Mark documents as waiting for extraction, without an error."""
        own: Row = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        waiting: Row = {"state": DocumentState.UPLOADED.value, "error": None, "updated_at": clock.now()}
        await self._collection.update_many(own, {"$set": waiting, "$inc": {"rev": 1}}, session=session)

    async def change_tags(
        self,
        session: Session,
        organization_id: str,
        document_ids: Collection[str],
        *,
        added: Sequence[str],
        removed: Sequence[str],
    ) -> None:
        """Remove tags from documents, and add tags at the end."""
        kept: Row = {"$filter": {"input": "$tag_ids", "cond": {"$not": [{"$in": ["$$this", [*removed, *added]]}]}}}
        present: Row = {"$filter": {"input": "$tag_ids", "cond": {"$in": ["$$this", list(added)]}}}
        missing: Row = {"$setDifference": [list(added), "$tag_ids"]}
        changes: dict[str, Any] = {
            "tag_ids": {"$concatArrays": [kept, present, missing]},
            "rev": {"$add": ["$rev", 1]},
            "updated_at": {"$literal": clock.now()},
        }
        own: Row = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        await self._collection.update_many(own, [{"$set": changes}], session=session)
