"""Times of deliveries: of further attempts, of pauses of an endpoint, and of the end."""

import random
from datetime import datetime, timedelta

from analytiq.models.webhook import DeliveryState, WebhookDelivery
from analytiq.settings import WebhookSettings
from analytiq.storage.repositories.webhook_deliveries import DeliveryEnd

FACTOR = 3.0
"""Of each further wait: with 5 s at first, the fifth is 7 minutes, the ninth four hours."""
LONGEST_WAIT_SECONDS = 4 * 3600.0
LONGEST_PAUSE_SECONDS = 300.0
PATIENCE = 5
"""Refusals in a row before an endpoint that answers is paused: a single event may be what it refuses."""


def next_attempt(
    delivery: WebhookDelivery, now: datetime, retry_after: float | None, settings: WebhookSettings
) -> datetime:
    """Return the time of the attempt after a failed one: exponential, with jitter down to a half."""
    exponent = min(delivery.attempt_count, 30)
    bound = min(LONGEST_WAIT_SECONDS, settings.first_retry_seconds * FACTOR**exponent)
    seconds = random.uniform(bound / 2, bound)  # noqa: S311  # spreads attempts, guards no secret
    return now + timedelta(seconds=max(seconds, retry_after or 0.0))


def end_of_failed(delivery: WebhookDelivery, now: datetime, settings: WebhookSettings) -> DeliveryEnd | None:
    """Return the end of a delivery that has failed for days; None if it is tried again."""
    is_over = now - delivery.queued_at >= timedelta(days=settings.given_up_after_days)
    return ended(DeliveryState.DEAD, now, settings) if is_over else None


def ended(state: DeliveryState, now: datetime, settings: WebhookSettings) -> DeliveryEnd:
    """Return an end, whose row is kept for days."""
    return DeliveryEnd(state, now + timedelta(days=settings.kept_days))


def pause_until(failures: int, now: datetime, *, is_silent: bool) -> datetime | None:
    """Return the end of an endpoint's pause after so many failures in a row; None: no pause."""
    exponent = failures if is_silent else failures - PATIENCE
    if exponent < 1:
        return None
    bound = min(LONGEST_PAUSE_SECONDS, 2.0 ** min(exponent, 30))
    return now + timedelta(seconds=random.uniform(bound / 2, bound))  # noqa: S311  # spreads attempts
