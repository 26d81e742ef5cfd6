"""Collection `idempotency_keys`."""

from datetime import datetime

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from analytiq.models.idempotency import KeptAnswer
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row, decode

INDEXES = {"idempotency_keys": [IndexModel([("expires_at", 1)], expireAfterSeconds=0)]}


class IdempotencyRepository:
    """Stored answers by idempotency key, kept for a day."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["idempotency_keys"]

    async def begin(self, wanted: KeptAnswer, *, now: datetime) -> KeptAnswer | None:
        """Take the key; return None if the caller now has it, else the answer stored under it.

        A call whose process died holds its key until the lease expires.
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
        """Store the answer of the first call."""
        await self._collection.update_one(
            {"_id": answer.id, "organization_id": answer.organization_id},
            {"$set": {"status": status, "content_type": content_type, "body": body}},
        )

    async def release(self, answer: KeptAnswer) -> None:
        """Release the key of a call that failed temporarily, so that the next one may try."""
        await self._collection.delete_one({"_id": answer.id, "organization_id": answer.organization_id})

    async def page_of_encrypted(self, after: str | None, limit: int) -> list[KeptAnswer]:
        """Return the next stored answers with a body behind this id, of all organizations, in order of id."""
        query: Row = {"body": {"$nin": [None, b""]}, **({} if after is None else {"_id": {"$gt": after}})}
        return [decode(KeptAnswer, row) async for row in self._collection.find(query).sort("_id", 1).limit(limit)]

    async def replace_body(self, answer: KeptAnswer, body: bytes) -> None:
        """Replace the encrypted body of an answer by a re-encrypted one."""
        await self._collection.update_one(
            {"_id": answer.id, "organization_id": answer.organization_id, "body": answer.body},
            {"$set": {"body": body}},
        )
