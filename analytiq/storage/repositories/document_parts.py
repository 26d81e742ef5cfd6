"""Collection `docs`: documents that were found in another document."""

from collections.abc import Collection
from dataclasses import dataclass

from pymongo import ReturnDocument

from analytiq.models.document import Document
from analytiq.models.storage import StorageAmount
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.session import Session


@dataclass(frozen=True, slots=True)
class KnownPart:
    """A part that is a document already."""

    document_id: str
    path: str
    sha256: str


class DocumentPartRepository:
    """Parts of an organization's documents."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["docs"]
        self._majority = connection.majority["docs"]

    async def of_container(self, organization_id: str, container_id: str) -> list[KnownPart]:
        """Return the parts of a document, which need not exist any more; parts of parts are left out."""
        query = {"organization_id": organization_id, "part_of.parent_id": container_id}
        cursor = self._collection.find(query, {"part_of.path": 1, "sha256": 1})
        return [KnownPart(str(row["_id"]), row["part_of"]["path"], row["sha256"]) async for row in cursor]

    async def has_parts(self, session: Session, organization_id: str, document_id: str) -> bool:
        """Return True if the document has parts."""
        query = {"organization_id": organization_id, "part_of.parent_id": document_id}
        return await self._collection.find_one(query, {"_id": 1}, session=session) is not None

    async def counts(self, organization_id: str, container_ids: Collection[str]) -> dict[str, int]:
        """Return the number of parts of each of these documents; documents without parts are left out."""
        query: Row = {"organization_id": organization_id, "part_of.parent_id": {"$in": list(container_ids)}}
        cursor = await self._collection.aggregate(
            [{"$match": query}, {"$group": {"_id": "$part_of.parent_id", "count": {"$sum": 1}}}]
        )
        return {str(row["_id"]): int(row["count"]) async for row in cursor}

    async def below(self, organization_id: str, container_id: str) -> StorageAmount:
        """Return the number and the bytes of a document's parts at any depth."""
        query: Row = {
            "organization_id": organization_id,
            "part_of.container_ids": container_id,
            "part_of.parent_id": {"$exists": True},
        }
        summed: Row = {"_id": None, "documents": {"$sum": 1}, "stored_bytes": {"$sum": "$byte_size"}}
        cursor = await self._collection.aggregate([{"$match": query}, {"$group": summed}])
        async for row in cursor:
            return StorageAmount(stored_bytes=int(row["stored_bytes"]), documents=int(row["documents"]))
        return StorageAmount()

    async def ids_below(self, organization_id: str, container_id: str) -> list[str]:
        """Return the ids of a document's parts at any depth, deepest first."""
        query: Row = {
            "organization_id": organization_id,
            "part_of.container_ids": container_id,
            "part_of.parent_id": {"$exists": True},
        }
        rows = [row async for row in self._majority.find(query, {"part_of.container_ids": 1})]
        rows.sort(key=lambda row: len(row["part_of"]["container_ids"]), reverse=True)
        return [str(row["_id"]) for row in rows]

    async def ids_below_any(self, organization_id: str, container_ids: Collection[str], *, limit: int) -> set[str]:
        """Return the ids of parts at any depth of any of these documents, at most `limit`."""
        query: Row = {
            "organization_id": organization_id,
            "part_of.container_ids": {"$in": list(container_ids)},
            "part_of.parent_id": {"$exists": True},
        }
        return {str(row["_id"]) async for row in self._majority.find(query, {"_id": 1}).limit(limit)}

    async def containers_of(self, organization_id: str, document_ids: Collection[str]) -> set[str]:
        """Return the ids of all documents around these, which need not exist any more."""
        query: Row = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        rows = self._majority.find({**query, "part_of.parent_id": {"$exists": True}}, {"part_of.container_ids": 1})
        return {container_id async for row in rows for container_id in row["part_of"]["container_ids"]}

    async def existing(self, organization_id: str, document_ids: Collection[str]) -> list[str]:
        """Return the ids of those of these documents that exist, lowest first."""
        query: Row = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        return sorted([str(row["_id"]) async for row in self._majority.find(query, {"_id": 1})])

    async def at_path(self, session: Session, organization_id: str, container_id: str, path: str) -> Document | None:
        """Return the part at this path of a document."""
        query = {"organization_id": organization_id, "part_of.parent_id": container_id, "part_of.path": path}
        row: Row | None = await self._collection.find_one(query, session=session)
        return decode(Document, row) if row else None

    async def hold_container(
        self, session: Session, organization_id: str, container_id: str, *, file_id: str
    ) -> Document | None:
        """Return the container if it still has this file, and make its concurrent change or deletion conflict."""
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": object_id(container_id), "organization_id": organization_id, "file_id": file_id},
            {"$inc": {"rev": 1}},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return decode(Document, row) if row else None

    async def delete(
        self, session: Session, organization_id: str, container_id: str, document_ids: Collection[str]
    ) -> list[Document]:
        """Remove those of these rows that are parts of the container, and return them; jobs delete their data."""
        query: Row = {
            "_id": {"$in": object_ids(set(document_ids))},
            "organization_id": organization_id,
            "part_of.parent_id": container_id,
        }
        deleted = [decode(Document, row) async for row in self._collection.find(query, session=session)]
        await self._collection.delete_many(query, session=session)
        return deleted
