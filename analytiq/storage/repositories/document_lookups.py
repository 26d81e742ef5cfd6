"""Collection `docs`: an organization's documents by path, in the order of paths."""

from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.models.document import Document
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.document_pages import BY_NAME, below
from analytiq.storage.repositories.rows import Row, decode


@dataclass(frozen=True, slots=True)
class PathPlace:
    """A position in the order of documents by path, then by id."""

    document_name: str
    document_id: str


class DocumentLookupRepository:
    """Documents of an organization by path, read at majority."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.majority["docs"]

    async def at_paths(
        self, organization_id: str, paths: Sequence[str], *, after: PathPlace | None, limit: int
    ) -> list[Document]:
        """Return the documents with exactly these paths."""
        return await self._ordered(organization_id, {"$in": list(paths)}, after=after, limit=limit)

    async def of_items(self, organization_id: str, source: str, external_ids: Sequence[str]) -> list[Document]:
        """Return the documents of these items of a source."""
        query: Row = {
            "organization_id": organization_id,
            "external_identity.source": source,
            "external_identity.external_id": {"$in": list(external_ids)},
        }
        return [decode(Document, row) async for row in self._collection.find(query)]

    async def below(self, organization_id: str, folder: str, *, after: PathPlace | None, limit: int) -> list[Document]:
        """Return the documents in a folder and below it."""
        return await self._ordered(organization_id, below(folder), after=after, limit=limit)

    async def with_ids(self, organization_id: str, document_ids: Sequence[str]) -> list[Document]:
        """Return the existing documents among these."""
        query: Row = {"_id": {"$in": object_ids(list(document_ids))}, "organization_id": organization_id}
        return [decode(Document, row) async for row in self._collection.find(query)]

    async def _ordered(
        self, organization_id: str, names: Row, *, after: PathPlace | None, limit: int
    ) -> list[Document]:
        query: Row = {"organization_id": organization_id, "document_name": names}
        if after is not None:
            same: Row = {"document_name": after.document_name, "_id": {"$gt": object_id(after.document_id)}}
            query = {"$and": [query, {"$or": [{"document_name": {"$gt": after.document_name}}, same]}]}
            # Bounds the scan of the index; the alternative above excludes earlier rows.
            query["$and"].append({"document_name": {"$gte": after.document_name}})
        cursor = self._collection.find(query).sort([("document_name", 1), ("_id", 1)]).hint(BY_NAME).limit(limit)
        return [decode(Document, row) async for row in cursor]
