"""Collection `kb_epochs`, with its log `kb_changes`."""

from collections.abc import AsyncGenerator, Collection, Sequence

from pymongo import IndexModel, ReturnDocument
from pymongo.read_concern import ReadConcern

from analytiq import clock
from analytiq.models.knowledge_base import Epoch
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from analytiq.storage.repositories.rows import Row
from analytiq.storage.session import Session

INDEXES = {
    "kb_changes": [
        IndexModel([("kb_id", 1), ("epoch", 1)], unique=True),
        IndexModel([("at", 1)], expireAfterSeconds=7 * 24 * 3600),
    ],
}


class EpochRepository:
    """Index versions: one counter and one change log a knowledge base; only commits and removals write to them."""

    def __init__(self, connection: MongoConnection) -> None:
        self._epochs = connection.database["kb_epochs"]
        self._changes = connection.database["kb_changes"]
        self._majority = self._epochs.with_options(read_concern=ReadConcern("majority"))
        self._majority_changes = self._changes.with_options(read_concern=ReadConcern("majority"))

    async def create(self, session: Session, kb_id: str, commit_id: str) -> None:
        """Begin at epoch 0."""
        await self._epochs.update_one(
            {"_id": object_id(kb_id)}, {"$setOnInsert": {"epoch": 0, "commit_id": commit_id}}, upsert=True,
            session=session,
        )  # fmt: skip

    async def read(self, kb_id: str, *, session: Session | None = None) -> Epoch | None:
        """Return the present epoch, on the primary at majority; None once deletion has begun."""
        # A transaction sets its own read concern.
        collection = self._majority if session is None else self._epochs
        row: Row | None = await collection.find_one({"_id": object_id(kb_id)}, session=session)
        return None if row is None else Epoch(kb_id=kb_id, epoch=row["epoch"], commit_id=row["commit_id"])

    async def advance(
        self, session: Session, kb_id: str, *, commit_id: str, added: str | None, removed: str | None
    ) -> int | None:
        """Increment the epoch and log the commit's changes; return None if the knowledge base is gone."""
        row: Row | None = await self._epochs.find_one_and_update(
            {"_id": object_id(kb_id)},
            {"$inc": {"epoch": 1}, "$set": {"commit_id": commit_id}},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        if row is None:
            return None
        # The row just written makes any rival conflict, so this insert cannot collide.
        await self._changes.insert_one(
            {
                "kb_id": kb_id,
                "epoch": row["epoch"],
                "commit_id": commit_id,
                "added": added,
                "removed": removed,
                "at": clock.now(),
            },
            session=session,
        )
        return int(row["epoch"])

    async def advance_many(
        self, session: Session, kb_id: str, changes: Sequence[tuple[str | None, str | None]]
    ) -> int | None:
        """Log several changes (added, removed), each with an epoch of its own, as so many calls of `advance` do.

        Returns the last epoch; None if the knowledge base is gone.
        """
        commit_ids = [new_id() for _ in changes]
        row: Row | None = await self._epochs.find_one_and_update(
            {"_id": object_id(kb_id)},
            {"$inc": {"epoch": len(changes)}, "$set": {"commit_id": commit_ids[-1]}},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        if row is None:
            return None
        first, now = int(row["epoch"]) - len(changes) + 1, clock.now()
        logged = [
            {
                "kb_id": kb_id,
                "epoch": first + number,
                "commit_id": commit_ids[number],
                "added": added,
                "removed": removed,
                "at": now,
            }
            for number, (added, removed) in enumerate(changes)
        ]
        await self._changes.insert_many(logged, session=session)
        return int(row["epoch"])

    async def watch_commits(self) -> AsyncGenerator[str]:
        """Yield the id of a knowledge base for each commit to it from now on, by a change stream."""
        stream = await self._changes.watch(
            [{"$match": {"operationType": "insert"}}, {"$project": {"fullDocument.kb_id": 1}}], max_await_time_ms=10_000
        )
        async with stream:
            async for change in stream:
                yield str(change["fullDocument"]["kb_id"])

    async def latest_change(self, kb_id: str, *, session: Session | None = None) -> int:
        """Return the last epoch of the log, at majority; 0 where the log is empty."""
        collection = self._majority_changes if session is None else self._changes
        row: Row | None = await collection.find_one(
            {"kb_id": kb_id}, {"epoch": 1}, sort=[("epoch", -1)], session=session
        )
        return 0 if row is None else int(row["epoch"])

    async def replaced_after(self, epoch: Epoch, generation_ids: Collection[str]) -> dict[str, str | None]:
        """Map those of the generations that commits after this epoch have put in to what they replaced, at majority."""
        later = {"kb_id": epoch.kb_id, "epoch": {"$gt": epoch.epoch}, "added": {"$in": list(generation_ids)}}
        cursor = self._majority_changes.find(later, {"added": 1, "removed": 1})
        return {str(row["added"]): row.get("removed") async for row in cursor}

    async def restart(self, session: Session, kb_id: str, *, epoch: int, commit_id: str) -> None:
        """Start a new history at `epoch`, which no logged change may have: every replica reloads."""
        await self._epochs.update_one(
            {"_id": object_id(kb_id)}, {"$set": {"epoch": epoch, "commit_id": commit_id}}, upsert=True, session=session
        )

    async def make_commits_conflict(self, session: Session, kb_id: str) -> None:
        """Make open commits restart and see this transaction's changes; the epoch stays."""
        await self._epochs.update_one({"_id": object_id(kb_id)}, {"$inc": {"conflicts": 1}}, session=session)

    async def delete(self, session: Session, kb_id: str) -> None:
        """Delete the epoch, so that no open commit can match."""
        await self._epochs.delete_one({"_id": object_id(kb_id)}, session=session)

    async def delete_changes(self, kb_id: str) -> None:
        """Remove the log of a deleted knowledge base."""
        await self._changes.delete_many({"kb_id": kb_id})
