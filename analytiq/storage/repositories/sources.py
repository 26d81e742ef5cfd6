"""Collection `sources`: places elsewhere whose items become documents."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from pymongo import IndexModel, ReturnDocument
from pymongo.errors import DuplicateKeyError

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.document import Failure
from analytiq.models.source import ChangesPosition, Source, SourceRun
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "sources": [
        IndexModel([("organization_id", 1), ("name", 1)], unique=True),
        IndexModel([("organization_id", 1), ("tag_ids", 1)]),
        IndexModel([("next_run_at", 1)], partialFilterExpression={"next_run_at": {"$type": "date"}}),
        IndexModel([("is_pending", 1)], partialFilterExpression={"is_pending": True}),
        IndexModel([("is_deleted", 1)], partialFilterExpression={"is_deleted": True}),
    ],
}
MOST_PENDING = 1000
"""Most noted items of a source."""


class SourceRepository:
    """Sources of an organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["sources"]

    async def insert(self, source: Source) -> None:
        """Store a new source.

        Raises:
            ConflictError: the organization has a source of that name.
        """
        try:
            await self._collection.insert_one(encode(source))
        except DuplicateKeyError as error:
            raise _name_taken(source.name) from error

    async def get(self, organization_id: str, source_id: str, *, session: Session | None = None) -> Source | None:
        """Return the organization's source with this id, also one that is being deleted."""
        ids = object_ids([source_id])
        if not ids:
            return None
        query: Row = {"_id": ids[0], "organization_id": organization_id}
        row: Row | None = await self._collection.find_one(query, session=session)
        return decode(Source, row) if row else None

    async def named(self, organization_id: str, name: str) -> Source | None:
        """Return the organization's source with this name, unless it is being deleted."""
        query: Row = {"organization_id": organization_id, "name": name, "is_deleted": False}
        row: Row | None = await self._collection.find_one(query)
        return decode(Source, row) if row else None

    async def page(
        self, organization_id: str, *, name_search: str | None, skip: int, limit: int
    ) -> tuple[list[Source], int]:
        """Return a page of sources by name, without deleted ones, and the total count of matches."""
        wanted: Row = {"organization_id": organization_id, "is_deleted": False}
        if name_search:
            wanted["name"] = {"$regex": re.escape(name_search), "$options": "i"}
        cursor = self._collection.find(wanted).sort("name", 1).skip(skip).limit(limit)
        found = [decode(Source, row) async for row in cursor]
        return found, await self._collection.count_documents(wanted)

    async def change(self, source: Source, names: Collection[str]) -> Source | None:
        """Replace these fields by those of `source`; return None if it was deleted.

        Raises:
            ConflictError: the organization has another source of that name.
        """
        row = encode(source)
        changes: Row = {name: row[name] for name in names}
        try:
            changed: Row | None = await self._collection.find_one_and_update(
                {"_id": object_id(source.id), "organization_id": source.organization_id, "is_deleted": False},
                {"$set": {**changes, "updated_at": clock.now()}},
                return_document=ReturnDocument.AFTER,
            )
        except DuplicateKeyError as error:
            raise _name_taken(source.name) from error
        return decode(Source, changed) if changed else None

    async def hold(self, session: Session, organization_id: str, source_id: str) -> bool:
        """Conflict with a concurrent deletion; return False if the source is deleted."""
        result = await self._collection.update_one(
            {"_id": object_id(source_id), "organization_id": organization_id, "is_deleted": False},
            {"$inc": {"holds": 1}},
            session=session,
        )
        return result.matched_count == 1

    async def mark_deleted(
        self,
        session: Session,
        source: Source,
        *,
        free_name: str,
        deletes_documents: bool,
        deletes_tag_ids: Sequence[str] = (),
    ) -> Source | None:
        """Hide the source until a job has removed its rows; return None if it was deleted before."""
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": object_id(source.id), "organization_id": source.organization_id, "is_deleted": False},
            {
                "$set": {
                    "is_deleted": True,
                    "deletes_documents": deletes_documents,
                    "deletes_tag_ids": list(deletes_tag_ids),
                    "name": free_name,
                    "next_run_at": None,
                    "credentials": None,
                    "updated_at": clock.now(),
                }
            },
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return decode(Source, row) if row else None

    async def delete(self, organization_id: str, source_id: str) -> None:
        """Remove the row of a deleted source."""
        await self._collection.delete_one(
            {"_id": object_id(source_id), "organization_id": organization_id, "is_deleted": True}
        )

    async def names_with_tag(self, organization_id: str, tag_id: str) -> list[str]:
        """Return the names of the sources that give documents the tag."""
        query: Row = {
            "organization_id": organization_id,
            "is_deleted": False,
            "$or": [{"tag_ids": tag_id}, {"vanished_tag_id": tag_id}],
        }
        return [str(row["name"]) async for row in self._collection.find(query, {"name": 1}).sort("name", 1)]

    async def due(self, now: datetime, limit: int) -> list[Source]:
        """Return sources of all organizations whose next run is due, longest wait first."""
        query: Row = {"next_run_at": {"$lte": now}, "is_deleted": False}
        return [decode(Source, row) async for row in self._collection.find(query).sort("next_run_at", 1).limit(limit)]

    async def being_deleted(self, limit: int) -> list[Source]:
        """Return deleted sources of all organizations that still have rows."""
        return [decode(Source, row) async for row in self._collection.find({"is_deleted": True}).limit(limit)]

    async def schedule_next(self, session: Session, source: Source, now: datetime) -> bool:
        """Move the next run one interval on; return False if it has been moved, or the source changed."""
        if source.interval_seconds is None:
            return False
        result = await self._collection.update_one(
            {
                "_id": object_id(source.id),
                "organization_id": source.organization_id,
                "is_deleted": False,
                "next_run_at": source.next_run_at,
                "interval_seconds": source.interval_seconds,
            },
            {"$set": {"next_run_at": now + timedelta(seconds=source.interval_seconds)}},
            session=session,
        )
        return result.matched_count == 1

    async def keep_position(self, session: Session, run: SourceRun, position: ChangesPosition | None) -> None:
        """Store the position behind a complete run, unless the settings changed since it began."""
        await self._collection.update_one(
            {
                "_id": object_id(run.source_id),
                "organization_id": run.organization_id,
                "is_deleted": False,
                "settings_id": run.settings_id,
            },
            {"$set": {"position": position.model_dump() if position else None}},
            session=session,
        )

    async def note_problem(
        self, run: SourceRun, problem: Failure | None, *, pauses_until: datetime | None = None
    ) -> None:
        """Store why a run failed, or that one did not; a scheduled source may run no sooner than `pauses_until`."""
        changes: Row = {"problem": {"$literal": problem.model_dump() if problem else None}}
        if pauses_until is not None:
            is_scheduled: Row = {"$ne": [{"$ifNull": ["$next_run_at", None]}, None]}
            later: Row = {"$max": ["$next_run_at", pauses_until]}
            changes["next_run_at"] = {"$cond": [is_scheduled, later, None]}
        query: Row = {"_id": object_id(run.source_id), "organization_id": run.organization_id, "is_deleted": False}
        await self._collection.update_one(query, [{"$set": changes}])

    async def keep_credentials(self, source: Source, credentials: str) -> bool:
        """Store credentials that the connector renewed; return False if a person changed them, or the source is gone.

        The encryption under another secret key in between does not count as a change.
        """
        result = await self._collection.update_one(
            {
                "_id": object_id(source.id),
                "organization_id": source.organization_id,
                "is_deleted": False,
                "credentials_id": source.credentials_id,
            },
            {"$set": {"credentials": credentials}},
        )
        return result.matched_count == 1

    async def note_pending(self, source: Source, external_ids: Sequence[str], *, is_whole: bool) -> None:
        """Note items that the next run looks at; more than MOST_PENDING make it a run of the whole source."""
        key: Row = {
            "_id": object_id(source.id),
            "organization_id": source.organization_id,
            "is_deleted": False,
        }
        last = f"pending_ids.{max(0, MOST_PENDING - len(external_ids))}"
        if not is_whole and len(external_ids) <= MOST_PENDING:
            added = {"$addToSet": {"pending_ids": {"$each": list(external_ids)}}, "$set": {"is_pending": True}}
            result = await self._collection.update_one({**key, last: {"$exists": False}}, added)
            if result.matched_count:
                return
        await self._collection.update_one(key, {"$set": {"is_pending": True, "is_pending_whole": True}})

    async def take_pending(self, session: Session, source: Source) -> Source | None:
        """Forget the noted items, and return the source as it was; None if it has none, or was deleted."""
        row: Row | None = await self._collection.find_one_and_update(
            {
                "_id": object_id(source.id),
                "organization_id": source.organization_id,
                "is_deleted": False,
                "is_pending": True,
            },
            {"$set": {"is_pending": False, "is_pending_whole": False, "pending_ids": []}},
            session=session,
        )
        return decode(Source, row) if row else None

    async def pending(self, limit: int) -> list[Source]:
        """Return sources of all organizations with noted items."""
        query: Row = {"is_pending": True, "is_deleted": False}
        return [decode(Source, row) async for row in self._collection.find(query).limit(limit)]

    async def page_with_credentials(self, after: str | None, limit: int) -> list[Source]:
        """Return sources of all organizations with credentials, by id."""
        query: Row = {"credentials": {"$ne": None}}
        if after is not None:
            query["_id"] = {"$gt": object_id(after)}
        return [decode(Source, row) async for row in self._collection.find(query).sort("_id", 1).limit(limit)]

    async def replace_credentials(self, source: Source, credentials: str) -> None:
        """Store re-encrypted credentials, unless they changed since `source` was read."""
        await self._collection.update_one(
            {
                "_id": object_id(source.id),
                "organization_id": source.organization_id,
                "credentials": source.credentials,
            },
            {"$set": {"credentials": credentials}},
        )


def _name_taken(name: str) -> ConflictError:
    return ConflictError(
        f"The organization already has a source named {name!r}. Choose another name, or change that source.",
        code="source_name_taken",
    )
