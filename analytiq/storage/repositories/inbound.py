"""Collections `source_addresses` and `source_messages`: inbound addresses, and the messages that reached them."""

import hashlib
from collections.abc import Collection
from datetime import datetime, timedelta

from pymongo import IndexModel, ReturnDocument
from pymongo.errors import DuplicateKeyError

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.inbound import InboundAddress, MessageState
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode, encode

REMEMBERED_SECONDS = 86_400
"""Time for which a message is known: senders try again for hours."""
MOST_ATTEMPTS = 50
"""Remembered attempts of a message."""
INDEXES = {
    "source_addresses": [
        IndexModel([("organization_id", 1), ("source_id", 1)], unique=True),
        IndexModel([("address", 1)], unique=True),
    ],
    "source_messages": [
        IndexModel([("organization_id", 1), ("source_id", 1)]),
        IndexModel([("expires_at", 1)], expireAfterSeconds=0),
    ],
}


class InboundRepository:
    """Inbound addresses of an organization's sources."""

    def __init__(self, connection: MongoConnection) -> None:
        self._addresses = connection.database["source_addresses"]
        self._messages = connection.database["source_messages"]

    async def insert(self, address: InboundAddress) -> None:
        """Store a new address.

        Raises:
            ConflictError: the source has one.
        """
        try:
            await self._addresses.insert_one(encode(address))
        except DuplicateKeyError as error:
            raise ConflictError("The source has an inbound address. Reload it, then try again.") from error

    async def get(self, organization_id: str, source_id: str) -> InboundAddress | None:
        """Return the address of a source."""
        row: Row | None = await self._addresses.find_one(_of(organization_id, source_id))
        return decode(InboundAddress, row) if row else None

    async def sources_with_address(self, organization_id: str, source_ids: Collection[str]) -> set[str]:
        """Return the ids of those sources that have an address."""
        query: Row = {"organization_id": organization_id, "source_id": {"$in": list(source_ids)}}
        return {row["source_id"] async for row in self._addresses.find(query, {"source_id": 1})}

    async def with_address(self, address: str) -> InboundAddress | None:
        """Return the row of an address, whoever owns it."""
        row: Row | None = await self._addresses.find_one({"address": address})
        return decode(InboundAddress, row) if row else None

    async def replace_secrets(self, address: InboundAddress, changed: InboundAddress) -> InboundAddress | None:
        """Store the secrets of `changed`; return None if they changed since `address` was read."""
        row: Row | None = await self._addresses.find_one_and_update(
            {
                "_id": object_id(address.id),
                **_of(address.organization_id, address.source_id),
                "secrets": encode(address)["secrets"],
            },
            {"$set": {"secrets": encode(changed)["secrets"]}},
            return_document=ReturnDocument.AFTER,
        )
        return decode(InboundAddress, row) if row else None

    async def delete_of_source(self, organization_id: str, source_id: str) -> bool:
        """Remove the address of a source with its messages; return False if it has none."""
        result = await self._addresses.delete_one(_of(organization_id, source_id))
        await self._messages.delete_many(_of(organization_id, source_id))
        return result.deleted_count == 1

    async def page_of_all(self, after: str | None, limit: int) -> list[InboundAddress]:
        """Return addresses of all organizations, by id."""
        query: Row = {} if after is None else {"_id": {"$gt": object_id(after)}}
        cursor = self._addresses.find(query).sort("_id", 1).limit(limit)
        return [decode(InboundAddress, row) async for row in cursor]

    async def begin_message(self, address: InboundAddress, message_id: str, sent_at: datetime | None) -> MessageState:
        """Record that a message has arrived; without a signed time, each arrival is a further attempt."""
        key = hashlib.sha256(f"{address.id}\n{message_id}".encode()).hexdigest()
        now = clock.now()
        attempt = (sent_at or now).isoformat()
        try:
            row: Row | None = await self._messages.find_one_and_update(
                {"_id": key, **_of(address.organization_id, address.source_id), "attempts": {"$ne": attempt}},
                {
                    "$push": {"attempts": {"$each": [attempt], "$slice": -MOST_ATTEMPTS}},
                    "$setOnInsert": {"is_done": False, "expires_at": now + timedelta(seconds=REMEMBERED_SECONDS)},
                },
                upsert=True,
                return_document=ReturnDocument.BEFORE,
            )
        except DuplicateKeyError:
            return MessageState.REPLAYED
        if row is None:
            return MessageState.NEW
        return MessageState.DONE if row["is_done"] else MessageState.AGAIN

    async def finish_message(self, address: InboundAddress, message_id: str) -> None:
        """Record that a message is done."""
        key = hashlib.sha256(f"{address.id}\n{message_id}".encode()).hexdigest()
        of_source = _of(address.organization_id, address.source_id)
        await self._messages.update_one({"_id": key, **of_source}, {"$set": {"is_done": True}})
        await self._addresses.update_one(
            {"_id": object_id(address.id), **of_source}, {"$set": {"last_push_at": clock.now()}}
        )


def _of(organization_id: str, source_id: str) -> Row:
    return {"organization_id": organization_id, "source_id": source_id}
