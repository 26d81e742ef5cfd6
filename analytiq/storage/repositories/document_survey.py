"""A survey of documents in ranges of keys, of one or all organizations, for the reconciler."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from analytiq.models.document import Document, DocumentState
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode


@dataclass(frozen=True, slots=True)
class DocumentPointers:
    """The file (with its size) and the extracted text that a document's row refers to."""

    organization_id: str
    document_id: str
    file_id: str
    text_id: str | None
    state: DocumentState
    byte_size: int


class MemberRow(NamedTuple):
    """The fields of a member's row that its index entry must match, not validated: a million are read in a pass."""

    document_id: str
    text_hash: str
    document_name: str
    metadata: Mapping[str, Any]
    has_flaws: bool


class DocumentSurvey:
    """Reads of `docs`."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["docs"]
        self._majority = connection.majority["docs"]

    async def stuck_before(self, moment: datetime, *, limit: int, organization_id: str | None = None) -> list[Document]:
        """Return documents waiting for extraction since before `moment`, of any organization or of one."""
        states = [DocumentState.UPLOADED.value, DocumentState.EXTRACTING.value]
        query: Row = {"state": {"$in": states}, "updated_at": {"$lt": moment}}
        if organization_id is not None:
            query["organization_id"] = organization_id
        cursor = self._collection.find(query).limit(limit)
        return [decode(Document, row) async for row in cursor]

    async def members_after(
        self, organization_id: str, tag_ids: Collection[str], *, after: str, limit: int, is_full: bool
    ) -> list[MemberRow]:
        """Return the next members with text behind a document id, in order of id; with all fields if `is_full`."""
        query = _members(organization_id, tag_ids)
        if after:
            query["_id"] = {"$gt": object_id(after)}
        fields = {"text_hash": 1, "document_name": 1, "metadata": 1, "flaws": 1} if is_full else {"text_hash": 1}
        cursor = self._majority.find(query, fields, batch_size=limit + 1).sort("_id", 1).limit(limit)
        return [
            MemberRow(
                str(row["_id"]),
                row["text_hash"],
                row.get("document_name", ""),
                row.get("metadata") or {},
                bool(row.get("flaws")),
            )
            for row in await cursor.to_list()
        ]

    async def count_members(self, organization_id: str, tag_ids: Collection[str]) -> int:
        """Count the members with text: all with a tag by the index, less the few without text."""
        tagged: Row = {"organization_id": organization_id, "tag_ids": {"$in": list(tag_ids)}}
        unread = {"state": {"$in": [state.value for state in _WITHOUT_TEXT]}, "text_hash": None}
        total = await self._majority.count_documents(tagged)
        waiting = await self._majority.count_documents({**tagged, **unread})
        empty = await self._majority.count_documents({**tagged, "character_count": 0, "text_hash": {"$ne": None}})
        return total - waiting - empty

    async def changed_since(self, organization_id: str, moment: datetime, *, limit: int) -> list[str]:
        """Return the documents changed at `moment` or later; a covered query."""
        query: Row = {"organization_id": organization_id, "updated_at": {"$gte": moment}}
        cursor = self._majority.find(query, {"_id": 1}, batch_size=limit + 1).limit(limit)
        return [str(row["_id"]) for row in await cursor.to_list()]

    async def members_among(
        self, organization_id: str, tag_ids: Collection[str], document_ids: Collection[str]
    ) -> dict[str, str]:
        """Return the text hash by document id, of the members with text among these."""
        query = {**_members(organization_id, tag_ids), "_id": {"$in": object_ids(set(document_ids))}}
        cursor = self._majority.find(query, {"text_hash": 1})
        return {str(row["_id"]): str(row["text_hash"]) async for row in cursor}

    async def of_ids(self, organization_id: str, document_ids: Collection[str]) -> dict[str, Document]:
        """Return the existing documents by id."""
        query: Row = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        return {str(row["_id"]): decode(Document, row) async for row in self._majority.find(query)}

    async def pointers_after(
        self, organization_id: str | None, *, after: str, limit: int
    ) -> list[tuple[str, DocumentPointers]]:
        """Return the next documents behind a key, of any organization or of one; each with its key."""
        field = "_id" if organization_id is None else "identity"
        query: Row = {} if organization_id is None else {"organization_id": organization_id}
        if after:
            query[field] = {"$gt": object_id(after) if organization_id is None else after}
        fields = _POINTERS if organization_id is None else {**_POINTERS, "identity": 1}
        cursor = self._collection.find(query, fields, batch_size=limit + 1).sort(field, 1).limit(limit)
        return [(str(row[field]), _pointers(row)) for row in await cursor.to_list()]

    async def count(self, organization_id: str | None, *, at_most: int) -> int:
        """Count the documents of one or all organizations, up to a limit."""
        query: Row = {} if organization_id is None else {"organization_id": organization_id}
        return await self._majority.count_documents(query, limit=at_most)

    async def count_all(self) -> int:
        """Count the documents of all organizations by an index."""
        return await self._majority.count_documents({}, hint="_id_")

    async def files_named_among(self, file_ids: Collection[str]) -> set[str]:
        """Return the files that a document refers to; reads all documents, so pass only the few files without a row."""
        cursor = self._majority.find({"file_id": {"$in": list(file_ids)}}, {"_id": 0, "file_id": 1})
        return {str(row["file_id"]) async for row in cursor}

    async def pointers(self, document_ids: Collection[str]) -> dict[str, DocumentPointers]:
        """Return the pointers of existing documents by id, of any organization."""
        cursor = self._majority.find({"_id": {"$in": object_ids(set(document_ids))}}, _POINTERS)
        return {str(row["_id"]): _pointers(row) async for row in cursor}


_STATES = {state.value: state for state in DocumentState}
_WITHOUT_TEXT = (DocumentState.UPLOADED, DocumentState.EXTRACTING, DocumentState.FAILED)
_POINTERS: Row = {"organization_id": 1, "file_id": 1, "text_id": 1, "state": 1, "byte_size": 1}


def _pointers(row: Row) -> DocumentPointers:
    return DocumentPointers(
        organization_id=row["organization_id"],
        document_id=str(row["_id"]),
        file_id=row["file_id"],
        text_id=row.get("text_id"),
        state=_STATES[row["state"]],
        byte_size=int(row["byte_size"]),
    )


def _members(organization_id: str, tag_ids: Collection[str]) -> Row:
    return {
        "organization_id": organization_id,
        "tag_ids": {"$in": list(tag_ids)},
        "text_hash": {"$ne": None},
        "character_count": {"$gt": 0},
    }
