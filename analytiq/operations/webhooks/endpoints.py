"""Endpoints of an organization for people: made, changed, tested, their secrets rotated, deliveries replayed."""

import asyncio
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, ConflictError, InvalidInputError, NotFoundError
from analytiq.inference.credentials.encryption import Vault
from analytiq.ingestion.sources.connections.outbound import public_or_named
from analytiq.ingestion.sources.pushes.standard_webhooks import new_secret
from analytiq.models.webhook import (
    SELECTABLE_TYPES,
    DeliveryState,
    DisablingCause,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEvent,
    WebhookEventType,
    WebhookSecret,
)
from analytiq.operations.webhooks.schedule import ended
from analytiq.operations.webhooks.sending import SETTING, WebhookSender
from analytiq.settings import WebhookSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.webhook_outbox import SETTLE_SECONDS, new_delivery, new_event_id

LONGEST_URL = 2000
LONGEST_DESCRIPTION = 500
LONGEST_OVERLAP_SECONDS = 7 * 86_400
MOST_SECRETS = 5
TEST_SECONDS = 3600.0
"""Time for which no worker sends a test that the caller's process sends itself."""


@dataclass(frozen=True, slots=True)
class EndpointDraft:
    """The settings of an endpoint; no event types: all."""

    url: str
    event_types: tuple[WebhookEventType, ...] = ()
    description: str = ""
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class EndpointChanges:
    """Changed settings; None: as before."""

    url: str | None = None
    event_types: tuple[WebhookEventType, ...] | None = None
    description: str | None = None
    is_enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class KeyedEndpoint:
    """An endpoint with its new secret, which is never shown again."""

    endpoint: WebhookEndpoint
    secret: SecretStr = field(repr=False)


