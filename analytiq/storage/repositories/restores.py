"""Collection `restores`: restores in progress, with their leases and id maps."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.storage.client import MongoConnection, Row
from analytiq.storage.ids import new_id, object_id
from analytiq.storage.session import Session

LEASE_SECONDS = 120.0

INDEXES = {"restores": [IndexModel([("organization_id", 1)]), IndexModel([("source_organization_id", 1)])]}


class IdMap:
    """Old ids to new ones: the same, or fresh ones that are computed, so that no table grows with the archive.

    A fresh id keeps the second of the old one, since rows are sorted by their ids, and takes its other eight bytes
    from a digest with a salt of this restore: another restore of the same archive gets other ids.
    """

    def __init__(self, salt: bytes | None) -> None:
        self._salt = salt

    @property
    def is_fresh(self) -> bool:
        """True if the restore changes ids."""
        return self._salt is not None

    def new(self, value: Any) -> Any:
        """Return the new form of an id: an ObjectId, its hex digits, or a list of either; None stays None."""
        if self._salt is None or value is None:
            return value
        if isinstance(value, ObjectId):
            digest = hashlib.sha256(self._salt + value.binary).digest()
            return ObjectId(value.binary[:4] + digest[:8])
        if isinstance(value, str):
            return str(self.new(ObjectId(value))) if ObjectId.is_valid(value) else value
        if isinstance(value, list):
            return [self.new(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        raise TypeError(f"{type(value).__name__} is no id")

    def rewrite(self, row: Row, paths: Sequence[str]) -> None:
        """Replace every id of a row; skip missing paths."""
        if self._salt is None:
            return
        for path in paths:
            self._rewrite(row, path.removesuffix("[]").split("."))

    def _rewrite(self, place: Any, path: Sequence[str]) -> None:
        if not isinstance(place, dict):
            return
        name, *rest = path
        name = name.removesuffix("[]")
        if name not in place:
            return
        if not rest:
            place[name] = self.new(place[name])
            return
        below: Any = place[name]  # pyright: ignore[reportUnknownVariableType]
        items: list[Any] = below if isinstance(below, list) else [below]  # pyright: ignore[reportUnknownVariableType]
        for item in items:
            self._rewrite(item, rest)


@dataclass(frozen=True, slots=True)
class RestoreRun:
    """A restore under this process's lease: from one organization of an archive to one of this database."""

    id: str
    source_organization_id: str
    organization_id: str
    ids: IdMap
    sections_done: int
    lease_token: str


class RestoreRepository:
    """Restores in progress; the transaction that makes the organization visible deletes the row."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["restores"]

    async def begin(self, source_organization_id: str, archive: str, *, is_fresh: bool) -> tuple[RestoreRun, bool]:
        """Resume a killed restore of this archive, else begin one; return the run and True if it is resumed.

        Raises:
            ConflictError: a restore is running, or one of another archive was left unfinished.
        """
        token = new_id()
        query: Row = {"source_organization_id": source_organization_id, "is_fresh": is_fresh}
        expired: Row = {**query, "archive": archive, "$expr": {"$lt": ["$lease_expires_at", "$$NOW"]}}
        taken: Row | None = await self._collection.find_one_and_update(
            expired, [{"$set": {"lease_token": token, "lease_expires_at": _expiry()}}]
        )
        if taken is not None:
            return _run({**taken, "lease_token": token}), True
        left: Row | None = await self._collection.find_one(query)
        if left is not None and not (is_fresh and left["archive"] != archive):
            raise _under_way(left, archive)
        salt = secrets.token_bytes(16) if is_fresh else None
        restore_id = ObjectId()
        row: Row = {
            "source_organization_id": source_organization_id,
            "organization_id": IdMap(salt).new(source_organization_id),
            "is_fresh": is_fresh,
            "archive": archive,
            "salt": salt,
            "sections_done": 0,
            "lease_token": token,
            "started_at": clock.now(),
        }
        fields: Row = {name: {"$literal": value} for name, value in row.items()}
        # With kept ids there is one restore for each organization, even if two begin at the same moment.
        key = restore_id if is_fresh else object_id(source_organization_id, what="organization")
        try:
            await self._collection.update_one(
                {"_id": key, "lease_token": token},
                [{"$set": {**fields, "lease_expires_at": _expiry()}}],
                upsert=True,
            )
        except DuplicateKeyError as error:
            raise _under_way(row, archive) from error
        return _run({**row, "_id": key}), False

    async def renew(self, run: RestoreRun) -> bool:
        """Extend the lease; return False if it is lost."""
        result = await self._collection.update_one(_held(run), [{"$set": {"lease_expires_at": _expiry()}}])
        return result.matched_count == 1

    async def note_section(self, run: RestoreRun, sections_done: int) -> bool:
        """Record the number of restored sections at majority; return False if the lease is lost."""
        result = await self._collection.update_one(_held(run), {"$set": {"sections_done": sections_done}})
        return result.matched_count == 1

    async def end(self, run: RestoreRun, *, session: Session | None = None) -> bool:
        """Delete the row of a finished or reverted restore; return False if the lease is lost."""
        result = await self._collection.delete_one(_held(run), session=session)
        return result.deleted_count == 1

    async def expire(self, run: RestoreRun) -> None:
        """Expire the lease, so that the next restore resumes at once."""
        await self._collection.update_one(_held(run), [{"$set": {"lease_expires_at": "$$NOW"}}])


def _run(row: Row) -> RestoreRun:
    return RestoreRun(
        id=str(row["_id"]),
        source_organization_id=row["source_organization_id"],
        organization_id=row["organization_id"],
        ids=IdMap(row["salt"]),
        sections_done=row["sections_done"],
        lease_token=row["lease_token"],
    )


def _held(run: RestoreRun) -> Row:
    return {"_id": object_id(run.id), "lease_token": run.lease_token}


def _expiry() -> Row:
    return {"$add": ["$$NOW", int(LEASE_SECONDS * 1000)]}


def _under_way(left: Row, archive: str) -> ConflictError:
    organization_id = left["organization_id"]
    if left["archive"] == archive:
        return ConflictError(
            f"This archive is being restored into the organization {organization_id} right now. If that process was"
            f" killed, run this again {LEASE_SECONDS:g} s after its last heartbeat.",
            code="restore_running",
        )
    return ConflictError(
        f"Another archive was restored into the organization {organization_id} only in part. Restore that one again,"
        f" or remove what there is with `analytiq erase organization {organization_id}`.",
        code="restore_unfinished",
    )
