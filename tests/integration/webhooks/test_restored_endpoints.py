"""Endpoints of an organization that comes back from a backup."""

from analytiq.models.webhook import WebhookEventType
from tests.integration.backup.archiving import archive_of, lose, restore_from
from tests.integration.webhooks.conftest import Hooked


async def test_endpoint_of_a_restored_organization_receives_the_next_events(hooked: Hooked) -> None:
    receiver = hooked.receiver()
    endpoint = await hooked.endpoint(receiver, WebhookEventType.DOCUMENT_EXTRACTED)
    connection, organization_id = hooked.services.connection, hooked.tenant.id
    archive, _ = await archive_of(connection, None)  # one of a single organization holds no secrets
    await lose(connection, organization_id)
    versions = connection.database["runtime_settings"]
    before = await versions.find_one({"_id": "webhook_endpoints"})
    await restore_from(connection, archive, organization_ids=(organization_id,))
    assert await versions.find_one({"_id": "webhook_endpoints"}) != before, "other processes read the endpoints again"
    process = await hooked.new_process()  # it has known nothing of the life before
    assert await process.operations.webhook_endpoints.get(organization_id, endpoint.id) == endpoint
    document = await hooked.tenant.document("whales.txt", "Whales sing in the deep sea.")
    await hooked.deliver(process)
    assert [each.data["document_id"] for each in receiver.received] == [document.id]
