"""Collection `docs`: the documents that are members of knowledge bases by their tags."""

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

from analytiq.models.document import Member
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_ids
from analytiq.storage.repositories.hit_checks import MEMBER_FIELDS, member_of
from analytiq.storage.repositories.rows import Row


class DocumentMembers:
    """Documents with one of some tags."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["docs"]
        self._majority = connection.majority["docs"]

    async def members(
        self, organization_id: str, document_ids: Collection[str], tag_ids: Collection[str]
    ) -> dict[str, Member]:
        """Return the existing documents with one of the tags, by id; a part of the check of every hit.

        Read at majority: see `IndexEntryRepository.of_documents`.
        """
        cursor = self._majority.find(
            {
                "_id": {"$in": object_ids(set(document_ids))},
                "organization_id": organization_id,
                "tag_ids": {"$in": list(tag_ids)},
            },
            MEMBER_FIELDS,
        )
        return {str(row["_id"]): member_of(row) async for row in cursor}

    async def ids_of_members_matching(
        self, organization_id: str, tag_ids: Collection[str], compiled_filter: Mapping[str, Any]
    ) -> set[str]:
        """Return the members that pass a compiled filter (`analytiq.retrieval.filters.compilers.documents`)."""
        query: Row = {
            "$and": [
                {"organization_id": organization_id, "tag_ids": {"$in": list(tag_ids)}},
                dict(compiled_filter),
            ]
        }
        return {str(row["_id"]) async for row in self._majority.find(query, {"_id": 1})}

    async def member_ids(
        self, organization_id: str, tag_ids: Collection[str], *, batch_size: int = 1000
    ) -> AsyncIterator[list[tuple[str, str]]]:
        """Yield all members with text, as batches of (document id, text hash) in order of id; resumes by key range."""
        after: Any = None
        while True:
            query: Row = {
                "organization_id": organization_id,
                "tag_ids": {"$in": list(tag_ids)},
                "text_hash": {"$ne": None},
                "character_count": {"$gt": 0},
            }
            if after is not None:
                query["_id"] = {"$gt": after}
            cursor = self._collection.find(query, {"text_hash": 1}).sort("_id", 1).limit(batch_size)
            rows = [row async for row in cursor]
            if not rows:
                return
            yield [(str(row["_id"]), str(row["text_hash"])) for row in rows]
            after = rows[-1]["_id"]
