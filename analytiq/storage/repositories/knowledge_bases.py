"""Collection `knowledge_bases`."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from pymongo import IndexModel, ReturnDocument
from pymongo.read_concern import ReadConcern

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.knowledge_base import (
    LOCAL_BACKEND,
    Epoch,
    KnowledgeBase,
    KnowledgeBaseStatus,
    distinct_names,
)
from analytiq.models.webhook import WebhookEvent, WebhookEventType
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.repositories.webhook_outbox import WebhookOutbox
from analytiq.storage.session import Session

NAMES_INDEX = "names_of_shown"
"""Unique by organization. A status added to `KnowledgeBaseStatus` needs a migration that rebuilds this index."""

_HIDDEN = (KnowledgeBaseStatus.DELETING, KnowledgeBaseStatus.RESTORING)

NAME_TAKEN = "knowledge_base_name_taken"
"""Error code for a name that another knowledge base has."""

INDEXES = {
    "knowledge_bases": [
        IndexModel(
            [("organization_id", 1), ("name", 1)],
            name=NAMES_INDEX,
            unique=True,
            partialFilterExpression={
                "status": {"$in": [status.value for status in KnowledgeBaseStatus if status not in _HIDDEN]}
            },
        ),
        IndexModel([("organization_id", 1), ("created_at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("tag_ids", 1)]),
        IndexModel([("status", 1)]),
    ],
}

_SHOWN: Row = {"$nin": [status.value for status in _HIDDEN]}

_EVENT_OF_STATUS = {
    KnowledgeBaseStatus.ACTIVE: WebhookEventType.KNOWLEDGE_BASE_ACTIVE,
    KnowledgeBaseStatus.ERROR: WebhookEventType.KNOWLEDGE_BASE_FAILED,
}


def shown_among(organization_id: str, kb_ids: Collection[str]) -> Row:
    """Return the query for the organization's knowledge bases with these ids, except those being deleted."""
    return {"_id": {"$in": object_ids(set(kb_ids))}, "organization_id": organization_id, "status": _SHOWN}


