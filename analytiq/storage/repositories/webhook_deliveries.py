"""Collection `webhook_deliveries`: an event for one endpoint, from the outbox to its end."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from pymongo import IndexModel

from analytiq import clock
from analytiq.models.webhook import DeliveryAttempt, DeliveryState, WebhookDelivery
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.repositories.webhook_outbox import delivery_row

INDEXES = {
    "webhook_deliveries": [
        # Endpoints with something due, by a skip scan; and what is due of one.
        IndexModel([("state", 1), ("endpoint_id", 1), ("due_at", 1)]),
        # The order of a subject's events.
        IndexModel(
            [("endpoint_id", 1), ("subject", 1), ("position", 1)],
            partialFilterExpression={"state": DeliveryState.PENDING.value},
        ),
        IndexModel([("organization_id", 1), ("endpoint_id", 1), ("created_at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("subject", 1)]),
        IndexModel([("expires_at", 1)], expireAfterSeconds=0),
    ],
}

MOST_ATTEMPTS = 20
"""Attempts of a delivery that are kept."""
_PENDING: Row = {"state": DeliveryState.PENDING.value}


@dataclass(frozen=True, slots=True)
class DeliveryEnd:
    """The end of a delivery, and when its row is deleted."""

    state: DeliveryState
    expires_at: datetime


class WebhookDeliveryRepository:
    """Deliveries by endpoint."""

    def __init__(self, connection: MongoConnection) -> None:
        self._deliveries = connection.database["webhook_deliveries"]
        # Nothing is sent of a change that a failover may roll back.
        self._committed = connection.majority["webhook_deliveries"]

    async def insert(self, delivery: WebhookDelivery) -> None:
        """Store a delivery that belongs to no change."""
        await self._deliveries.insert_one(delivery_row(delivery))

    async def due_endpoints(self, now: datetime) -> list[str]:
        """Return the endpoints with due deliveries, longest wait first; the cost is one seek for each endpoint."""
        stages: list[Row] = [
            {"$match": _PENDING},
            {"$sort": {"state": 1, "endpoint_id": 1, "due_at": 1}},
            {"$group": {"_id": "$endpoint_id", "due_at": {"$first": "$due_at"}}},
            {"$match": {"due_at": {"$lte": now}}},
            {"$sort": {"due_at": 1}},
        ]
        cursor = await self._committed.aggregate(stages)
        return [str(row["_id"]) async for row in cursor]

    async def due(self, endpoint_id: str, now: datetime, limit: int) -> list[WebhookDelivery]:
        """Return due deliveries of an endpoint, longest wait first."""
        query: Row = {**_PENDING, "endpoint_id": endpoint_id, "due_at": {"$lte": now}}
        cursor = self._committed.find(query, {"position": 0}).sort("due_at", 1).limit(limit)
        return [decode(WebhookDelivery, row) async for row in cursor]

    async def pending_of_subjects(
        self, endpoint_id: str, subjects: Collection[str], limit: int
    ) -> list[WebhookDelivery]:
        """Return pending deliveries of these subjects in the order of their commits."""
        query: Row = {**_PENDING, "endpoint_id": endpoint_id, "subject": {"$in": list(subjects)}}
        cursor = self._committed.find(query, {"position": 0}).sort("position", 1).limit(limit)
        return [decode(WebhookDelivery, row) async for row in cursor]

    async def put_off(self, endpoint_id: str, subject: str, due_at: datetime) -> None:
        """Let all pending deliveries of a subject wait for the first one."""
        await self._deliveries.update_many(
            {**_PENDING, "endpoint_id": endpoint_id, "subject": subject, "due_at": {"$lt": due_at}},
            {"$set": {"due_at": due_at}},
        )

    async def note_attempt(
        self, delivery: WebhookDelivery, attempt: DeliveryAttempt, *, due_at: datetime, end: DeliveryEnd | None
    ) -> None:
        """Record an attempt, and the end of the delivery or the time of the next attempt."""
        fields: Row = {"due_at": due_at}
        if end is not None:
            fields = {"state": end.state.value, "ended_at": attempt.at, "expires_at": end.expires_at}
        await self._deliveries.update_one(
            {**_PENDING, "_id": object_id(delivery.id), "organization_id": delivery.organization_id},
            {
                "$set": fields,
                "$inc": {"attempt_count": 1},
                "$push": {"attempts": {"$each": [attempt.model_dump()], "$slice": -MOST_ATTEMPTS}},
            },
        )

    async def give_up_all(self, endpoint_id: str, end: DeliveryEnd) -> int:
        """End all pending deliveries of an endpoint that receives nothing any more."""
        result = await self._deliveries.update_many(
            {**_PENDING, "endpoint_id": endpoint_id},
            {"$set": {"state": end.state.value, "ended_at": clock.now(), "expires_at": end.expires_at}},
        )
        return result.modified_count

    async def get(self, organization_id: str, endpoint_id: str, delivery_id: str) -> WebhookDelivery | None:
        """Return a delivery of the organization's endpoint."""
        query = {"_id": object_id(delivery_id, what="delivery"), **_of(organization_id, endpoint_id)}
        row: Row | None = await self._deliveries.find_one(query, {"position": 0})
        return decode(WebhookDelivery, row) if row else None

    async def page(
        self, organization_id: str, endpoint_id: str, states: Collection[DeliveryState], *, skip: int, limit: int
    ) -> tuple[list[WebhookDelivery], int]:
        """Return a page of an endpoint's deliveries, latest first, and their number; no states: all."""
        query = _of(organization_id, endpoint_id)
        if states:
            query["state"] = {"$in": [state.value for state in states]}
        cursor = self._deliveries.find(query, {"position": 0}).sort([("created_at", -1), ("_id", -1)])
        found = [decode(WebhookDelivery, row) async for row in cursor.skip(skip).limit(limit)]
        return found, await self._deliveries.count_documents(query)

    async def replay(
        self, organization_id: str, endpoint_id: str, *, delivery_id: str | None = None, since: datetime | None = None
    ) -> int:
        """Send an ended delivery again; or, without its id, all that were given up of events since a time.

        Deliveries whose body was erased with their document stay as they are. Return the number.
        """
        query: Row = {**_of(organization_id, endpoint_id), "body": {"$ne": ""}}
        if delivery_id is not None:
            query |= {"_id": object_id(delivery_id, what="delivery"), "state": {"$ne": DeliveryState.PENDING.value}}
        else:
            query |= {"state": DeliveryState.DEAD.value, "created_at": {"$gte": since}}
        now = clock.now()
        again: Row = {"state": DeliveryState.PENDING.value, "due_at": now, "queued_at": now, "attempt_count": 0}
        result = await self._deliveries.update_many(query, {"$set": {**again, "ended_at": None, "expires_at": None}})
        return result.modified_count

    async def delete_of_endpoint(self, endpoint_id: str) -> None:
        """Delete all deliveries of a deleted endpoint."""
        await self._deliveries.delete_many({"endpoint_id": endpoint_id})

    async def forget_subject(self, organization_id: str, subject: str) -> None:
        """Remove the ids of a deleted document from its delivered events; nothing names it then."""
        await self._deliveries.update_many(
            {"organization_id": organization_id, "subject": subject, "state": DeliveryState.DELIVERED.value},
            {"$set": {"subject": "", "body": ""}},
        )


def _of(organization_id: str, endpoint_id: str) -> Row:
    return {"organization_id": organization_id, "endpoint_id": endpoint_id}
