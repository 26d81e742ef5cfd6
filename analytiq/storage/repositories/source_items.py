"""Collection `source_items`: the last known state of each item of a source."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pymongo import IndexModel, UpdateOne

from analytiq import clock
from analytiq.models.source import SourceItem, SourceRun
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "source_items": [
        IndexModel([("organization_id", 1), ("source_id", 1), ("external_id", 1)], unique=True),
        IndexModel([("organization_id", 1), ("document_id", 1)]),
    ],
}


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """The filters of a list of items; None does not filter."""

    search: str | None = None
    """A literal part of the name, ignoring case."""
    has_problem: bool | None = None


class SourceItemRepository:
    """Items of an organization's sources."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["source_items"]

    async def with_external_ids(
        self, organization_id: str, source_id: str, external_ids: Collection[str]
    ) -> dict[str, SourceItem]:
        """Return the known items among these, by external id."""
        query: Row = {**_of(organization_id, source_id), "external_id": {"$in": list(external_ids)}}
        items = [decode(SourceItem, row) async for row in self._collection.find(query)]
        return {item.external_id: item for item in items}

    async def page(
        self, organization_id: str, source_id: str, query: ItemQuery, *, skip: int, limit: int
    ) -> tuple[list[SourceItem], int]:
        """Return a page of a source's items by external id, and the total count of matches."""
        wanted = _of(organization_id, source_id)
        if query.search:
            wanted["name"] = {"$regex": re.escape(query.search), "$options": "i"}
        if query.has_problem is not None:
            wanted["problem"] = {"$ne": None} if query.has_problem else None
        cursor = self._collection.find(wanted).sort("external_id", 1).skip(skip).limit(limit)
        found = [decode(SourceItem, row) async for row in cursor]
        return found, await self._collection.count_documents(wanted)

    async def count_present(self, organization_id: str, source_id: str) -> int:
        """Count the items that the last whole run found."""
        present: Row = {**_of(organization_id, source_id), "vanished_at": None, "is_pushed": {"$ne": True}}
        return await self._collection.count_documents(present)

    async def count_all(self, organization_id: str, source_id: str) -> int:
        """Count the items of a source, pushed ones too."""
        return await self._collection.count_documents(_of(organization_id, source_id))

    async def count_seen(self, organization_id: str, source_id: str, run_id: str) -> int:
        """Count the items that a run has seen."""
        return await self._collection.count_documents({**_of(organization_id, source_id), "seen_run_id": run_id})

    async def count_unseen(self, organization_id: str, source_id: str, run_id: str) -> int:
        """Count the present items that a run has not seen."""
        return await self._collection.count_documents(_unseen(organization_id, source_id, run_id))

    async def put(self, session: Session, items: Sequence[SourceItem]) -> None:
        """Insert or replace items, by source and external id."""
        if not items:
            return
        writes: list[UpdateOne] = []
        for item in items:
            row = encode(item)
            new_id = row.pop("_id")
            key: Row = {name: row.pop(name) for name in ("organization_id", "source_id", "external_id")}
            writes.append(UpdateOne(key, {"$set": row, "$setOnInsert": {"_id": new_id}}, upsert=True))
        await self._collection.bulk_write(writes, ordered=False, session=session)

    async def plan(self, items: Sequence[SourceItem]) -> None:
        """Insert items whose documents are about to be created; known ones stay as they are."""
        if not items:
            return
        writes: list[UpdateOne] = []
        for item in items:
            row = encode(item)
            key: Row = {name: row.pop(name) for name in ("organization_id", "source_id", "external_id")}
            writes.append(UpdateOne(key, {"$setOnInsert": row}, upsert=True))
        await self._collection.bulk_write(writes, ordered=False)

    async def put_pushed(self, session: Session, items: Sequence[SourceItem]) -> None:
        """Insert or replace pushed items; what runs know of them stays: one that has seen the item must not miss it."""
        if not items:
            return
        writes: list[UpdateOne] = []
        for item in items:
            row = encode(item)
            key: Row = {name: row.pop(name) for name in ("organization_id", "source_id", "external_id")}
            new: Row = {"_id": row.pop("_id"), "seen_run_id": None, "is_pushed": True}
            # No run can fetch a pushed item, so that none tries a failed one again.
            kept = {**{name: value for name, value in row.items() if name not in new}, "has_failed": False}
            writes.append(UpdateOne(key, {"$set": kept, "$setOnInsert": new}, upsert=True))
        await self._collection.bulk_write(writes, ordered=False, session=session)

    async def mark_seen(self, session: Session, run: SourceRun, external_ids: Sequence[str]) -> None:
        """Record that a run has seen unchanged items; a dry run changes nothing else of them."""
        if not external_ids:
            return
        changes: Row = {"seen_run_id": run.id, "vanished_run_id": None}
        if not run.is_dry_run:
            changes |= {"vanished_at": None, "problem": None, "has_failed": False, "is_pushed": False}
        await self._collection.update_many(
            {**_of(run.organization_id, run.source_id), "external_id": {"$in": list(external_ids)}},
            {"$set": changes},
            session=session,
        )

    async def mark_removed(self, session: Session, run: SourceRun, external_ids: Sequence[str]) -> None:
        """Mark present items that the source reports as removed."""
        if not external_ids:
            return
        query: Row = {
            **_of(run.organization_id, run.source_id),
            "external_id": {"$in": list(external_ids)},
            "vanished_at": None,
        }
        await self._collection.update_many(
            query, {"$set": {"vanished_run_id": run.id, "seen_run_id": None}}, session=session
        )

    async def count_removed(self, run: SourceRun) -> int:
        """Count the items that a run has marked as vanished and not settled yet."""
        return await self._collection.count_documents(_marked(run))

    async def unmark(self, run: SourceRun, *, session: Session | None = None) -> None:
        """Forget the marks of items that were not treated as vanished, of this run and those before."""
        query: Row = {
            **_of(run.organization_id, run.source_id),
            "vanished_run_id": {"$ne": None},
            "vanished_at": None,
        }
        await self._collection.update_many(query, {"$set": {"vanished_run_id": None}}, session=session)

    async def failed_before(self, run: SourceRun, limit: int) -> list[SourceItem]:
        """Return items that failed in an earlier run, and that this one has not seen."""
        query: Row = {
            **_of(run.organization_id, run.source_id),
            "has_failed": True,
            "seen_run_id": {"$ne": run.id},
            "vanished_run_id": {"$ne": run.id},
        }
        return [decode(SourceItem, row) async for row in self._collection.find(query).limit(limit)]

    async def mark_vanished(self, organization_id: str, source_id: str, run_id: str) -> None:
        """Mark the present items that a run has not seen."""
        await self._collection.update_many(
            _unseen(organization_id, source_id, run_id), {"$set": {"vanished_run_id": run_id}}
        )

    async def vanished(self, run: SourceRun, *, after: str | None, limit: int) -> list[SourceItem]:
        """Return items that a run has marked as vanished and not settled yet, by id."""
        query = _marked(run)
        if after is not None:
            query["_id"] = {"$gt": object_id(after)}
        return [decode(SourceItem, row) async for row in self._collection.find(query).sort("_id", 1).limit(limit)]

    async def unseen(
        self, organization_id: str, source_id: str, run_id: str, *, after: str | None, limit: int
    ) -> list[SourceItem]:
        """Return present items that a run has not seen, by id."""
        query = _unseen(organization_id, source_id, run_id)
        if after is not None:
            query["_id"] = {"$gt": object_id(after)}
        return [decode(SourceItem, row) async for row in self._collection.find(query).sort("_id", 1).limit(limit)]

    async def keep_vanished(
        self, session: Session, items: Sequence[SourceItem], *, given_tag_id: str | None = None
    ) -> None:
        """Record that the documents of vanished items stay, with a tag that they were given."""
        changes: Row = {"$set": {"vanished_at": clock.now()}}
        if given_tag_id is not None:
            changes["$addToSet"] = {"given_tag_ids": given_tag_id}
        for item in items[:1]:
            ids = object_ids([each.id for each in items])
            query = {**_of(item.organization_id, item.source_id), "_id": {"$in": ids}}
            await self._collection.update_many(query, changes, session=session)

    async def delete_some(
        self, session: Session, organization_id: str, source_id: str, items: Sequence[SourceItem]
    ) -> None:
        """Remove items."""
        await self._collection.delete_many(
            {**_of(organization_id, source_id), "_id": {"$in": object_ids([item.id for item in items])}},
            session=session,
        )

    async def delete_of_source(self, organization_id: str, source_id: str) -> None:
        """Remove the items of a deleted source."""
        await self._collection.delete_many(_of(organization_id, source_id))

    async def delete_of_document(self, organization_id: str, document_id: str) -> None:
        """Remove the item of a deleted document: the next run takes it in again if it still exists.

        A run that removes the document because its item vanished removes the item itself, and counts it.
        """
        query: Row = {"organization_id": organization_id, "document_id": document_id, "vanished_run_id": None}
        await self._collection.delete_many(query)


def _of(organization_id: str, source_id: str) -> Row:
    return {"organization_id": organization_id, "source_id": source_id}


def _marked(run: SourceRun) -> Row:
    return {**_of(run.organization_id, run.source_id), "vanished_run_id": run.id, "vanished_at": None}


def _unseen(organization_id: str, source_id: str, run_id: str) -> Row:
    return {
        **_of(organization_id, source_id),
        "seen_run_id": {"$ne": run_id},
        "vanished_at": None,
        "is_pushed": {"$ne": True},
    }