class KnowledgeBaseRepository:
    """Knowledge bases of an organization, except those being deleted."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["knowledge_bases"]
        self._majority = self._collection.with_options(read_concern=ReadConcern("majority"))
        self._outbox = WebhookOutbox(connection)

    async def insert(self, session: Session, knowledge_base: KnowledgeBase) -> None:
        """Store a new knowledge base.

        Raises:
            ConflictError: another knowledge base of the organization has the name.
        """
        await self.require_free_name(knowledge_base.organization_id, knowledge_base.name, session=session)
        await self._collection.insert_one(encode(knowledge_base), session=session)

    async def require_free_name(
        self, organization_id: str, name: str, *, own_id: str | None = None, session: Session | None = None
    ) -> None:
        """Check that no knowledge base but `own_id` has the name; the index of names decides between rivals.

        Raises:
            ConflictError: another knowledge base has the name; names its id.
        """
        query: Row = {"organization_id": organization_id, "name": name, "status": _SHOWN}
        row: Row | None = await self._collection.find_one(query, {"_id": 1}, session=session)
        if row is not None and str(row["_id"]) != own_id:
            raise ConflictError(
                f"The organization already has a knowledge base named {name!r}, with the id {row['_id']}. Use it, or"
                " choose another name.",
                code=NAME_TAKEN,
            )

    async def get(self, organization_id: str, kb_id: str) -> KnowledgeBase | None:
        """Return the organization's knowledge base with this id, read at majority."""
        ids = object_ids([kb_id])
        if not ids:
            return None
        row: Row | None = await self._majority.find_one(
            {"_id": ids[0], "organization_id": organization_id, "status": _SHOWN}
        )
        return decode(KnowledgeBase, row) if row else None

    async def get_for_job(self, organization_id: str, kb_id: str) -> KnowledgeBase | None:
        """Return the organization's knowledge base with this id, as the primary has it.

        A job may be claimed some milliseconds before a majority holds the change that it is about. Read at majority,
        the knowledge base may be the one before the change, and then nobody finds what it has gained.
        """
        ids = object_ids([kb_id])
        query: Row = {"_id": {"$in": ids}, "organization_id": organization_id, "status": _SHOWN}
        row: Row | None = await self._collection.find_one(query)
        return decode(KnowledgeBase, row) if row else None

    async def at_versions(
        self, organization_id: str, kb_ids: Collection[str]
    ) -> dict[str, tuple[KnowledgeBase, Epoch]]:
        """Return the organization's knowledge bases by id, each with its epoch, at majority and in one command.

        Those that are unknown, or whose deletion has begun, are missing.
        """
        query = shown_among(organization_id, kb_ids)
        lookup: Row = {"from": "kb_epochs", "localField": "_id", "foreignField": "_id", "as": "epochs"}
        found: dict[str, tuple[KnowledgeBase, Epoch]] = {}
        async for row in await self._majority.aggregate([{"$match": query}, {"$lookup": lookup}]):
            for epoch in row.pop("epochs"):
                kb = decode(KnowledgeBase, row)
                found[kb.id] = kb, Epoch(kb_id=kb.id, epoch=epoch["epoch"], commit_id=epoch["commit_id"])
        return found

    async def of_organizations(self, organization_ids: Collection[str], kb_ids: Collection[str]) -> list[KnowledgeBase]:
        """Return the knowledge bases of these organizations, each with its organization."""
        query: Row = {
            "_id": {"$in": object_ids(set(kb_ids))},
            "organization_id": {"$in": list(organization_ids)},
            "status": _SHOWN,
        }
        return [decode(KnowledgeBase, row) async for row in self._collection.find(query)]

    async def tag_ids_in(self, session: Session, organization_id: str, kb_id: str) -> tuple[str, ...] | None:
        """Return its tags within the transaction; None if it is gone."""
        row: Row | None = await self._collection.find_one(
            {"_id": object_id(kb_id), "organization_id": organization_id, "status": _SHOWN},
            {"tag_ids": 1},
            session=session,
        )
        return None if row is None else tuple(str(tag_id) for tag_id in row["tag_ids"])

    async def get_deleting(self, organization_id: str, kb_id: str) -> KnowledgeBase | None:
        """Return the row of a knowledge base being deleted."""
        row: Row | None = await self._collection.find_one(
            {
                "_id": object_id(kb_id),
                "organization_id": organization_id,
                "status": KnowledgeBaseStatus.DELETING.value,
            }
        )
        return decode(KnowledgeBase, row) if row else None

    async def page(
        self, organization_id: str, *, skip: int, limit: int, name_search: str | None
    ) -> tuple[list[KnowledgeBase], int]:
        """Return a page of knowledge bases, newest first, and the total count of matches."""
        query: Row = {"organization_id": organization_id, "status": _SHOWN}
        if name_search:
            query["name"] = {"$regex": re.escape(name_search), "$options": "i"}
        cursor = self._collection.find(query).sort([("created_at", -1), ("_id", -1)]).skip(skip).limit(limit)
        found = [decode(KnowledgeBase, row) async for row in cursor]
        return found, await self._collection.count_documents(query)

    async def with_names(self, organization_id: str, names: Collection[str]) -> list[KnowledgeBase]:
        """Return the organization's knowledge bases with these names."""
        query: Row = {"organization_id": organization_id, "name": {"$in": list(names)}, "status": _SHOWN}
        return [decode(KnowledgeBase, row) async for row in self._majority.find(query)]

    async def ids_of(self, session: Session, organization_id: str) -> list[str]:
        """Return the ids of the organization's knowledge bases."""
        query: Row = {"organization_id": organization_id, "status": _SHOWN}
        return [str(row["_id"]) async for row in self._collection.find(query, {"_id": 1}, session=session)]

    async def with_tags(self, organization_id: str, tag_ids: Collection[str]) -> list[KnowledgeBase]:
        """Return the knowledge bases that have one of the tags, read at majority."""
        query = _with_tags(organization_id, tag_ids)
        return [decode(KnowledgeBase, row) async for row in self._majority.find(query)] if tag_ids else []

    async def with_tags_for_job(self, organization_id: str, tag_ids: Collection[str]) -> list[KnowledgeBase]:
        """Return the knowledge bases that have one of the tags, as the primary has them; see `get_for_job`."""
        query = _with_tags(organization_id, tag_ids)
        return [decode(KnowledgeBase, row) async for row in self._collection.find(query)] if tag_ids else []

    async def change(
        self, session: Session, organization_id: str, kb_id: str, changes: Mapping[str, Any]
    ) -> KnowledgeBase | None:
        """Set fields; return None if the knowledge base does not exist.

        Raises:
            ConflictError: another knowledge base of the organization has the new name.
        """
        if "name" in changes:
            await self.require_free_name(organization_id, changes["name"], own_id=kb_id, session=session)
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": object_id(kb_id, what="knowledge base"), "organization_id": organization_id, "status": _SHOWN},
            {"$set": {**changes, "updated_at": clock.now()}},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return decode(KnowledgeBase, row) if row else None

    async def hold(self, session: Session, organization_id: str, kb_id: str) -> bool:
        """Check that it exists, and make a concurrent deletion conflict."""
        result = await self._collection.update_one(
            {"_id": object_id(kb_id), "organization_id": organization_id, "status": _SHOWN},
            {"$inc": {"holds": 1}},
            session=session,
        )
        return result.matched_count == 1

    async def mark_deleting(self, session: Session, organization_id: str, kb_id: str) -> bool:
        """Hide it at once; a job removes its data."""
        changed = await self.change(session, organization_id, kb_id, {"status": KnowledgeBaseStatus.DELETING.value})
        return changed is not None

    async def delete(self, organization_id: str, kb_id: str) -> None:
        """Remove the row of a knowledge base being deleted, as the last step."""
        await self._collection.delete_one(
            {
                "_id": object_id(kb_id),
                "organization_id": organization_id,
                "status": KnowledgeBaseStatus.DELETING.value,
            }
        )

    async def note_first_membership(self, organization_id: str, kb_id: str) -> None:
        """Record when all pairs of the first indexing had been enqueued."""
        await self._collection.update_one(
            {"_id": object_id(kb_id), "organization_id": organization_id, "first_membership_at": None},
            [{"$set": {"first_membership_at": "$$NOW"}}],
        )

    async def set_status(self, knowledge_base: KnowledgeBase, status: KnowledgeBaseStatus) -> bool:
        """Change the status; return False if it is no longer that of `knowledge_base`."""
        query: Row = {
            "_id": object_id(knowledge_base.id),
            "organization_id": knowledge_base.organization_id,
            "status": knowledge_base.status.value,
        }
        change: Row = {"$set": {"status": status.value, "updated_at": clock.now()}}

        async def write(session: Session | None) -> bool:
            return (await self._collection.update_one(query, change, session=session)).modified_count == 1

        event_type = _EVENT_OF_STATUS.get(status)
        if event_type is None:
            return await write(None)
        event = WebhookEvent(
            event_type, f"knowledge_base:{knowledge_base.id}", {"knowledge_base_id": knowledge_base.id}
        )
        return await self._outbox.changing(None, knowledge_base.organization_id, event, write)

    async def write_statistics(
        self, knowledge_base: KnowledgeBase, *, document_count: int, chunk_count: int, epoch: int
    ) -> bool:
        """Store derived counts in the row, for lists; return True if they differed. Use it outside of transactions.

        Of two counting processes, the later reader is right, whichever writes last: counts of an `epoch`
        before that of the row are not written.
        """
        counts: Row = {"document_count": document_count, "chunk_count": chunk_count, "counted_epoch": epoch}
        # Epochs only rise, and this one was read after the row: a row that is ahead was restored without its epoch.
        newest = max(epoch, knowledge_base.counted_epoch)
        query: Row = {
            "_id": object_id(knowledge_base.id),
            "organization_id": knowledge_base.organization_id,
            "$and": [
                {"$or": [{"counted_epoch": None}, {"counted_epoch": {"$lte": newest}}]},
                {"$or": [{name: {"$ne": value}} for name, value in counts.items()]},
            ],
        }
        before: Row | None = await self._collection.find_one_and_update(
            query, {"$set": {**counts, "last_indexed_at": clock.now()}}, projection=dict.fromkeys(counts, 1)
        )
        return before is not None and (before["document_count"], before["chunk_count"]) != (document_count, chunk_count)

    async def shown_of(self, organization_id: str | None, kb_id: str | None = None) -> list[KnowledgeBase]:
        """Return every knowledge base, of all organizations or of one, or a single one, in order of id."""
        query: Row = {"status": _SHOWN}
        if organization_id is not None:
            query["organization_id"] = organization_id
        if kb_id is not None:
            query["_id"] = {"$in": object_ids([kb_id])}
        return [decode(KnowledgeBase, row) async for row in self._majority.find(query).sort("_id", 1)]

    async def point_at_collection(
        self, organization_id: str, kb_id: str, *, vectors_uuid: str, instead_of: str
    ) -> bool:
        """Record the present collection's UUID for writers; return False if the row names another, or is gone."""
        result = await self._collection.update_one(
            {
                "_id": object_id(kb_id),
                "organization_id": organization_id,
                "status": _SHOWN,
                "vectors_uuid": instead_of,
            },
            {"$set": {"vectors_uuid": vectors_uuid, "updated_at": clock.now()}},
        )
        return result.matched_count == 1

    async def counts_by_store(self) -> dict[str, int]:
        """Count every organization's knowledge bases by backend."""
        # Older rows name no backend, and belong to the local one.
        kind = {"$ifNull": ["$vector_store", LOCAL_BACKEND]}
        pipeline: list[Row] = [{"$match": {"status": _SHOWN}}, {"$group": {"_id": kind, "count": {"$sum": 1}}}]
        cursor = await self._collection.aggregate(pipeline)
        return {str(row["_id"]): int(row["count"]) async for row in cursor}

    async def existing(self, kb_ids: Collection[str]) -> set[str]:
        """Return the ids that have a row, in any status and organization; for the reconciler."""
        query: Row = {"_id": {"$in": object_ids(set(kb_ids))}}
        return {str(row["_id"]) async for row in self._majority.find(query, {"_id": 1})}

    async def names(self, organization_id: str, kb_ids: Collection[str]) -> dict[str, str]:
        """Return the names by id of the organization's existing knowledge bases."""
        query: Row = {"_id": {"$in": object_ids(set(kb_ids))}, "organization_id": organization_id}
        return {str(row["_id"]): str(row["name"]) async for row in self._collection.find(query, {"name": 1})}

    async def shown(self, kb_ids: Collection[str]) -> set[str]:
        """Return the ids of knowledge bases not being deleted, of any organization."""
        query: Row = {"_id": {"$in": object_ids(set(kb_ids))}, "status": _SHOWN}
        return {str(row["_id"]) async for row in self._collection.find(query, {"_id": 1})}

    async def all_deleting(self, organization_id: str | None = None) -> list[KnowledgeBase]:
        """Return every partly deleted knowledge base, of any organization or of one, for the reconciler."""
        query: Row = {"status": KnowledgeBaseStatus.DELETING.value}
        if organization_id is not None:
            query["organization_id"] = organization_id
        return [decode(KnowledgeBase, row) async for row in self._collection.find(query)]

    async def uses_of_tag(self, organization_id: str, tag_id: str) -> list[str]:
        """Return the names of the knowledge bases that gather the tag."""
        query = {"organization_id": organization_id, "tag_ids": tag_id, "status": _SHOWN}
        return [str(row["name"]) async for row in self._collection.find(query, {"name": 1})]

    async def set_names_apart(self) -> int:
        """Rename knowledge bases that share a name with an older one of their organization; return their number.

        For databases older than unique names.
        """
        pipeline: list[Row] = [
            {"$match": {"status": _SHOWN}},
            {"$group": {"_id": {"organization_id": "$organization_id", "name": "$name"}, "count": {"$sum": 1}}},
            {"$match": {"count": {"$gt": 1}}},
        ]
        renamed = 0
        async for group in await self._collection.aggregate(pipeline):
            own: Row = {"organization_id": group["_id"]["organization_id"], "status": _SHOWN}
            rows = await self._collection.find(own, {"name": 1, "created_at": 1}).sort([("created_at", 1)]).to_list()
            for row, name in zip(rows, distinct_names([str(row["name"]) for row in rows]), strict=True):
                if name != row["name"]:
                    await self._collection.update_one(
                        {"_id": row["_id"], **own}, {"$set": {"name": name, "updated_at": clock.now()}}
                    )
                    renamed += 1
        return renamed


def _with_tags(organization_id: str, tag_ids: Collection[str]) -> Row:
    return {"organization_id": organization_id, "tag_ids": {"$in": list(tag_ids)}, "status": _SHOWN}
