"""`/webhooks`: endpoints that receive events, and their deliveries."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from analytiq import clock
from analytiq.models.webhook import DeliveryState
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.webhooks import (
    WebhookCreate,
    WebhookDeliveryList,
    WebhookDeliveryResponse,
    WebhookList,
    WebhookReplay,
    WebhookReplayed,
    WebhookResponse,
    WebhookRotation,
    WebhookUpdate,
    WebhookWithSecret,
)

router = APIRouter(prefix="/webhooks", tags=["webhooks"], route_class=ApiRoute)

State = Annotated[DeliveryState | None, Query(description="Only deliveries in this state")]


@router.post("", status_code=201, operation_id="create_webhook")
async def create_webhook(
    services: ServicesOf, organization: CurrentOrganization, body: WebhookCreate
) -> WebhookWithSecret:
    """Make an endpoint. It receives every change that begins after the answer. The secret is shown once."""
    made = await services.operations.webhook_endpoints.make(organization.id, body.to_draft())
    return WebhookWithSecret.from_keyed(made, clock.now())


@router.get("", operation_id="list_webhooks")
async def list_webhooks(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> WebhookList:
    """List the endpoints, oldest first."""
    found, now = await services.operations.webhook_endpoints.list_all(organization.id), clock.now()
    shown = [WebhookResponse.from_endpoint(each, now) for each in found[skip : skip + limit]]
    return WebhookList(webhooks=shown, total_count=len(found), skip=skip)


@router.get("/{webhook_id}", operation_id="get_webhook")
async def get_webhook(services: ServicesOf, organization: CurrentOrganization, webhook_id: str) -> WebhookResponse:
    """Return an endpoint."""
    endpoint = await services.operations.webhook_endpoints.get(organization.id, webhook_id)
    return WebhookResponse.from_endpoint(endpoint, clock.now())


@router.put("/{webhook_id}", operation_id="update_webhook")
async def update_webhook(
    services: ServicesOf, organization: CurrentOrganization, webhook_id: str, body: WebhookUpdate
) -> WebhookResponse:
    """Change an endpoint, enable or disable it. Every change that begins after the answer follows the new settings."""
    changed = await services.operations.webhook_endpoints.change(organization.id, webhook_id, body.to_changes())
    return WebhookResponse.from_endpoint(changed, clock.now())


@router.delete("/{webhook_id}", status_code=204, operation_id="delete_webhook")
async def delete_webhook(services: ServicesOf, organization: CurrentOrganization, webhook_id: str) -> Response:
    """Delete an endpoint with its deliveries; pending ones are not sent."""
    await services.operations.webhook_endpoints.delete(organization.id, webhook_id)
    return Response(status_code=204)


@router.post("/{webhook_id}/rotate", operation_id="update_webhook_secret")
async def update_webhook_secret(
    services: ServicesOf, organization: CurrentOrganization, webhook_id: str, body: WebhookRotation
) -> WebhookWithSecret:
    """Replace the secret. Both sign each request until the overlap ends. The new one is shown once."""
    rotated = await services.operations.webhook_endpoints.rotate(
        organization.id, webhook_id, overlap_seconds=body.overlap_seconds
    )
    return WebhookWithSecret.from_keyed(rotated, clock.now())


@router.post("/{webhook_id}/test", operation_id="test_webhook")
async def test_webhook(
    services: ServicesOf, organization: CurrentOrganization, webhook_id: str
) -> WebhookDeliveryResponse:
    """Send a `webhook.test` event now, once; return it with the endpoint's answer."""
    delivery = await services.operations.webhook_endpoints.test(organization.id, webhook_id)
    return WebhookDeliveryResponse.from_delivery(delivery)


@router.get("/{webhook_id}/deliveries", operation_id="list_webhook_deliveries")
async def list_webhook_deliveries(
    services: ServicesOf,
    organization: CurrentOrganization,
    webhook_id: str,
    state: State = None,
    skip: Skip = 0,
    limit: Limit = 10,
) -> WebhookDeliveryList:
    """List deliveries with their attempts, latest first."""
    states = () if state is None else (state,)
    found, total = await services.operations.webhook_endpoints.deliveries(
        organization.id, webhook_id, states, skip=skip, limit=limit
    )
    deliveries = [WebhookDeliveryResponse.from_delivery(each) for each in found]
    return WebhookDeliveryList(deliveries=deliveries, total_count=total, skip=skip)


@router.get("/{webhook_id}/deliveries/{delivery_id}", operation_id="get_webhook_delivery")
async def get_webhook_delivery(
    services: ServicesOf, organization: CurrentOrganization, webhook_id: str, delivery_id: str
) -> WebhookDeliveryResponse:
    """Return a delivery with its attempts."""
    delivery = await services.operations.webhook_endpoints.delivery(organization.id, webhook_id, delivery_id)
    return WebhookDeliveryResponse.from_delivery(delivery)


@router.post("/{webhook_id}/deliveries/{delivery_id}/replay", operation_id="replay_webhook_delivery")
async def replay_webhook_delivery(
    services: ServicesOf, organization: CurrentOrganization, webhook_id: str, delivery_id: str
) -> WebhookDeliveryResponse:
    """Send an ended delivery again, with the same event id."""
    delivery = await services.operations.webhook_endpoints.replay(organization.id, webhook_id, delivery_id)
    return WebhookDeliveryResponse.from_delivery(delivery)


@router.post("/{webhook_id}/replay", operation_id="replay_webhook_deliveries")
async def replay_webhook_deliveries(
    services: ServicesOf, organization: CurrentOrganization, webhook_id: str, body: WebhookReplay
) -> WebhookReplayed:
    """Send all given up deliveries of events since a time again."""
    count = await services.operations.webhook_endpoints.replay_failed(organization.id, webhook_id, since=body.since)
    return WebhookReplayed(count=count)
