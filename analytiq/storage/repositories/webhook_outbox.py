"""The outbox of webhooks: rows of `webhook_deliveries`, written in the transaction of the change that they tell.

An organization without endpoints costs no row and no command of its own. Each process knows the endpoints from a read
that is at most KNOWN_SECONDS old when a transaction asks; whoever makes or widens an endpoint waits longer than that
before it answers (`WebhookEndpointRepository.change` raises the version, `SETTLE_SECONDS` is the wait). So a change
that begins after the answer sees the endpoint:

    endpoint committed ──▶ wait SETTLE_SECONDS ──▶ answered ──▶ change begins ──▶ asks: a read since the commit

The read is one row, the version of all endpoints, once in KNOWN_SECONDS at most, however many transactions ask; only
a new version makes the endpoints of an organization read again.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from bson import Timestamp

from analytiq import clock
from analytiq.models.webhook import WebhookDelivery, WebhookEndpoint, WebhookEvent
from analytiq.storage.causality import LatestAnswer
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

KNOWN_SECONDS = 1.0
"""Greatest age of the knowledge of endpoints by which a transaction records events."""
SETTLE_SECONDS = 1.25
"""Wait after a change of endpoints: longer than KNOWN_SECONDS by more than clocks of machines differ in pace."""
MOST_KNOWN = 10_000
"""Organizations whose endpoints a process remembers."""
VERSION_ID = "webhook_endpoints"
# Unlike the monotonic clock it goes on while a machine is suspended.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

_Write = Callable[[Session | None], Awaitable[bool]]


@dataclass(slots=True)
class _Known:
    """The knowledge of a process of all endpoints of a database."""

    version: int | None = None
    read_at: float = float("-inf")
    of_organization: dict[str, tuple[WebhookEndpoint, ...]] = field(
        default_factory=dict[str, tuple[WebhookEndpoint, ...]]
    )
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


_known_of: WeakKeyDictionary[LatestAnswer, dict[str, _Known]] = WeakKeyDictionary()
"""By client, which compares as equal to others of the same server, and by database."""


class WebhookOutbox:
    """Events of changes, for the endpoints of the change's organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection
        # A commit that a majority does not hold yet is not answered yet either.
        self._settings = connection.majority["runtime_settings"]
        self._endpoints = connection.majority["webhook_endpoints"]
        self._deliveries = connection.database["webhook_deliveries"]

    async def record(self, session: Session, organization_id: str, events: Sequence[WebhookEvent]) -> None:
        """Store a delivery of each event for each endpoint that wants it, within the caller's transaction."""
        endpoints = await self.listening(organization_id) if events else ()
        if not endpoints:
            return
        rows: list[Row] = []
        for event in events:
            wanting = [endpoint for endpoint in endpoints if endpoint.wants(event.type)]
            rows += _rows(organization_id, event, wanting)
        if rows:
            await self._deliveries.insert_many(rows, session=session)

    async def changing(self, session: Session | None, organization_id: str, event: WebhookEvent, write: _Write) -> bool:
        """Make a change of one command and record its event, in one transaction if anybody listens.

        Args:
            session: the caller's transaction, if any.
            organization_id: owner of what changes.
            event: the event, if `write` returns True.
            write: the change; in a new transaction it may run several times.
        """
        if session is None and not await self.listening(organization_id):
            return await write(None)

        async def commit(own: Session) -> bool:
            is_changed = await write(own)
            if is_changed:
                await self.record(own, organization_id, [event])
            return is_changed

        return await commit(session) if session is not None else await run_in_transaction(self._connection, commit)

    async def listening(self, organization_id: str) -> tuple[WebhookEndpoint, ...]:
        """Return the enabled endpoints of an organization, as known from a read KNOWN_SECONDS ago or later."""
        known = _known_of.setdefault(self._connection.latest_answer, {}).setdefault(
            self._settings.database.name, _Known()
        )
        if _now() - known.read_at > KNOWN_SECONDS:
            async with known.lock:
                if _now() - known.read_at > KNOWN_SECONDS:
                    await self._read_version(known)
        if known.version == 0:
            return ()
        found = known.of_organization.get(organization_id)
        return await self._read_endpoints(known, organization_id) if found is None else found

    async def _read_version(self, known: _Known) -> None:
        began = _now()
        row: Row | None = await self._settings.find_one({"_id": VERSION_ID}, {"version": 1})
        version = int(row["version"]) if row else 0
        if version != known.version:
            known.of_organization = {}
        known.version, known.read_at = version, began

    async def _read_endpoints(self, known: _Known, organization_id: str) -> tuple[WebhookEndpoint, ...]:
        # Whoever reads while the version rises stores into the former version's dictionary.
        of_version = known.of_organization
        query: Row = {"organization_id": organization_id, "is_enabled": True}
        cursor = self._endpoints.find(query, {"secrets": 0}).sort("_id", 1)
        found = tuple([decode(WebhookEndpoint, row) async for row in cursor])
        if len(of_version) >= MOST_KNOWN:
            of_version.clear()
        of_version[organization_id] = found
        return found


def forget_known(connection: MongoConnection) -> None:
    """Let this process read the endpoints again; a read under way is not used by transactions that ask later."""
    _known_of.pop(connection.latest_answer, None)


def delivery_row(delivery: WebhookDelivery) -> Row:
    """Return the row of a new delivery, which the server gives its place in the order of writes."""
    # The server replaces an empty timestamp by its own logical time, which no failover sets back.
    return {**encode(delivery), "position": Timestamp(0, 0)}


def new_delivery(endpoint: WebhookEndpoint, event: WebhookEvent, event_id: str) -> WebhookDelivery:
    """Build the delivery of an event to an endpoint."""
    now = clock.now()
    body: dict[str, Any] = {
        "id": event_id,
        "type": event.type.value,
        "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "data": {"organization_id": endpoint.organization_id, **event.data},
    }
    return WebhookDelivery(
        id=new_id(),
        organization_id=endpoint.organization_id,
        endpoint_id=endpoint.id,
        event_id=event_id,
        type=event.type,
        subject=event.subject,
        body=json.dumps(body, separators=(",", ":"), ensure_ascii=False),
        created_at=now,
        queued_at=now,
        due_at=now,
    )


def new_event_id() -> str:
    """Make the id of an event."""
    return f"evt_{new_id()}"


def _rows(organization_id: str, event: WebhookEvent, endpoints: Sequence[WebhookEndpoint]) -> list[Row]:
    event_id = new_event_id()
    own = [endpoint for endpoint in endpoints if endpoint.organization_id == organization_id]
    return [delivery_row(new_delivery(endpoint, event, event_id)) for endpoint in own]


def _now() -> float:
    return time.clock_gettime(_CLOCK)
