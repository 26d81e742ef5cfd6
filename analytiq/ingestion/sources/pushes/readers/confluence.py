"""Webhooks of Confluence: events name pages, blog posts and attachments."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from analytiq.ingestion.sources.pushes.protocol import (
    PushAnswer,
    PushCredentials,
    PushRefusedError,
    body_hash,
    header,
    json_object,
    require_signature,
    text_at,
)

_PLACES = (("page",), ("blog",), ("blogpost",), ("content",), ("attachedTo",), ("comment", "parent"), ("attachment",))


def read_push(headers: Mapping[str, str], body: bytes, *, credentials: PushCredentials, now: datetime) -> PushAnswer:
    """See PushReader.

    Source: https://confluence.atlassian.com/doc/managing-webhooks-1021225606.html (X-Hub-Signature).
    """
    del now  # Confluence signs no time of the delivery: equal bodies are one message.
    scheme, _, given = header(headers, "x-hub-signature").partition("=")
    if scheme != "sha256":
        raise PushRefusedError("The header 'x-hub-signature' has another scheme than sha256.")
    require_signature(given, body, credentials.secrets)
    event = json_object(body)
    found: list[str | None] = [text_at(event, *place, "id") for place in _PLACES]
    attachments: JsonValue = event.get("attachments")
    found += [text_at(each, "id") for each in attachments] if isinstance(attachments, list) else []
    return PushAnswer(body_hash(body), external_ids=tuple(dict.fromkeys(each for each in found if each is not None)))