class WebhookEndpoints:
    """Endpoints, by organization.

    An endpoint that was made, enabled or given more types receives every change that begins after the call has
    returned: see `analytiq.storage.repositories.webhook_outbox`.
    """

    def __init__(self, rows: Repositories, vault: Vault, sender: WebhookSender, settings: WebhookSettings) -> None:
        self._endpoints = rows.webhook_endpoints
        self._deliveries = rows.webhook_deliveries
        self._vault = vault
        self._sender = sender
        self._settings = settings

    async def make(self, organization_id: str, draft: EndpointDraft) -> KeyedEndpoint:
        """Make an endpoint with a secret of its own.

        Raises:
            InvalidInputError: the address cannot be called.
            ConflictError: the organization has too many endpoints.
        """
        now, secret = clock.now(), new_secret()
        endpoint = WebhookEndpoint(
            id=new_id(),
            organization_id=organization_id,
            url=self._validated(draft.url),
            event_types=_selected(draft.event_types),
            description=draft.description,
            secrets=(WebhookSecret(sealed=self._vault.encrypt(secret), created_at=now),),
            created_at=now,
            updated_at=now,
            is_enabled=draft.is_enabled,
            disabled_by=None if draft.is_enabled else DisablingCause.PERSON,
            disabled_at=None if draft.is_enabled else now,
        )
        await self._endpoints.insert(endpoint)
        await asyncio.sleep(SETTLE_SECONDS)
        return KeyedEndpoint(endpoint, secret)

    async def list_all(self, organization_id: str) -> list[WebhookEndpoint]:
        """Return the endpoints of an organization, oldest first."""
        return await self._endpoints.of_organization(organization_id)

    async def get(self, organization_id: str, endpoint_id: str) -> WebhookEndpoint:
        """Return an endpoint.

        Raises:
            NotFoundError: the organization has no such endpoint.
        """
        endpoint = await self._endpoints.get(organization_id, endpoint_id)
        if endpoint is None:
            raise _unknown(endpoint_id)
        return endpoint

    async def change(self, organization_id: str, endpoint_id: str, changes: EndpointChanges) -> WebhookEndpoint:
        """Change settings; a disabled endpoint gives up what is pending, and an enabled one begins without pauses.

        Raises:
            NotFoundError: the organization has no such endpoint.
            InvalidInputError: the address cannot be called.
        """
        endpoint, now = await self.get(organization_id, endpoint_id), clock.now()
        wanted: dict[str, object] = {}
        if changes.url is not None:
            wanted["url"] = self._validated(changes.url)
        if changes.event_types is not None:
            wanted["event_types"] = _selected(changes.event_types)
        if changes.description is not None:
            wanted["description"] = changes.description
        if changes.is_enabled is not None and changes.is_enabled is not endpoint.is_enabled:
            wanted |= {
                "is_enabled": changes.is_enabled,
                "disabled_by": None if changes.is_enabled else DisablingCause.PERSON,
                "disabled_at": None if changes.is_enabled else now,
                "failures": 0,
                "paused_until": None,
            }
        if not wanted:
            return endpoint
        stored = await self._endpoints.change(endpoint.model_copy(update=wanted), list(wanted))
        if stored is None:
            raise _unknown(endpoint_id)
        await asyncio.sleep(SETTLE_SECONDS)
        if not stored.is_enabled:
            await self._deliveries.give_up_all(endpoint_id, ended(DeliveryState.DEAD, now, self._settings))
        return stored

    async def delete(self, organization_id: str, endpoint_id: str) -> None:
        """Delete an endpoint with its deliveries.

        Raises:
            NotFoundError: the organization has no such endpoint.
        """
        if not await self._endpoints.delete(organization_id, endpoint_id):
            raise _unknown(endpoint_id)
        await self._deliveries.delete_of_endpoint(endpoint_id)

    async def rotate(self, organization_id: str, endpoint_id: str, *, overlap_seconds: int) -> KeyedEndpoint:
        """Give an endpoint a new secret; for `overlap_seconds`, those before sign as well.

        Raises:
            NotFoundError: the organization has no such endpoint.
            ConflictError: another rotation came between.
        """
        endpoint, now, secret = await self.get(organization_id, endpoint_id), clock.now(), new_secret()
        until = now + timedelta(seconds=overlap_seconds)
        before = [
            each.model_copy(update={"expires_at": min(each.expires_at or until, until)}) for each in endpoint.secrets
        ]
        valid = [each for each in before if each.expires_at is not None and each.expires_at > now]
        made = WebhookSecret(sealed=self._vault.encrypt(secret), created_at=now)
        changed = endpoint.model_copy(update={"secrets": (made, *valid)[:MOST_SECRETS]})
        stored = await self._endpoints.replace_secrets(endpoint, changed)
        if stored is None:
            raise ConflictError("The secret was rotated or the endpoint deleted meanwhile. Reload, then decide again.")
        return KeyedEndpoint(stored, secret)

    async def test(self, organization_id: str, endpoint_id: str) -> WebhookDelivery:
        """Send a test event once, now, also to a disabled endpoint; return it with its attempt."""
        endpoint = await self.get(organization_id, endpoint_id)
        now = clock.now()
        event = WebhookEvent(WebhookEventType.TEST, f"webhook_endpoint:{endpoint_id}:{new_id()}", {"test": True})
        delivery = new_delivery(endpoint, event, new_event_id())
        await self._deliveries.insert(delivery.model_copy(update={"due_at": now + timedelta(seconds=TEST_SECONDS)}))
        sent = await self._sender.send(endpoint, delivery)
        state = DeliveryState.DELIVERED if sent.is_delivered else DeliveryState.DEAD
        end = ended(state, clock.now(), self._settings)
        await self._deliveries.note_attempt(delivery, sent.attempt, due_at=now, end=end)
        if sent.is_delivered:
            await self._endpoints.note_success(endpoint)
        return await self.delivery(organization_id, endpoint_id, delivery.id)

    async def deliveries(
        self, organization_id: str, endpoint_id: str, states: Sequence[DeliveryState], *, skip: int, limit: int
    ) -> tuple[list[WebhookDelivery], int]:
        """Return a page of an endpoint's deliveries, latest first, and their number; no states: all."""
        await self.get(organization_id, endpoint_id)
        return await self._deliveries.page(organization_id, endpoint_id, states, skip=skip, limit=limit)

    async def delivery(self, organization_id: str, endpoint_id: str, delivery_id: str) -> WebhookDelivery:
        """Return a delivery with its attempts.

        Raises:
            NotFoundError: the endpoint has no such delivery.
        """
        delivery = await self._deliveries.get(organization_id, endpoint_id, delivery_id)
        if delivery is None:
            raise NotFoundError(f"The endpoint has no delivery with the id {delivery_id!r}. List its deliveries.")
        return delivery

    async def replay(self, organization_id: str, endpoint_id: str, delivery_id: str) -> WebhookDelivery:
        """Send a delivered or given up event again, with the same event id.

        Raises:
            NotFoundError: the endpoint has no such delivery.
            ConflictError: it is pending, its endpoint is disabled, or its document was deleted.
        """
        await self._require_enabled(organization_id, endpoint_id)
        delivery = await self.delivery(organization_id, endpoint_id, delivery_id)
        if not await self._deliveries.replay(organization_id, endpoint_id, delivery_id=delivery_id):
            reason = "is pending already" if delivery.body else "is about a deleted document, and its content is erased"
            raise ConflictError(f"The delivery {reason}. It cannot be replayed.")
        return await self.delivery(organization_id, endpoint_id, delivery_id)

    async def replay_failed(self, organization_id: str, endpoint_id: str, *, since: datetime) -> int:
        """Send again all given up events that happened since a time; return their number.

        Raises:
            NotFoundError: the organization has no such endpoint.
            ConflictError: the endpoint is disabled.
        """
        await self._require_enabled(organization_id, endpoint_id)
        return await self._deliveries.replay(organization_id, endpoint_id, since=since)

    async def _require_enabled(self, organization_id: str, endpoint_id: str) -> None:
        endpoint = await self.get(organization_id, endpoint_id)
        if not endpoint.is_enabled:
            raise ConflictError("The endpoint is disabled. Enable it, then replay.")

    def _validated(self, url: str) -> str:
        """Return the address if it may be called; names are resolved when they are called."""
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise _wrong("The address cannot be read. It looks like https://example.com/hooks.") from None
        if len(url) > LONGEST_URL or any(character <= " " or character == "\x7f" for character in url):
            raise _wrong(f"The address has spaces, control characters or more than {LONGEST_URL} characters.")
        if not host or parts.scheme not in {"https", "http"}:
            raise _wrong("The address is not of the form https://example.com/hooks.")
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise _wrong("The address has a user, a password or a fragment. Requests are signed instead.")
        is_named = host.lower().rstrip(".") in {name.lower().rstrip(".") for name in self._settings.private_hosts}
        if parts.scheme == "http" and not is_named:
            raise _wrong(f"The address is not https. Only hosts that the operator names in {SETTING} may be http.")
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return url
        try:
            public_or_named(self._settings.private_hosts, SETTING)(host, [host])
        except AccessDeniedError as error:
            raise _wrong(error.detail) from error
        return url


def _selected(event_types: Sequence[WebhookEventType]) -> tuple[WebhookEventType, ...]:
    """Return the types in their usual order, each once."""
    if WebhookEventType.TEST in event_types:
        raise InvalidInputError.of_field("event_types", "Tests are sent on request, to every endpoint. Leave it out.")
    return tuple(each for each in SELECTABLE_TYPES if each in event_types)


def _unknown(endpoint_id: str) -> NotFoundError:
    return NotFoundError(f"No webhook endpoint has the id {endpoint_id!r}. List the endpoints to find it.")


def _wrong(reason: str) -> InvalidInputError:
    return InvalidInputError.of_field("url", reason)
