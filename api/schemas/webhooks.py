"""Request and response bodies of webhook endpoints and their deliveries."""

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, ConfigDict, Field, StringConstraints

from analytiq.models.webhook import (
    DeliveryAttempt,
    DeliveryState,
    DisablingCause,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEventType,
)
from analytiq.operations.webhooks.endpoints import (
    LONGEST_DESCRIPTION,
    LONGEST_OVERLAP_SECONDS,
    LONGEST_URL,
    EndpointChanges,
    EndpointDraft,
    KeyedEndpoint,
)
from api.schemas.wire import NO_CONTROLS, Moment, RequestBody, ResponseBody

Url = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_URL)]
Description = Annotated[str, StringConstraints(max_length=LONGEST_DESCRIPTION), NO_CONTROLS]
EventTypes = Annotated[tuple[WebhookEventType, ...], Field(max_length=len(WebhookEventType))]
_URL = "Address that receives the events: https, on the public Internet unless the operator allows its host"
_TYPES = "Types of events; empty: all, also those of later releases"


class WebhookCreate(RequestBody):
    """An endpoint to make."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"url": "https://example.com/hooks", "event_types": ["document.indexed", "document.failed"]}]
        },
    )

    url: Url = Field(description=_URL)
    event_types: EventTypes = Field(default=(), description=_TYPES)
    description: Description = ""
    is_enabled: bool = True

    def to_draft(self) -> EndpointDraft:
        """Convert to the library's draft."""
        return EndpointDraft(**self.model_dump())


class WebhookUpdate(RequestBody):
    """Changed settings of an endpoint; left out: as before."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"description": "Orders"}]})

    url: Url | None = Field(default=None, description=_URL)
    event_types: EventTypes | None = Field(default=None, description=_TYPES)
    description: Description | None = None
    is_enabled: bool | None = Field(
        default=None, description="False gives up what is pending; it can be replayed once the endpoint is enabled"
    )

    def to_changes(self) -> EndpointChanges:
        """Convert to the library's changes."""
        return EndpointChanges(**self.model_dump())


class WebhookRotation(RequestBody):
    """A secret to replace."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"overlap_seconds": 86_400}]})

    overlap_seconds: int = Field(
        default=86_400, ge=0, le=LONGEST_OVERLAP_SECONDS, description="Time for which the secrets before sign as well"
    )


class WebhookResponse(ResponseBody):
    """An endpoint, without its secrets."""

    webhook_id: str
    url: str
    event_types: list[WebhookEventType]
    description: str
    is_enabled: bool
    disabled_by: DisablingCause | None = Field(description="`gone`: the endpoint answered 410; `person`: by a call")
    disabled_at: Moment | None
    created_at: Moment
    updated_at: Moment
    secret_count: int = Field(description="Secrets that sign now")
    failures: int = Field(description="Failed attempts since the last successful one")
    paused_until: Moment | None = Field(description="Time of the next attempt, since the latest ones failed")
    last_delivered_at: Moment | None

    @classmethod
    def from_endpoint(cls, endpoint: WebhookEndpoint, now: datetime) -> "WebhookResponse":
        """Build the response."""
        return cls.from_model(endpoint, **_fields(endpoint, now))


class WebhookWithSecret(WebhookResponse):
    """An endpoint with its new secret, which is never shown again."""

    secret: str

    @classmethod
    def from_keyed(cls, keyed: KeyedEndpoint, now: datetime) -> "WebhookWithSecret":
        """Build the response."""
        secret = keyed.secret.get_secret_value()
        return cls.from_model(keyed.endpoint, secret=secret, **_fields(keyed.endpoint, now))


class WebhookList(ResponseBody):
    """A page of endpoints, oldest first."""

    webhooks: list[WebhookResponse]
    total_count: int
    skip: int


class WebhookAttempt(ResponseBody):
    """One request to an endpoint."""

    at: Moment
    milliseconds: int
    status: int | None = Field(description="HTTP status of the answer; null without an answer")
    error: str | None
    answer: str = Field(description="The first bytes of the answer")

    @classmethod
    def from_attempt(cls, attempt: DeliveryAttempt) -> "WebhookAttempt":
        """Build the response."""
        return cls.from_model(attempt)


class WebhookDeliveryResponse(ResponseBody):
    """An event for one endpoint, with its latest attempts."""

    delivery_id: str
    event_id: str = Field(description="The header `webhook-id`: the same for every attempt and endpoint")
    type: WebhookEventType
    subject: str = Field(description="The object of the event. Events of a subject are delivered in order")
    body: str = Field(description="The request's body; empty once a document was deleted")
    state: DeliveryState
    created_at: Moment
    next_attempt_at: Moment | None
    attempt_count: int
    attempts: list[WebhookAttempt] = Field(description="The latest 20, oldest first")
    ended_at: Moment | None

    @classmethod
    def from_delivery(cls, delivery: WebhookDelivery) -> "WebhookDeliveryResponse":
        """Build the response."""
        return cls.from_model(
            delivery,
            delivery_id=delivery.id,
            next_attempt_at=delivery.due_at if delivery.state is DeliveryState.PENDING else None,
            attempts=[WebhookAttempt.from_attempt(each) for each in delivery.attempts],
        )


class WebhookDeliveryList(ResponseBody):
    """A page of deliveries, latest first."""

    deliveries: list[WebhookDeliveryResponse]
    total_count: int
    skip: int


class WebhookReplay(RequestBody):
    """Given up deliveries to send again."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"since": "2026-11-01T00:00:00Z"}]})

    since: AwareDatetime = Field(description="Events that happened at this time or later")


class WebhookReplayed(ResponseBody):
    """The number of deliveries that are sent again."""

    count: int


def _fields(endpoint: WebhookEndpoint, now: datetime) -> dict[str, object]:
    valid = [each for each in endpoint.secrets if each.expires_at is None or each.expires_at > now]
    paused_until = endpoint.paused_until
    return {
        "webhook_id": endpoint.id,
        "event_types": list(endpoint.event_types),
        "secret_count": len(valid),
        "paused_until": paused_until if paused_until is not None and paused_until > now else None,
    }
