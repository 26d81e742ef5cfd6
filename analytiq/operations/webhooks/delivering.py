"""Delivery of due events: a loop of each worker process, beside the queue and without its slots.

An endpoint is delivered to by one process at a time, under a lease, in turns of bounded time. Each turn is a task of
its own, so an endpoint that hangs holds up no other: failing endpoints use half of the tasks at most, and those of one
organization a quarter. Within an endpoint, subjects go side by side, and the events of a subject one after another, in
the order of their commits. A process that dies leaves rows that are still pending: they are sent again.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from analytiq import clock
from analytiq.models.webhook import DeliveryState, WebhookDelivery, WebhookEndpoint, WebhookEventType
from analytiq.operations.webhooks.schedule import end_of_failed, ended, next_attempt, pause_until
from analytiq.operations.webhooks.sending import Sent, WebhookSender
from analytiq.settings import WebhookSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.session import DatabaseError
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
"""Seconds between two looks for due deliveries."""
TURN_SECONDS = 20.0
SUBJECTS_AT_ONCE = 8
BATCH = 64
RENEW_SECONDS = 10.0
"""Age at which a lease is renewed before the next request, and the endpoint read again."""
LEASE_MARGIN_SECONDS = 15.0
NOTE_SECONDS = 10.0
"""Seconds between two records that an endpoint works."""


@dataclass(slots=True)
class _Turn:
    """The deliveries to one endpoint under one lease."""

    endpoint: WebhookEndpoint
    token: str
    renewed_at: float
    failures: int
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_over: bool = False
    noted_at: float = float("-inf")


class WebhookDelivering:
    """Delivers the due events of all organizations."""

    def __init__(self, rows: Repositories, sender: WebhookSender, settings: WebhookSettings) -> None:
        self._endpoints = rows.webhook_endpoints
        self._deliveries = rows.webhook_deliveries
        self._sender = sender
        self._settings = settings
        self._lease_seconds = settings.attempt_seconds + RENEW_SECONDS + LEASE_MARGIN_SECONDS
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, WebhookEndpoint] = {}

    async def run(self) -> None:
        """Deliver until cancelled; what is under way then is sent again by another process."""
        try:
            while True:
                try:
                    await self.begin_due()
                except DatabaseError:
                    log.warning("webhooks.database_away", exc_info=True)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            for task in self._turns.values():
                task.cancel()
            await asyncio.gather(*self._turns.values(), return_exceptions=True)

    async def begin_due(self) -> int:
        """Begin a turn of each endpoint with due deliveries that has room; return their number."""
        due = [each for each in await self._deliveries.due_endpoints(clock.now()) if each not in self._turns]
        if not due:
            return 0
        known = await self._endpoints.with_ids(due)
        for endpoint_id in due:
            if endpoint_id not in known or not known[endpoint_id].is_enabled:
                await self._clear(known.get(endpoint_id), endpoint_id)
        now = clock.now()
        ready = [
            known[endpoint_id]
            for endpoint_id in due
            if endpoint_id in known
            and known[endpoint_id].is_enabled
            and (known[endpoint_id].paused_until or now) <= now
        ]
        began = 0
        # Stable: among equals, the longest wait first.
        for endpoint in sorted(ready, key=lambda each: each.failures > 0):
            if self._has_room_for(endpoint):
                self._begin(endpoint)
                began += 1
        return began

    async def settled(self) -> None:
        """Wait for the turns under way."""
        await asyncio.gather(*self._turns.values())

    def _has_room_for(self, endpoint: WebhookEndpoint) -> bool:
        most = self._settings.concurrency
        if len(self._running) >= most:
            return False
        of_organization = Counter(each.organization_id for each in self._running.values())
        if of_organization[endpoint.organization_id] >= max(1, most // 4):
            return False
        failing = sum(each.failures > 0 for each in self._running.values())
        return not endpoint.failures or failing < most // 2

    def _begin(self, endpoint: WebhookEndpoint) -> None:
        self._running[endpoint.id] = endpoint
        task = asyncio.create_task(self._turn(endpoint.id))
        self._turns[endpoint.id] = task
        task.add_done_callback(lambda _: self._end(endpoint.id))

    def _end(self, endpoint_id: str) -> None:
        self._turns.pop(endpoint_id, None)
        self._running.pop(endpoint_id, None)

    async def _clear(self, endpoint: WebhookEndpoint | None, endpoint_id: str) -> None:
        """End what a transaction has recorded while its endpoint was disabled or deleted."""
        if endpoint is None:
            await self._deliveries.delete_of_endpoint(endpoint_id)
        else:
            await self._deliveries.give_up_all(endpoint_id, ended(DeliveryState.DEAD, clock.now(), self._settings))

    async def _turn(self, endpoint_id: str) -> None:
        token = new_id()
        try:
            endpoint = await self._endpoints.lease(endpoint_id, token, seconds=self._lease_seconds)
            if endpoint is None:
                return
            await checkpoint("webhooks.leased")
            try:
                await self._deliver(_Turn(endpoint, token, time.monotonic(), endpoint.failures))
            finally:
                await asyncio.shield(self._endpoints.release(endpoint, token))
        except DatabaseError:
            log.warning("webhooks.turn_broken", endpoint_id=endpoint_id, exc_info=True)
        except Exception:
            # One endpoint's fault, whatever it is, ends no loop.
            log.exception("webhooks.turn_failed", endpoint_id=endpoint_id)

    async def _deliver(self, turn: _Turn) -> None:
        until = time.monotonic() + TURN_SECONDS
        room = asyncio.Semaphore(SUBJECTS_AT_ONCE)

        async def in_order(subject: str, queue: Sequence[WebhookDelivery]) -> None:
            async with room:
                await self._deliver_subject(turn, subject, queue)

        while time.monotonic() < until and not turn.is_over:
            due = await self._deliveries.due(turn.endpoint.id, clock.now(), BATCH)
            if not due:
                return
            subjects = list(dict.fromkeys(delivery.subject for delivery in due))
            queues: dict[str, list[WebhookDelivery]] = defaultdict(list)
            for delivery in await self._deliveries.pending_of_subjects(turn.endpoint.id, subjects, BATCH * 4):
                queues[delivery.subject].append(delivery)
            async with asyncio.TaskGroup() as group:
                for subject, queue in queues.items():
                    group.create_task(in_order(subject, queue))

    async def _deliver_subject(self, turn: _Turn, subject: str, queue: Sequence[WebhookDelivery]) -> None:
        """Deliver the events of a subject, earliest commit first, until one has to wait."""
        for delivery in queue:
            if delivery.due_at > clock.now():
                await self._deliveries.put_off(turn.endpoint.id, subject, delivery.due_at)
                return
            if turn.is_over or not await self._holds(turn):
                return
            if not await self._attempt(turn, delivery):
                return

    async def _holds(self, turn: _Turn) -> bool:
        """Check that the lease outlasts a request; renew it if it is old."""
        async with turn.lock:
            if time.monotonic() - turn.renewed_at < RENEW_SECONDS:
                return True
            asked_at = time.monotonic()
            renewed = await self._endpoints.renew(turn.endpoint, turn.token, seconds=self._lease_seconds)
            if renewed is None:
                turn.is_over = True
                return False
            turn.endpoint, turn.renewed_at = renewed, asked_at
            return True

    async def _attempt(self, turn: _Turn, delivery: WebhookDelivery) -> bool:
        """Send a delivery once and record the outcome; return False if its subject has to wait."""
        sent = await self._sender.send(turn.endpoint, delivery)
        await checkpoint("webhooks.answered")
        now = clock.now()
        if sent.is_delivered:
            end = ended(DeliveryState.DELIVERED, now, self._settings)
            await self._deliveries.note_attempt(delivery, sent.attempt, due_at=now, end=end)
            if delivery.type is WebhookEventType.DOCUMENT_REMOVED:
                await self._deliveries.forget_subject(delivery.organization_id, delivery.subject)
            await self._note_success(turn)
            await checkpoint("webhooks.noted")
            return True
        end = end_of_failed(delivery, now, self._settings)
        if sent.is_gone:
            end = ended(DeliveryState.DEAD, now, self._settings)
        due_at = next_attempt(delivery, now, sent.retry_after, self._settings)
        await self._deliveries.note_attempt(delivery, sent.attempt, due_at=due_at, end=end)
        if end is None:
            await self._deliveries.put_off(delivery.endpoint_id, delivery.subject, due_at)
        await self._note_failure(turn, sent)
        await checkpoint("webhooks.noted")
        return end is not None

    async def _note_success(self, turn: _Turn) -> None:
        if turn.failures or time.monotonic() - turn.noted_at > NOTE_SECONDS:
            turn.failures, turn.noted_at = 0, time.monotonic()
            await self._endpoints.note_success(turn.endpoint)

    async def _note_failure(self, turn: _Turn, sent: Sent) -> None:
        turn.failures += 1
        until = pause_until(turn.failures, clock.now(), is_silent=sent.is_silent)
        await self._endpoints.note_failure(turn.endpoint, paused_until=until)
        log.info(
            "webhooks.attempt_failed", endpoint_id=turn.endpoint.id, status=sent.attempt.status,
            failures=turn.failures, paused_until=until,
        )  # fmt: skip
        if until is not None:
            turn.is_over = True
        if sent.is_gone:
            turn.is_over = True
            await self._endpoints.disable_gone(turn.endpoint)
            await self._deliveries.give_up_all(turn.endpoint.id, ended(DeliveryState.DEAD, clock.now(), self._settings))
