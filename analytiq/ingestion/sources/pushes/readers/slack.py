"""Events of Slack: messages name the thread and the day that they belong to."""

from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from analytiq.ingestion.sources.pushes.protocol import (
    PushAnswer,
    PushCredentials,
    PushRefusedError,
    header,
    json_object,
    require_recent,
    require_signature,
    text_at,
)


def read_push(headers: Mapping[str, str], body: bytes, *, credentials: PushCredentials, now: datetime) -> PushAnswer:
    """See PushReader.

    Source: https://docs.slack.dev/authentication/verifying-requests-from-slack, …/apis/events-api.
    """
    timestamp = header(headers, "x-slack-request-timestamp")
    sent_at = require_recent(timestamp, now)
    version, _, given = header(headers, "x-slack-signature").partition("=")
    if version != "v0":
        raise PushRefusedError("The header 'x-slack-signature' has another version than v0.")
    require_signature(given, f"v0:{timestamp}:".encode() + body, credentials.secrets)
    event = json_object(body)
    if event.get("type") == "url_verification":
        challenge = text_at(event, "challenge") or ""
        return PushAnswer(f"challenge:{challenge[:200]}", sent_at, reply={"challenge": challenge})
    message_id = text_at(event, "event_id") or f"{timestamp}:{given}"
    return PushAnswer(message_id, sent_at, external_ids=_items_of(event.get("event")))


def _items_of(event: JsonValue) -> tuple[str, ...]:
    """Return the ids of the items that a message belongs to, before and after its change."""
    channel = text_at(event, "channel")
    if channel is None or text_at(event, "type") != "message":
        return ()
    found: dict[str, None] = {}
    for place in ((), ("message",), ("previous_message",)):
        for key in ("ts", "thread_ts", "deleted_ts"):
            timestamp = text_at(event, *place, key)
            day = _day_of(timestamp)
            if timestamp is None or day is None:
                continue
            found[f"{channel}:{day}"] = None
            if key == "thread_ts":
                found[f"{channel}:{timestamp}"] = None
    return tuple(found)


def _day_of(timestamp: str | None) -> str | None:
    seconds = (timestamp or "").partition(".")[0]
    if not seconds.isdecimal() or not seconds.isascii() or len(seconds) > 10:
        return None
    return str(datetime.fromtimestamp(int(seconds), UTC).date())
