"""Collection `audit_log`: actions of people and tokens in an organization; append-only."""

from collections.abc import Sequence
from datetime import datetime

from pymongo import IndexModel

from analytiq.models.audit import AuditEntry
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row, decode, encode

INDEXES = {
    "audit_log": [
        IndexModel([("organization_id", 1), ("at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("action", 1), ("at", -1)]),
        IndexModel([("at", 1)]),
    ]
}


class AuditLogRepository:
    """Audit entries of an organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["audit_log"]

    async def add(self, entries: Sequence[AuditEntry]) -> None:
        """Record an action."""
        if entries:
            await self._collection.insert_many([encode(entry) for entry in entries], ordered=False)

    async def page(
        self,
        organization_id: str,
        *,
        action: str | None,
        actor_id: str | None,
        since: datetime | None,
        until: datetime | None,
        skip: int,
        limit: int,
    ) -> tuple[list[AuditEntry], int]:
        """Return a page of entries within [since, until), latest first, and the total count."""
        query: Row = {"organization_id": organization_id}
        if action is not None:
            query["action"] = action
        if actor_id is not None:
            query["actor.id"] = actor_id
        if since is not None or until is not None:
            query["at"] = {key: value for key, value in (("$gte", since), ("$lt", until)) if value is not None}
        cursor = self._collection.find(query).sort([("at", -1), ("_id", -1)]).skip(skip).limit(limit)
        return [decode(AuditEntry, row) async for row in cursor], await self._collection.count_documents(query)

    async def forget_before(self, moment: datetime) -> int:
        """Delete older entries, of every organization; return their number."""
        return (await self._collection.delete_many({"at": {"$lt": moment}})).deleted_count
