"""Collection `erasures`: requests, progress and proofs of erasures; tombstones of erased organizations."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.document import Failure
from analytiq.models.erasure import Erasure, ErasureKind, ErasureState
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

LEASE_SECONDS = 60.0

INDEXES = {
    "erasures": [
        IndexModel([("organization_id", 1), ("requested_at", -1), ("_id", -1)]),
        IndexModel([("state", 1), ("lease_expires_at", 1)]),
        # One erasure of an organization at a time.
        IndexModel(
            [("organization_id", 1)],
            name="one_of_an_organization_at_a_time",
            unique=True,
            partialFilterExpression={"is_open": True},
        ),
        IndexModel([("is_watched", 1), ("finished_at", 1)]),
    ],
}


class ErasureRepository:
    """Erasures by id, and by organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["erasures"]
        self._majority = connection.majority["erasures"]

    async def insert(self, erasure: Erasure) -> None:
        """Store a request.

        Raises:
            ConflictError: the whole organization is being erased already.
        """
        is_open = erasure.kind is ErasureKind.ORGANIZATION and not erasure.is_dry_run
        try:
            await self._collection.insert_one({**encode(erasure), **({"is_open": True} if is_open else {})})
        except DuplicateKeyError as error:
            raise ConflictError(
                "The organization is already being erased. Follow the progress with `analytiq erase list`.",
                code="erasure_running",
            ) from error

    async def get(self, erasure_id: str) -> Erasure | None:
        """Return the erasure with this id, of any organization; for operators and for the job that runs it."""
        ids = object_ids([erasure_id])
        row: Row | None = await self._majority.find_one({"_id": ids[0]}) if ids else None
        return decode(Erasure, row) if row else None

    async def of_organization(self, organization_id: str, erasure_id: str) -> Erasure | None:
        """Return the organization's erasure with this id."""
        found = await self.get(erasure_id)
        return found if found is not None and found.organization_id == organization_id else None

    async def page(self, organization_id: str | None, *, skip: int, limit: int) -> tuple[list[Erasure], int]:
        """Return a page of erasures, of one organization or of all, latest first, and the total count."""
        query: Row = {} if organization_id is None else {"organization_id": organization_id}
        cursor = self._collection.find(query).sort([("requested_at", -1), ("_id", -1)]).skip(skip).limit(limit)
        return [decode(Erasure, row) async for row in cursor], await self._collection.count_documents(query)

    async def open_of(self, organization_id: str) -> Erasure | None:
        """Return the unfinished erasure of the whole organization."""
        row: Row | None = await self._majority.find_one({"organization_id": organization_id, "is_open": True})
        return decode(Erasure, row) if row else None

    async def finished_since(self, organization_id: str, moment: datetime) -> list[Erasure]:
        """Return the organization's erasures since the moment, without dry runs."""
        query: Row = {
            "organization_id": organization_id,
            "is_dry_run": False,
            "kind": {"$in": [ErasureKind.ORGANIZATION.value, ErasureKind.DOCUMENTS.value]},
            "requested_at": {"$gte": moment},
        }
        return [decode(Erasure, row) async for row in self._majority.find(query)]

    async def take(self, erasure_id: str, token: str) -> Erasure | None:
        """Take the lease of an unfinished erasure; return None if another process has it, or it is finished."""
        await self._collection.update_one(
            {
                "_id": object_id(erasure_id),
                "state": {"$ne": ErasureState.DONE.value},
                "$or": [
                    {"lease_token": {"$in": [None, token]}},
                    {"$expr": {"$lt": ["$lease_expires_at", "$$NOW"]}},
                ],
            },
            [{"$set": {"lease_token": token, "lease_expires_at": _expiry()}}],
        )
        row: Row | None = await self._majority.find_one({"_id": object_id(erasure_id), "lease_token": token})
        return decode(Erasure, row) if row else None

    async def renew(self, erasure: Erasure) -> bool:
        """Extend the lease; return False if it is lost."""
        result = await self._collection.update_one(_held(erasure), [{"$set": {"lease_expires_at": _expiry()}}])
        return result.matched_count == 1

    async def let_go(self, erasure: Erasure, failure: Failure | None = None) -> None:
        """Release the lease, and record the error that stopped the erasure."""
        changes: Row = {"lease_token": None, "lease_expires_at": None}
        if failure is not None:
            changes["error"] = failure.model_dump()
        await self._collection.update_one(_held(erasure), {"$set": changes})

    async def note(
        self, erasure: Erasure, changes: Mapping[str, object], *, session: Session | None = None
    ) -> Erasure | None:
        """Set fields of an erasure under this process's lease; return None if the lease is lost."""
        result = await self._collection.update_one(_held(erasure), {"$set": dict(changes)}, session=session)
        return erasure.model_copy(update=dict(changes)) if result.matched_count else None

    async def add_counts(self, erasure: Erasure, counts: Mapping[str, int], *, documents: int = 0) -> None:
        """Add to the counts of erased rows."""
        added = {f"counts.{_key(name)}": count for name, count in counts.items() if count}
        if added or documents:
            await self._collection.update_one(_held(erasure), {"$inc": {**added, "documents": documents}})

    async def add_documents(
        self, erasure: Erasure, document_ids: Sequence[str], *, holder_ids: Collection[str] = ()
    ) -> bool:
        """Record documents before their deletion, and those around them; return False if the lease is lost."""
        added: Row = {"document_ids": {"$each": list(document_ids)}, "holder_ids": {"$each": sorted(holder_ids)}}
        result = await self._collection.update_one(_held(erasure), {"$addToSet": added})
        return result.matched_count == 1

    async def finish(self, erasure: Erasure, *, is_watched: bool) -> bool:
        """Mark the erasure as proved; return False if the lease is lost."""
        result = await self._collection.update_one(
            _held(erasure),
            {
                "$set": {
                    "state": ErasureState.DONE.value,
                    "left": {},
                    # Names and values in the selection are personal data too; the ids identify the erased documents.
                    "selection": None,
                    "is_watched": is_watched,
                    "error": None,
                    "lease_token": None,
                    "lease_expires_at": None,
                    "finished_at": clock.now(),
                },
                "$unset": {"is_open": ""},
            },
        )
        return result.matched_count == 1

    async def open_again(self, erasure_id: str) -> None:
        """Reopen the erasure: rows have reappeared and must be erased again."""
        await self._collection.update_one(
            {"_id": object_id(erasure_id), "state": ErasureState.DONE.value, "is_watched": True},
            {"$set": {"state": ErasureState.ERASING.value, "finished_at": None}},
        )

    async def watched_since(self, moment: datetime) -> list[Erasure]:
        """Return organizations erased since the moment, whose rows must not reappear."""
        query: Row = {"is_watched": True, "finished_at": {"$gte": moment}}
        return [decode(Erasure, row) async for row in self._majority.find(query)]

    async def left_behind(self) -> list[Erasure]:
        """Return unfinished erasures that no process works on."""
        unfinished = [ErasureState.REQUESTED.value, ErasureState.ERASING.value, ErasureState.PROVING.value]
        free: Sequence[Row] = [{"lease_token": None}, {"$expr": {"$lt": ["$lease_expires_at", "$$NOW"]}}]
        query: Row = {"state": {"$in": unfinished}, "$or": list(free)}
        return [decode(Erasure, row) async for row in self._majority.find(query)]


def _key(name: str) -> str:
    """Return a collection's name as a field name, without dots, which would make paths."""
    return name.replace(".", "_")


def _held(erasure: Erasure) -> Row:
    return {"_id": object_id(erasure.id), "lease_token": erasure.lease_token}


def _expiry() -> Row:
    return {"$add": ["$$NOW", int(LEASE_SECONDS * 1000)]}
