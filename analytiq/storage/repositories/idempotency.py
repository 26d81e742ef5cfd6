"""Collection `idempotency_keys`."""

from pymongo import IndexModel, ReturnDocument
from pymongo.errors import DuplicateKeyError

from analytiq.models.idempotency import KeptAnswer
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.job_expressions import in_seconds
from analytiq.storage.repositories.rows import Row, decode

INDEXES = {"idempotency_keys": [IndexModel([("expires_at", 1)], expireAfterSeconds=0)]}


class IdempotencyRepository:
    """Stored answers by idempotency key, kept for a day."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["idempotency_keys"]

    async def begin(self, wanted: KeptAnswer, *, lease_seconds: float) -> KeptAnswer | None:
        """Take the key; return None if the caller now has it, else the answer stored under it.

        A call whose process died holds its key until the lease expires, by the server's clock.
        """
        row: Row = wanted.model_dump()
        row["_id"] = row.pop("id")
        # A new row has no lease yet: a missing lease sorts before every date.
        is_free: Row = {
            "$and": [{"$lt": ["$lease_expires_at", "$$NOW"]}, {"$eq": [{"$ifNull": ["$status", None]}, None]}]
        }
        taken: Row = {"$mergeObjects": [{"$literal": row}, {"lease_expires_at": in_seconds(lease_seconds)}]}
        while True:
            try:
                kept: Row | None = await self._collection.find_one_and_update(
                    {"_id": wanted.id},
                    [{"$replaceWith": {"$cond": [is_free, taken, "$$ROOT"]}}],
                    upsert=True,
                    return_document=ReturnDocument.AFTER,
                )
            except DuplicateKeyError:
                continue  # another call created the row between the server's read and its write
            answer = decode(KeptAnswer, kept or row)
            return None if answer.lease_token == wanted.lease_token else answer

    async def renew(self, answer: KeptAnswer, *, lease_seconds: float) -> None:
        """Renew the lease of a running call."""
        await self._collection.update_one(_held(answer), [{"$set": {"lease_expires_at": in_seconds(lease_seconds)}}])

    async def keep(self, answer: KeptAnswer, *, status: int, content_type: str, body: bytes) -> None:
        """Store the answer of the first call, unless another call has taken the expired key over."""
        await self._collection.update_one(
            _held(answer), {"$set": {"status": status, "content_type": content_type, "body": body}}
        )

    async def release(self, answer: KeptAnswer) -> None:
        """Release the key of a call that failed temporarily, so that the next one may try."""
        await self._collection.delete_one(_held(answer))

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


def _held(answer: KeptAnswer) -> Row:
    return {"_id": answer.id, "organization_id": answer.organization_id, "lease_token": answer.lease_token}
