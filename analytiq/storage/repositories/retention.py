"""Retention: the settings of organizations, and the documents past their limit."""

import re
from datetime import datetime

from analytiq.models.document import Document
from analytiq.models.erasure import DocumentSelection
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode


class RetentionRepository:
    """Queries by age, and by the selections of erasures."""

    def __init__(self, connection: MongoConnection) -> None:
        self._organizations = connection.database["organizations"]
        self._documents = connection.majority["docs"]
        self._files = connection.majority["fs.files"]
        self._runs = connection.database["prompt_runs"]

    async def set_days(self, organization_id: str, days: int | None) -> bool:
        """Set the days after which documents are deleted (None: never); return False without an organization."""
        result = await self._organizations.update_one(
            {"_id": object_id(organization_id, what="organization")}, {"$set": {"document_retention_days": days}}
        )
        return result.matched_count == 1

    async def uploaded_before(self, organization_id: str, moment: datetime, *, limit: int) -> list[Document]:
        """Return documents whose present bytes were uploaded before `moment`, oldest document first.

        A replaced document is as old as its file.
        """
        query: Row = {"organization_id": organization_id, "created_at": {"$lt": moment}}
        found: list[Document] = []
        async for row in self._documents.find(query).sort([("created_at", 1), ("_id", 1)]):
            document = decode(Document, row)
            key: Row = {"_id": object_id(document.file_id), "metadata.organization_id": organization_id}
            younger = await self._files.find_one({**key, "uploadDate": {"$gte": moment}}, {"_id": 1})
            if younger is None:
                found.append(document)
            if len(found) == limit:
                break
        return found

    async def delete_runs_on_texts(self, organization_id: str, moment: datetime, *, limit: int) -> int:
        """Delete runs on texts that ended before `moment`, oldest first; return their number."""
        query: Row = {"organization_id": organization_id, "document_id": None, "ended_at": {"$lt": moment}}
        cursor = self._runs.find(query, {"_id": 1}).sort([("created_at", 1), ("_id", 1)]).limit(limit)
        ids = [row["_id"] async for row in cursor]
        if not ids:
            return 0
        deleted = await self._runs.delete_many({**query, "_id": {"$in": ids}})
        return deleted.deleted_count

    async def selected(self, organization_id: str, selection: DocumentSelection, *, limit: int) -> list[str]:
        """Return the ids of the selected documents, lowest first."""
        cursor = self._documents.find(_query(organization_id, selection), {"_id": 1}).sort("_id", 1).limit(limit)
        return [str(row["_id"]) async for row in cursor]

    async def count_selected(self, organization_id: str, selection: DocumentSelection) -> int:
        """Count the selected documents."""
        return await self._documents.count_documents(_query(organization_id, selection))


def _query(organization_id: str, selection: DocumentSelection) -> Row:
    query: Row = {"organization_id": organization_id}
    if selection.document_ids:
        query["_id"] = {"$in": object_ids(selection.document_ids)}
    if selection.tag_ids:
        query["tag_ids"] = {"$all": list(selection.tag_ids)}
    if selection.name_contains:
        query["document_name"] = {"$regex": re.escape(selection.name_contains), "$options": "i"}
    if selection.uploaded_before is not None:
        query["created_at"] = {"$lt": selection.uploaded_before}
    for name, value in selection.metadata.items():
        # `$eq`, so that a value that looks like an operator is a value.
        query[f"metadata.{name}"] = {"$eq": value}
    return query
