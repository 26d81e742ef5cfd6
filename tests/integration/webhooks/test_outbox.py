"""Events of real changes: recorded with them, for every process, and at no cost without endpoints."""

import asyncio

import pytest

from analytiq.models.webhook import WebhookEndpoint, WebhookEvent, WebhookEventType
from analytiq.operations.webhooks.endpoints import EndpointChanges
from analytiq.storage.repositories import webhook_outbox
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from tests.integration.tenant import new_tenant
from tests.integration.webhooks.conftest import Hooked

OF_A_DOCUMENT = ["document.extracted", "document.indexed"]


async def test_life_of_a_document_and_its_knowledge_base_is_told_in_order(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    await hooked.endpoint(receiver)
    kb = await hooked.tenant.knowledge_base()
    await hooked.tenant.drain()
    document = await hooked.tenant.document("whales.txt", "Whales sing in the deep sea.")
    await hooked.deliver()
    told = [each for each in receiver.received if each.data.get("document_id") == document.id]
    assert [each.type for each in told] == OF_A_DOCUMENT
    assert told[1].data["knowledge_base_id"] == kb.id
    assert [each.data["knowledge_base_id"] for each in receiver.of("knowledge_base.active")] == [kb.id]
    await hooked.services.ingestion.documents.delete(hooked.tenant.id, document.id)
    await hooked.tenant.drain()
    await hooked.deliver()
    assert [each.data["document_id"] for each in receiver.of("document.removed")] == [document.id]
    # Nothing names a deleted document, once its deletion was delivered.
    database = hooked.services.connection.database
    rows = await database["webhook_deliveries"].find({}).to_list()
    assert [row for row in rows if document.id in str(row)] == []


async def test_many_documents_of_a_batch_are_each_told_once(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    await hooked.endpoint(receiver, WebhookEventType.DOCUMENT_EXTRACTED, WebhookEventType.DOCUMENT_INDEXED)
    await hooked.tenant.knowledge_base()
    uploaded = [(await hooked.tenant.upload(f"{n}.txt", f"Text number {n}.")).document.id for n in range(20)]
    await hooked.tenant.drain()
    await hooked.deliver()
    for document_id in uploaded:
        assert [each.type for each in receiver.received if each.data["document_id"] == document_id] == OF_A_DOCUMENT


async def test_document_that_cannot_be_read_is_told_with_its_code(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    await hooked.endpoint(receiver, WebhookEventType.DOCUMENT_FAILED)
    document = await hooked.tenant.document("empty.txt", "")
    await hooked.deliver()
    (event,) = receiver.received
    assert event.data["document_id"] == document.id
    assert document.error is not None
    assert event.data["code"] == document.error.code


async def test_quota_is_told_when_it_is_near_and_when_it_is_reached(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    await hooked.endpoint(receiver, WebhookEventType.QUOTA_NEAR, WebhookEventType.QUOTA_REACHED)
    storage = hooked.services.ingestion.storage
    await storage.set_quota(hooked.tenant.id, max_bytes=None, max_documents=5)
    await hooked.services.tenancy.metering.set_quota(hooked.tenant.id, 3)
    await hooked.tenant.knowledge_base()
    for number in range(5):
        await hooked.tenant.document(f"{number}.txt", f"Text number {number}.")
    await hooked.deliver()
    told = sorted((each.data["quota"], each.type, each.data["used"]) for each in receiver.received)
    assert told == [
        ("documents", "quota.near", 4),
        ("documents", "quota.reached", 5),
        ("spus", "quota.reached", 3),
    ]


async def test_change_that_is_undone_leaves_no_event(hooked: Hooked) -> None:
    endpoint = await hooked.endpoint(hooked.receiver())
    outbox = hooked.services.repositories.webhook_outbox
    event = WebhookEvent.of_document(WebhookEventType.DOCUMENT_EXTRACTED, "a")

    async def change(session: Session) -> None:
        await outbox.record(session, hooked.tenant.id, [event])
        raise RuntimeError("undone")

    with pytest.raises(RuntimeError, match="undone"):
        await run_in_transaction(hooked.services.connection, change)
    assert await hooked.deliveries(endpoint) == []


async def test_events_go_to_the_own_organization_and_to_the_wanted_types_alone(hooked: Hooked) -> None:
    mine, other = hooked.receiver(), hooked.receiver()
    await hooked.endpoint(mine, WebhookEventType.DOCUMENT_EXTRACTED)
    stranger = Hooked(await new_tenant(hooked.services), hooked.receivers, hooked.new_process)
    await stranger.endpoint(other)
    await hooked.tenant.document("mine.txt", "Mine.")
    await hooked.deliver()
    assert mine.types() == ["document.extracted"]
    assert (other.received, other.refused) == ([], 0)


async def test_organization_without_endpoints_costs_one_small_read_a_second_whatever_it_does(
    hooked: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_outbox, "KNOWN_SECONDS", 3600.0)
    outbox = hooked.services.repositories.webhook_outbox
    assert await outbox.listening(hooked.tenant.id) == ()
    reads: list[str] = []

    async def read(*_: object) -> None:
        reads.append("read")

    monkeypatch.setattr(webhook_outbox.WebhookOutbox, "_read_version", read)
    monkeypatch.setattr(webhook_outbox.WebhookOutbox, "_read_endpoints", read)
    await hooked.tenant.knowledge_base()
    for number in range(3):
        await hooked.tenant.document(f"{number}.txt", f"Text number {number}.")
    assert reads == []
    assert await hooked.services.connection.database["webhook_deliveries"].count_documents({}) == 0


async def test_every_process_sees_an_endpoint_by_the_time_that_the_call_answers(
    hooked: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.operations.webhooks.endpoints.SETTLE_SECONDS", webhook_outbox.SETTLE_SECONDS)
    # As another process has it: this one's changes do not reach it but by the version.
    monkeypatch.setattr("analytiq.storage.repositories.webhook_endpoints.forget_known", lambda _: None)
    worker = hooked.services.repositories.webhook_outbox
    assert await worker.listening(hooked.tenant.id) == ()
    asking = asyncio.create_task(ask_until_cancelled(hooked))
    try:
        endpoint = await hooked.endpoint(hooked.receiver(), WebhookEventType.DOCUMENT_EXTRACTED)
        assert [each.id for each in await worker.listening(hooked.tenant.id)] == [endpoint.id]
        endpoints = hooked.services.operations.webhook_endpoints
        widened = EndpointChanges(event_types=())
        await endpoints.change(hooked.tenant.id, endpoint.id, widened)
        (known,) = await worker.listening(hooked.tenant.id)
        assert known.wants(WebhookEventType.QUOTA_NEAR)
    finally:
        asking.cancel()
        await asyncio.wait([asking])


async def ask_until_cancelled(hooked: Hooked) -> tuple[WebhookEndpoint, ...]:
    """Keep the knowledge as fresh as transactions would, and no fresher."""
    while True:
        await hooked.services.repositories.webhook_outbox.listening(hooked.tenant.id)
        await asyncio.sleep(0)
