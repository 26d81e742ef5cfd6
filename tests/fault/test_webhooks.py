"""Workers killed between a commit and its delivery, and within the delivery: each event comes at least once."""

import pytest

from analytiq import clock
from analytiq.ingestion.sources.pushes.standard_webhooks import new_secret
from analytiq.models.webhook import WebhookEndpoint, WebhookSecret
from analytiq.storage.ids import new_id
from tests.fakes.webhook_receiver import WebhookReceiver
from tests.fault.site import Site
from tests.fault.worker_process import Fault

SETTINGS = {"ANALYTIQ_WEBHOOKS__PRIVATE_HOSTS": '["127.0.0.1"]', "ANALYTIQ_WEBHOOKS__ATTEMPT_SECONDS": "5"}
SHORT_LEASE = {
    "analytiq.operations.webhooks.delivering.LEASE_MARGIN_SECONDS": 0.0,
    "analytiq.operations.webhooks.delivering.RENEW_SECONDS": 1.0,
    "analytiq.operations.webhooks.delivering.LOOK_SECONDS": 0.1,
}
NO_LOOK = {"analytiq.operations.webhooks.delivering.LOOK_SECONDS": 3600.0}
"""Its one look is before the first change: what it commits is not delivered by it."""


@pytest.mark.parametrize(
    ("checkpoint", "constants"),
    [
        ("indexing.committed", NO_LOOK),
        ("webhooks.answered", SHORT_LEASE),
    ],
)
async def test_worker_killed_before_or_while_it_delivers_loses_no_event(
    site: Site, checkpoint: str, constants: dict[str, float]
) -> None:
    with WebhookReceiver() as receiver:
        await make_endpoint(site, receiver)
        await site.tenant.knowledge_base()
        killed = site.processes.worker(Fault(checkpoint), concurrency=1, settings=SETTINGS, constants=constants)
        documents = [(await site.tenant.upload(f"{n}.txt", f"Text number {n}.")).document.id for n in range(3)]
        await killed.reach(checkpoint)
        await killed.end()
        site.processes.worker(settings=SETTINGS, constants=SHORT_LEASE)

        async def all_came() -> bool:
            indexed = {each.data["document_id"] for each in receiver.of("document.indexed")}
            return indexed == set(documents) and not await pending(site)

        await site.until(all_came, site.jobs)
        for document_id in documents:
            told = [each for each in receiver.received if each.data.get("document_id") == document_id]
            # A repeated event has the same id, and comes before any later one of its document.
            once = list({each.event_id: each.type for each in told}.values())
            assert once == ["document.extracted", "document.indexed"]
        assert receiver.refused == 0


async def make_endpoint(site: Site, receiver: WebhookReceiver) -> None:
    """Store an endpoint before any worker has begun."""
    secret, now = new_secret(), clock.now()
    receiver.secrets.append(secret.get_secret_value())
    sealed = site.services.inference.vault.encrypt(secret)
    await site.services.repositories.webhook_endpoints.insert(
        WebhookEndpoint(
            id=new_id(),
            organization_id=site.tenant.id,
            url=receiver.url,
            secrets=(WebhookSecret(sealed=sealed, created_at=now),),
            created_at=now,
            updated_at=now,
        )
    )


async def pending(site: Site) -> int:
    """Count the deliveries that have not ended."""
    return int(await site.database["webhook_deliveries"].count_documents({"state": "pending"}))
