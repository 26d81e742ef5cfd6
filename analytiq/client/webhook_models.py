"""Answers about webhooks."""

from datetime import datetime

from analytiq.client.answers import Answer


class Webhook(Answer):
    """An endpoint, without its secrets. No event types: all."""

    webhook_id: str
    url: str
    event_types: list[str]
    description: str
    is_enabled: bool
    disabled_by: str | None
    disabled_at: datetime | None
    created_at: datetime
    updated_at: datetime
    secret_count: int
    failures: int
    paused_until: datetime | None
    last_delivered_at: datetime | None


class KeyedWebhook(Webhook):
    """An endpoint with its new secret, which is never shown again."""

    secret: str


class WebhookAttempt(Answer):
    """One request to an endpoint; without an answer `status` is None."""

    at: datetime
    milliseconds: int
    status: int | None
    error: str | None
    answer: str


class WebhookDelivery(Answer):
    """An event for one endpoint. States: pending, delivered, dead."""

    delivery_id: str
    event_id: str
    type: str
    subject: str
    body: str
    state: str
    created_at: datetime
    next_attempt_at: datetime | None
    attempt_count: int
    attempts: list[WebhookAttempt]
    ended_at: datetime | None


class WebhookReplayed(Answer):
    """The number of deliveries that are sent again."""

    count: int
