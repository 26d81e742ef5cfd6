"""Collection `idempotency_keys`."""

from datetime import datetime

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from analytiq.models.idempotency import KeptAnswer
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row, decode

INDEXES = {"idempotency_keys": [IndexModel([("expires_at", 1)], expireAfterSeconds=0)]}


class IdempotencyRepository:
    """Answers by key, for a day."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["idempotency_keys"]

    async def begin(self, wanted: KeptAnswer, *, now: datetime) -> KeptAnswer | None:
        """Take the key; None where it is ours now, else what is kept under it.

        A call whose process died in the middle holds its key until its lease runs out.
        """
        row: Row = wanted.model_dump()
        row["_id"] = row.pop("id")
        query = {"_id": wanted.id, "organization_id": wanted.organization_id}
        stale: Row = {**query, "status": None, "lease_expires_at": {"$lt": now}}
        while True:
            try:
                await self._collection.insert_one(row)
            except DuplicateKeyError:
                if (await self._collection.replace_one(stale, row)).matched_count:
                    return None
                kept: Row | None = await self._collection.find_one(query)
                if kept is not None:
                    return decode(KeptAnswer, kept)
                # Released between the two: take it.
            else:
                return None

    async def keep(self, answer: KeptAnswer, *, status: int, content_type: str, body: bytes) -> None:
        """Keep the answer of the call that came first."""
        await self._collection.update_one(
            {"_id": answer.id, "organization_id": answer.organization_id},
            {"$set": {"status": status, "content_type": content_type, "body": body}},
        )

    async def release(self, answer: KeptAnswer) -> None:
        """Return the call failed in a way that may pass: let the next one try."""
        await self._collection.delete_one({"_id": answer.id, "organization_id": answer.organization_id})

    async def page_of_encrypted(self, after: str | None, limit: int) -> list[KeptAnswer]:
        """So many kept answers that have a body, of all organizations, by id, after this one."""
        query: Row = {"body": {"$nin": [None, b""]}, **({} if after is None else {"_id": {"$gt": after}})}
        return [decode(KeptAnswer, row) async for row in self._collection.find(query).sort("_id", 1).limit(limit)]

    async def replace_body(self, answer: KeptAnswer, body: bytes) -> None:
        """Return the same answer, encrypted anew."""
        await self._collection.update_one(
            {"_id": answer.id, "organization_id": answer.organization_id, "body": answer.body},
            {"$set": {"body": body}},
        )
