"""Delivery of events to real receivers: in order, again after failures, and never behind another endpoint."""

import asyncio
from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.errors import ConflictError, InvalidInputError
from analytiq.models.webhook import DeliveryState, DisablingCause, WebhookEvent, WebhookEventType
from analytiq.operations.webhooks.endpoints import EndpointChanges, EndpointDraft
from analytiq.storage.repositories.webhook_endpoints import MOST_ENDPOINTS
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry import checkpoints
from analytiq.telemetry.checkpoints import WEBHOOK_CHECKPOINTS
from tests.integration.conftest import EventuallyTrue
from tests.integration.webhooks.conftest import Hooked

EXTRACTED = WebhookEventType.DOCUMENT_EXTRACTED


class Died(BaseException):
    """In the place of a SIGKILL: nothing of ours catches it."""


async def tell(hooked: Hooked, *document_ids: str) -> None:
    """Record an event for each document, all in one transaction."""
    services = hooked.services
    outbox = services.repositories.webhook_outbox
    events = [WebhookEvent.of_document(EXTRACTED, each, number=n) for n, each in enumerate(document_ids)]
    await run_in_transaction(services.connection, lambda session: outbox.record(session, hooked.tenant.id, events))


async def test_failing_receiver_gets_each_event_again_and_in_the_order_of_its_subject(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    endpoint = await hooked.endpoint(receiver)
    receiver.answer = lambda event: 500 if event.data["document_id"] == "a" else 200
    receiver.body = b"no " * 1000
    await tell(hooked, "a", "a", "b", "a", "b")
    await hooked.deliver()
    assert [event.data["number"] for event in receiver.received if event.data["document_id"] == "b"] == [2, 4]
    assert {event.data["number"] for event in receiver.received if event.data["document_id"] == "a"} == {0}
    first = (await hooked.deliveries(endpoint))[0]
    assert first.state is DeliveryState.PENDING
    assert first.attempts[0].status == 500
    assert first.attempts[0].answer == ("no " * 1000)[:500]
    receiver.answer = lambda _: 200
    await hooked.end_pauses()
    await hooked.deliver()
    of_a = [event for event in receiver.received if event.data["document_id"] == "a"]
    numbers = [event.data["number"] for event in of_a]
    assert numbers[-3:] == [0, 1, 3]
    assert len({event.event_id for event in of_a}) == 3
    assert {each.state for each in await hooked.deliveries(endpoint)} == {DeliveryState.DELIVERED}
    assert (await hooked.again(endpoint)).failures == 0


async def test_receiver_that_hangs_holds_up_no_other_endpoint(hooked: Hooked, eventually: EventuallyTrue) -> None:
    hanging, prompt = hooked.receiver(), hooked.receiver()
    hanging.hangs = True
    slow, quick = await hooked.endpoint(hanging), await hooked.endpoint(prompt)
    for number in range(30):
        await tell(hooked, f"document {number}")
    working = asyncio.create_task(hooked.services.operations.webhook_delivering.run())
    try:
        await eventually(lambda: hanging.hanging > 0 and len(prompt.received) == 30)
        assert {each.state for each in await hooked.deliveries(slow)} == {DeliveryState.PENDING}
        assert len({event.event_id for event in prompt.received}) == 30
    finally:
        working.cancel()
        await asyncio.wait([working])
    assert (await hooked.again(quick)).last_delivered_at is not None
    # The lease of a stopped process is free at once.
    hanging.hangs = False
    await hooked.end_pauses()
    await hooked.deliver()
    assert {each.state for each in await hooked.deliveries(slow)} == {DeliveryState.DELIVERED}


async def test_time_of_an_attempt_is_bounded_and_a_silent_endpoint_is_paused(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    receiver.hangs = True
    endpoint = await hooked.endpoint(receiver)
    impatient = await hooked.new_process(attempt_seconds=0.1)
    await tell(hooked, "a")
    assert await impatient.operations.webhook_delivering.begin_due() == 1
    await impatient.operations.webhook_delivering.settled()
    (delivery,) = await hooked.deliveries(endpoint)
    assert delivery.attempts[0].status is None
    assert delivery.attempts[0].error == "No complete answer within 0.1 s."
    assert (await hooked.again(endpoint)).paused_until is not None


async def test_redirect_is_not_followed_to_a_private_address(hooked: Hooked) -> None:
    behind, receiver = hooked.receiver(), hooked.receiver()
    endpoint = await hooked.endpoint(receiver)
    receiver.answer = lambda _: 307
    receiver.headers = {"Location": behind.url}
    await tell(hooked, "a")
    await hooked.deliver()
    assert (behind.received, behind.refused, len(receiver.received)) == ([], 0, 1)
    (delivery,) = await hooked.deliveries(endpoint)
    assert delivery.attempts[0].status == 307
    assert "redirects" in (delivery.attempts[0].error or "")


async def test_name_that_resolves_to_a_private_address_is_not_connected_to(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    port = receiver.url.split(":")[2]
    # Checked at each connection: the name was harmless when the endpoint was made.
    endpoint = await hooked.endpoint(receiver, url=f"https://localhost:{port}")
    strict = await hooked.new_process(private_hosts=())
    await tell(hooked, "a")
    await strict.operations.webhook_delivering.begin_due()
    await strict.operations.webhook_delivering.settled()
    (delivery,) = await hooked.deliveries(endpoint)
    assert "not on the public Internet" in (delivery.attempts[0].error or "")
    assert receiver.received == []


async def test_gone_disables_the_endpoint_and_what_is_pending_can_be_replayed(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    endpoint = await hooked.endpoint(receiver)
    receiver.answer = lambda _: 410
    await tell(hooked, "a", "a")
    await hooked.deliver()
    gone = await hooked.again(endpoint)
    assert (gone.is_enabled, gone.disabled_by) == (False, DisablingCause.GONE)
    assert {each.state for each in await hooked.deliveries(endpoint)} == {DeliveryState.DEAD}
    await tell(hooked, "later")
    assert len(await hooked.deliveries(endpoint)) == 2
    endpoints = hooked.services.operations.webhook_endpoints
    since = clock.now() - timedelta(hours=1)
    with pytest.raises(ConflictError):
        await endpoints.replay_failed(hooked.tenant.id, endpoint.id, since=since)
    await endpoints.change(hooked.tenant.id, endpoint.id, EndpointChanges(is_enabled=True))
    receiver.answer = lambda _: 200
    receiver.received.clear()
    assert await endpoints.replay_failed(hooked.tenant.id, endpoint.id, since=since) == 2
    await hooked.deliver()
    assert [event.data["number"] for event in receiver.received] == [0, 1]


async def test_event_is_given_up_after_days_and_the_next_of_its_subject_goes_on(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    endpoint = await hooked.endpoint(receiver)
    receiver.answer = lambda event: 400 if event.data["number"] == 0 else 200
    await tell(hooked, "a", "a")
    brief = await hooked.new_process(given_up_after_days=1e-9)
    await hooked.deliver(brief)
    first, second = await hooked.deliveries(endpoint)
    assert (first.state, second.state) == (DeliveryState.DEAD, DeliveryState.DELIVERED)
    receiver.answer = lambda _: 200
    endpoints = hooked.services.operations.webhook_endpoints
    await endpoints.replay(hooked.tenant.id, endpoint.id, first.id)
    await hooked.deliver()
    assert [event.data["number"] for event in receiver.received] == [0, 1, 0]
    assert receiver.received[0].event_id == receiver.received[2].event_id


@pytest.mark.parametrize("place", WEBHOOK_CHECKPOINTS)
async def test_worker_that_dies_while_it_delivers_loses_no_event(hooked: Hooked, place: str) -> None:
    receiver = hooked.receiver()
    await hooked.endpoint(receiver)
    await tell(hooked, "a", "a", "b")

    async def kill(name: str) -> None:
        if name == place:
            raise Died

    dying = hooked.services.operations.webhook_delivering
    checkpoints.install(kill)
    try:
        await dying.begin_due()
        with pytest.raises(BaseException) as died:  # noqa: PT011  # a group of them, from side-by-side subjects
            await dying.settled()
        assert "Died" in repr(died.value)
    finally:
        checkpoints.install(None)
    database = hooked.services.connection.database
    await database["webhook_endpoints"].update_many({}, {"$set": {"token": "of the dead", "leased_until": clock.now()}})
    await hooked.deliver(await hooked.new_process())
    assert {event.data["number"] for event in receiver.received} == {0, 1, 2}
    of_a = [event.data["number"] for event in receiver.received if event.data["document_id"] == "a"]
    assert of_a == sorted(of_a)
    assert len({event.event_id for event in receiver.received}) == 3


async def test_both_secrets_sign_until_the_overlap_ends(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    endpoint = await hooked.endpoint(receiver)
    endpoints = hooked.services.operations.webhook_endpoints
    rotated = await endpoints.rotate(hooked.tenant.id, endpoint.id, overlap_seconds=3600)
    await tell(hooked, "a")
    await hooked.deliver()
    assert receiver.received[0].signatures == 2
    # Verified by the first secret alone, then by the second alone.
    receiver.secrets[:] = [rotated.secret.get_secret_value()]
    await tell(hooked, "b")
    await hooked.deliver()
    assert len(receiver.received) == 2
    last = await endpoints.rotate(hooked.tenant.id, endpoint.id, overlap_seconds=0)
    receiver.secrets[:] = [last.secret.get_secret_value()]
    await tell(hooked, "c")
    await hooked.deliver()
    assert (receiver.received[2].signatures, receiver.refused) == (1, 0)


async def test_test_event_is_sent_at_once_and_shown_with_its_answer(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    endpoint = await hooked.endpoint(receiver, WebhookEventType.QUOTA_NEAR)
    receiver.body = b"thanks"
    delivery = await hooked.services.operations.webhook_endpoints.test(hooked.tenant.id, endpoint.id)
    assert (delivery.state, delivery.attempts[0].status) == (DeliveryState.DELIVERED, 204)
    assert receiver.types() == ["webhook.test"]
    receiver.answer = lambda _: 503
    failed = await hooked.services.operations.webhook_endpoints.test(hooked.tenant.id, endpoint.id)
    assert (failed.state, failed.attempts[0].status, failed.attempts[0].answer) == (DeliveryState.DEAD, 503, "thanks")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/hooks", "https://10.0.0.1/", "https://169.254.169.254/latest", "https://[::1]/x",
        "https://user:pass@example.com/", "https://example.com/#part", "ftp://example.com", "https://", "nonsense",
        "https://exa mple.com/", "https://example.com:99999/", f"https://example.com/{'x' * 2000}",
    ],
)  # fmt: skip
async def test_address_that_may_not_be_called_is_refused(hooked: Hooked, url: str) -> None:
    with pytest.raises(InvalidInputError):
        await hooked.services.operations.webhook_endpoints.make(hooked.tenant.id, EndpointDraft(url=url))


async def test_organization_has_a_bounded_number_of_endpoints_even_when_made_at_once(hooked: Hooked) -> None:
    endpoints = hooked.services.operations.webhook_endpoints
    draft = EndpointDraft(url="https://example.com/hooks")
    made = await asyncio.gather(
        *(endpoints.make(hooked.tenant.id, draft) for _ in range(MOST_ENDPOINTS + 3)), return_exceptions=True
    )
    assert sum(isinstance(each, ConflictError) for each in made) == 3
    assert len(await endpoints.list_all(hooked.tenant.id)) == MOST_ENDPOINTS


async def test_deleted_endpoint_leaves_nothing_even_of_a_transaction_that_knew_it(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    endpoint = await hooked.endpoint(receiver)
    await tell(hooked, "a")
    await hooked.services.operations.webhook_endpoints.delete(hooked.tenant.id, endpoint.id)
    deliveries = hooked.services.connection.database["webhook_deliveries"]
    assert await deliveries.count_documents({}) == 0
    row = {"organization_id": hooked.tenant.id, "endpoint_id": endpoint.id, "state": "pending", "due_at": clock.now()}
    await deliveries.insert_one(row)
    await hooked.deliver()
    assert await deliveries.count_documents({}) == 0
