"""Operations on webhook endpoints and their deliveries."""

from collections.abc import Sequence
from datetime import datetime

from analytiq.client.calls import all_items, delete, get, given, post, put
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Items
from analytiq.client.webhook_models import KeyedWebhook, Webhook, WebhookDelivery, WebhookReplayed


class WebhookCalls(Calls):
    """Webhooks."""

    @listing
    def webhooks(self) -> Items[Webhook]:
        """Yield the endpoints, oldest first."""
        return all_items("/webhooks", "webhooks", Webhook)

    @operation
    def webhook(self, webhook_id: str) -> Flow[Webhook]:
        """Return an endpoint."""
        return get(_path(webhook_id), Webhook)

    @operation
    def create_webhook(
        self, url: str, *, event_types: Sequence[str] = (), description: str = "", is_enabled: bool = True
    ) -> Flow[KeyedWebhook]:
        """Make an endpoint, whose secret is shown once; no types: all."""
        body = {"url": url, "event_types": list(event_types), "description": description, "is_enabled": is_enabled}
        return post("/webhooks", KeyedWebhook, body)

    @operation
    def update_webhook(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        event_types: Sequence[str] | None = None,
        description: str | None = None,
        is_enabled: bool | None = None,
    ) -> Flow[Webhook]:
        """Change the settings that are not None."""
        types = None if event_types is None else list(event_types)
        body = given(url=url, event_types=types, description=description, is_enabled=is_enabled)
        return put(_path(webhook_id), Webhook, body)

    @operation
    def delete_webhook(self, webhook_id: str) -> Flow[None]:
        """Delete an endpoint with its deliveries."""
        return delete(_path(webhook_id))

    @operation
    def rotate_webhook_secret(self, webhook_id: str, *, overlap_seconds: int = 86_400) -> Flow[KeyedWebhook]:
        """Replace the secret; those before sign as well until the overlap ends."""
        return post(f"{_path(webhook_id)}/rotate", KeyedWebhook, {"overlap_seconds": overlap_seconds})

    @operation
    def test_webhook(self, webhook_id: str) -> Flow[WebhookDelivery]:
        """Send a test event now, and return it with the endpoint's answer."""
        return post(f"{_path(webhook_id)}/test", WebhookDelivery)

    @listing
    def webhook_deliveries(self, webhook_id: str, *, state: str | None = None) -> Items[WebhookDelivery]:
        """Yield the deliveries of an endpoint, latest first."""
        return all_items(f"{_path(webhook_id)}/deliveries", "deliveries", WebhookDelivery, {"state": state})

    @operation
    def webhook_delivery(self, webhook_id: str, delivery_id: str) -> Flow[WebhookDelivery]:
        """Return a delivery with its attempts."""
        return get(f"{_path(webhook_id)}/deliveries/{segment(delivery_id)}", WebhookDelivery)

    @operation
    def replay_webhook_delivery(self, webhook_id: str, delivery_id: str) -> Flow[WebhookDelivery]:
        """Send an ended delivery again, with the same event id."""
        return post(f"{_path(webhook_id)}/deliveries/{segment(delivery_id)}/replay", WebhookDelivery)

    @operation
    def replay_webhook_deliveries(self, webhook_id: str, *, since: datetime) -> Flow[WebhookReplayed]:
        """Send all given up deliveries of events since a time again; return their number."""
        return post(f"{_path(webhook_id)}/replay", WebhookReplayed, {"since": since.isoformat()})


def _path(webhook_id: str) -> str:
    return f"/webhooks/{segment(webhook_id)}"
