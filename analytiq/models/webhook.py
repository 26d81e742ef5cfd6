"""Webhook endpoints of organizations, the events they receive, and the deliveries of those."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from analytiq.models.stored import Stored


class WebhookEventType(StrEnum):
    """The type of an event, with the object that it is about and that orders it."""

    DOCUMENT_EXTRACTED = "document.extracted"
    DOCUMENT_FAILED = "document.failed"
    DOCUMENT_INDEXED = "document.indexed"
    DOCUMENT_REMOVED = "document.removed"
    KNOWLEDGE_BASE_ACTIVE = "knowledge_base.active"
    KNOWLEDGE_BASE_FAILED = "knowledge_base.failed"
    PROMPT_RUN_FINISHED = "prompt_run.finished"
    SOURCE_RUN_FINISHED = "source_run.finished"
    QUOTA_NEAR = "quota.near"
    QUOTA_REACHED = "quota.reached"
    DRIFT_REPAIRED = "drift.repaired"
    TEST = "webhook.test"
    """Sent by a person's request only; endpoints receive it whatever types they have."""


SELECTABLE_TYPES = tuple(each for each in WebhookEventType if each is not WebhookEventType.TEST)


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """A change to tell endpoints.

    Attributes:
        type: of the event.
        subject: the object that changed, `document:ID`; events of one subject are delivered in the order of commits.
        data: ids, codes and numbers of the change, never text of documents: rows outlive what they are about.
    """

    type: WebhookEventType
    subject: str
    data: Mapping[str, JsonValue]

    @classmethod
    def of_document(cls, event_type: WebhookEventType, document_id: str, **data: JsonValue) -> "WebhookEvent":
        """Build an event about a document."""
        return cls(event_type, document_subject(document_id), {"document_id": document_id, **data})


QUOTA_NEAR_SHARE = 0.8
"""Share of a quota whose use is told once it is reached, before the whole is."""


def quota_event(organization_id: str, quota: str, limit: int | None, before: int, used: int) -> WebhookEvent | None:
    """Return the event of a use that has just reached a share of a limit or all of it; None otherwise.

    Args:
        organization_id: owner of the quota.
        quota: `spus`, `storage_bytes` or `documents`.
        limit: the quota; None: unlimited.
        before: the use before the change.
        used: the use after it.
    """
    if not limit:
        return None
    near = limit * QUOTA_NEAR_SHARE
    data: dict[str, JsonValue] = {"quota": quota, "limit": limit, "used": used}
    subject = f"quota:{organization_id}:{quota}"
    if before < limit <= used:
        return WebhookEvent(WebhookEventType.QUOTA_REACHED, subject, data)
    if before < near <= used:
        return WebhookEvent(WebhookEventType.QUOTA_NEAR, subject, data)
    return None


def document_subject(document_id: str) -> str:
    """Return the subject of a document's events."""
    return f"document:{document_id}"


class WebhookSecret(Stored):
    """A secret that signs deliveries, encrypted under the installation's secret key."""

    sealed: str = Field(repr=False)
    created_at: datetime
    expires_at: datetime | None = None
    """Since when a later secret alone signs; None for the latest."""


class DisablingCause(StrEnum):
    """The cause for which an endpoint receives nothing."""

    PERSON = "person"
    GONE = "gone"
    """The endpoint answered 410 Gone."""


class WebhookEndpoint(Stored):
    """A row of `webhook_endpoints`: an address of an organization that receives events."""

    id: str
    organization_id: str
    url: str
    event_types: tuple[WebhookEventType, ...] = ()
    """Empty: all."""
    description: str = ""
    is_enabled: bool = True
    disabled_by: DisablingCause | None = None
    disabled_at: datetime | None = None
    secrets: tuple[WebhookSecret, ...] = Field(default=(), repr=False)
    """Latest first."""
    created_at: datetime
    updated_at: datetime
    failures: int = 0
    """Failed attempts since the last successful one."""
    paused_until: datetime | None = None
    """Time before which nothing is sent, since the latest attempts failed."""
    last_delivered_at: datetime | None = None

    def wants(self, event_type: WebhookEventType) -> bool:
        """Return True if the endpoint receives events of this type."""
        return not self.event_types or event_type in self.event_types


class DeliveryState(StrEnum):
    """The state of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"
    """Given up after days, or since its endpoint was disabled; it can be replayed."""


class DeliveryAttempt(Stored):
    """One request to an endpoint."""

    at: datetime
    milliseconds: int
    status: int | None = None
    """HTTP status of the answer; None without an answer."""
    error: str | None = None
    """The reason of a failure; None for a success."""
    answer: str = ""
    """The first bytes of the answer."""


class WebhookDelivery(Stored):
    """A row of `webhook_deliveries`: an event for one endpoint, written in the transaction of the change."""

    id: str
    organization_id: str
    endpoint_id: str
    event_id: str
    """The same for all endpoints and attempts: receivers drop repeated ids."""
    type: WebhookEventType
    subject: str
    body: str
    """The request's JSON; empty once the document was deleted and the deletion delivered."""
    state: DeliveryState = DeliveryState.PENDING
    created_at: datetime
    queued_at: datetime
    """The time of the event, or of its replay: days until it is given up count from here."""
    due_at: datetime
    attempt_count: int = 0
    attempts: tuple[DeliveryAttempt, ...] = ()
    """The latest attempts, oldest first."""
    ended_at: datetime | None = None
    expires_at: datetime | None = None
