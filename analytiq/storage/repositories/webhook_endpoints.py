"""Collection `webhook_endpoints`: addresses of organizations that receive events.

Every change raises the version of all endpoints in its transaction, by which processes notice it: see
`analytiq.storage.repositories.webhook_outbox`. The lease of the process that delivers is part of the row.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TypeVar

from pymongo import IndexModel, ReturnDocument

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.webhook import DisablingCause, WebhookEndpoint
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.repositories.webhook_outbox import VERSION_ID, forget_known
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

INDEXES = {"webhook_endpoints": [IndexModel([("organization_id", 1), ("_id", 1)])]}

MOST_ENDPOINTS = 20
"""Endpoints of an organization: each costs a row for each event."""
T = TypeVar("T")
_LEASE = ("token", "leased_until")


class WebhookEndpointRepository:
    """Endpoints by organization, and the leases of those who deliver to them."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection
        self._endpoints = connection.database["webhook_endpoints"]
        self._versions = connection.database["runtime_settings"]

    async def insert(self, endpoint: WebhookEndpoint) -> None:
        """Store a new endpoint.

        Raises:
            ConflictError: the organization has MOST_ENDPOINTS.
        """

        async def commit(session: Session) -> None:
            # First, so that two that are made at once conflict, and the second one counts the first.
            await self.raise_version(session)
            of_organization = {"organization_id": endpoint.organization_id}
            if await self._endpoints.count_documents(of_organization, session=session) >= MOST_ENDPOINTS:
                raise ConflictError(
                    f"The organization has {MOST_ENDPOINTS} webhook endpoints, the most it may have. Delete one."
                )
            await self._endpoints.insert_one(encode(endpoint), session=session)

        await self._run(commit)

    async def get(self, organization_id: str, endpoint_id: str) -> WebhookEndpoint | None:
        """Return an endpoint of the organization."""
        row: Row | None = await self._endpoints.find_one(_of(organization_id, endpoint_id))
        return decode(WebhookEndpoint, row) if row else None

    async def of_organization(self, organization_id: str) -> list[WebhookEndpoint]:
        """Return the organization's endpoints, oldest first."""
        cursor = self._endpoints.find({"organization_id": organization_id}).sort("_id", 1)
        return [decode(WebhookEndpoint, row) async for row in cursor]

    async def with_ids(self, endpoint_ids: Collection[str]) -> dict[str, WebhookEndpoint]:
        """Return endpoints of all organizations by id."""
        cursor = self._endpoints.find({"_id": {"$in": object_ids(set(endpoint_ids))}}, {"secrets": 0})
        return {str(row["_id"]): decode(WebhookEndpoint, row) async for row in cursor}

    async def change(self, endpoint: WebhookEndpoint, fields: Sequence[str]) -> WebhookEndpoint | None:
        """Store the named fields of an endpoint; return None if it is gone."""
        row = encode(endpoint)

        async def commit(session: Session) -> Row | None:
            await self.raise_version(session)
            return await self._endpoints.find_one_and_update(
                _of(endpoint.organization_id, endpoint.id),
                {"$set": {**{name: row[name] for name in fields}, "updated_at": clock.now()}},
                return_document=ReturnDocument.AFTER,
                session=session,
            )

        changed = await self._run(commit)
        return decode(WebhookEndpoint, changed) if changed else None

    async def replace_secrets(self, endpoint: WebhookEndpoint, changed: WebhookEndpoint) -> WebhookEndpoint | None:
        """Store the secrets of `changed`; return None if they changed since `endpoint` was read."""
        row: Row | None = await self._endpoints.find_one_and_update(
            {**_of(endpoint.organization_id, endpoint.id), "secrets": encode(endpoint)["secrets"]},
            {"$set": {"secrets": encode(changed)["secrets"]}},
            return_document=ReturnDocument.AFTER,
        )
        return decode(WebhookEndpoint, row) if row else None

    async def delete(self, organization_id: str, endpoint_id: str) -> bool:
        """Remove an endpoint; return False if there is none."""

        async def commit(session: Session) -> int:
            await self.raise_version(session)
            result = await self._endpoints.delete_one(_of(organization_id, endpoint_id), session=session)
            return result.deleted_count

        return await self._run(commit) == 1

    async def disable_gone(self, endpoint: WebhookEndpoint) -> None:
        """Disable an endpoint that answered 410, unless a person has changed it meanwhile."""

        async def commit(session: Session) -> None:
            await self.raise_version(session)
            now = clock.now()
            await self._endpoints.update_one(
                {**_of(endpoint.organization_id, endpoint.id), "is_enabled": True, "updated_at": endpoint.updated_at},
                {
                    "$set": {
                        "is_enabled": False,
                        "disabled_by": DisablingCause.GONE.value,
                        "disabled_at": now,
                        "updated_at": now,
                    }
                },
                session=session,
            )

        await self._run(commit)

    async def raise_version(self, session: Session) -> None:
        """Make every process read the endpoints again, once the transaction has committed."""
        await self._versions.update_one({"_id": VERSION_ID}, {"$inc": {"version": 1}}, upsert=True, session=session)

    async def announce_restored(self, organization_id: str, *, session: Session) -> None:
        """Make every process read the endpoints again, if a restored organization has any."""
        if await self._endpoints.find_one({"organization_id": organization_id}, {"_id": 1}, session=session):
            await self.raise_version(session)

    async def _run(self, change: Callable[[Session], Awaitable[T]]) -> T:
        try:
            return await run_in_transaction(self._connection, change)
        finally:
            # Other processes notice it in time; this one at once.
            forget_known(self._connection)

    async def page_of_all(self, after: str | None, limit: int) -> list[WebhookEndpoint]:
        """Return endpoints of all organizations, by id."""
        query: Row = {} if after is None else {"_id": {"$gt": object_id(after)}}
        cursor = self._endpoints.find(query).sort("_id", 1).limit(limit)
        return [decode(WebhookEndpoint, row) async for row in cursor]

    async def lease(self, endpoint_id: str, token: str, *, seconds: float) -> WebhookEndpoint | None:
        """Take the right to deliver; return None if another process has it, or the endpoint is paused or gone."""
        is_free: Row = {"$or": [{"token": None}, {"$expr": {"$lt": ["$leased_until", "$$NOW"]}}]}
        is_due: Row = {"$or": [{"paused_until": None}, {"paused_until": {"$lte": clock.now()}}]}
        row: Row | None = await self._endpoints.find_one_and_update(
            {"_id": object_id(endpoint_id), "is_enabled": True, "$and": [is_free, is_due]},
            [{"$set": {"token": token, "leased_until": _in_seconds(seconds)}}],
            return_document=ReturnDocument.AFTER,
        )
        return decode(WebhookEndpoint, row) if row else None

    async def renew(self, endpoint: WebhookEndpoint, token: str, *, seconds: float) -> WebhookEndpoint | None:
        """Extend the lease and return the endpoint as it is now; None if the lease is lost, or it was disabled."""
        row: Row | None = await self._endpoints.find_one_and_update(
            {
                **_of(endpoint.organization_id, endpoint.id),
                "is_enabled": True,
                "token": token,
                "$expr": {"$gte": ["$leased_until", "$$NOW"]},
            },
            [{"$set": {"leased_until": _in_seconds(seconds)}}],
            return_document=ReturnDocument.AFTER,
        )
        return decode(WebhookEndpoint, row) if row else None

    async def release(self, endpoint: WebhookEndpoint, token: str) -> None:
        """Give the right to deliver back; do nothing if it is lost."""
        await self._endpoints.update_one(
            {**_of(endpoint.organization_id, endpoint.id), "token": token}, {"$set": dict.fromkeys(_LEASE)}
        )

    async def note_success(self, endpoint: WebhookEndpoint) -> None:
        """Record that an attempt has succeeded."""
        await self._endpoints.update_one(
            _of(endpoint.organization_id, endpoint.id),
            {"$set": {"failures": 0, "paused_until": None, "last_delivered_at": clock.now()}},
        )

    async def note_failure(self, endpoint: WebhookEndpoint, *, paused_until: datetime | None) -> int:
        """Record that an attempt has failed; return the failures in a row."""
        pause: Row = {} if paused_until is None else {"$max": {"paused_until": paused_until}}
        row: Row | None = await self._endpoints.find_one_and_update(
            _of(endpoint.organization_id, endpoint.id),
            {"$inc": {"failures": 1}, **pause},
            projection={"failures": 1},
            return_document=ReturnDocument.AFTER,
        )
        return int(row["failures"]) if row else 0


def _of(organization_id: str, endpoint_id: str) -> Row:
    return {"_id": object_id(endpoint_id, what="webhook endpoint"), "organization_id": organization_id}


def _in_seconds(seconds: float) -> Row:
    return {"$add": ["$$NOW", int(seconds * 1000)]}
