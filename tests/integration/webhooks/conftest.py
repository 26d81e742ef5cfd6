"""Fixtures of the tests of webhooks: receivers, and an organization with endpoints to them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from analytiq.composition import Services
from analytiq.models.webhook import WebhookDelivery, WebhookEndpoint, WebhookEventType
from analytiq.operations.webhooks.endpoints import EndpointDraft
from analytiq.settings import WebhookSettings
from tests.fakes.webhook_receiver import WebhookReceiver
from tests.integration.conftest import Compose
from tests.integration.tenant import Tenant, new_tenant

SETTINGS = WebhookSettings(private_hosts=("127.0.0.1",), attempt_seconds=10, first_retry_seconds=3600)


@dataclass(slots=True)
class Hooked:
    """An organization, with a word each for what its endpoints do."""

    tenant: Tenant
    receivers: ExitStack
    new_process: Callable[..., Awaitable[Services]]

    @property
    def services(self) -> Services:
        return self.tenant.services

    def receiver(self) -> WebhookReceiver:
        """Start another receiver."""
        return self.receivers.enter_context(WebhookReceiver())

    async def endpoint(
        self, receiver: WebhookReceiver, *types: WebhookEventType, url: str | None = None
    ) -> WebhookEndpoint:
        """Make an endpoint that the receiver can verify."""
        draft = EndpointDraft(url=url or receiver.url, event_types=types)
        made = await self.services.operations.webhook_endpoints.make(self.tenant.id, draft)
        receiver.secrets.append(made.secret.get_secret_value())
        return made.endpoint

    async def deliver(self, services: Services | None = None) -> None:
        """Deliver what is due, until nothing is."""
        delivering = (services or self.services).operations.webhook_delivering
        while await delivering.begin_due():
            await delivering.settled()

    async def deliveries(self, endpoint: WebhookEndpoint) -> list[WebhookDelivery]:
        """All deliveries of an endpoint, oldest first."""
        endpoints = self.services.operations.webhook_endpoints
        found, _ = await endpoints.deliveries(self.tenant.id, endpoint.id, (), skip=0, limit=1000)
        return found[::-1]

    async def again(self, endpoint: WebhookEndpoint) -> WebhookEndpoint:
        """The endpoint as it is now."""
        return await self.services.operations.webhook_endpoints.get(self.tenant.id, endpoint.id)

    async def end_pauses(self) -> None:
        """Let waits of endpoints and deliveries be over, in place of the time."""
        database = self.services.connection.database
        await database["webhook_endpoints"].update_many({}, {"$set": {"paused_until": None}})
        await database["webhook_deliveries"].update_many(
            {"state": "pending"}, [{"$set": {"due_at": {"$subtract": ["$$NOW", 1000]}}}]
        )


@pytest.fixture
def receivers() -> Iterator[ExitStack]:
    """Receivers that end with the test."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
async def hooked(
    compose_services: Compose, receivers: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Hooked]:
    """An organization in one process, which knows its own endpoints at once."""
    monkeypatch.setattr("analytiq.operations.webhooks.endpoints.SETTLE_SECONDS", 0.0)
    processes: list[Services] = []

    async def new_process(**webhooks: Any) -> Services:
        processes.append(await compose_services(webhooks=SETTINGS.model_copy(update=webhooks)))
        return processes[-1]

    yield Hooked(await new_tenant(await new_process()), receivers, new_process)
    for process in processes:
        await process.operations.webhook_sender.close()
