"""Signatures of deliveries by Standard Webhooks (standardwebhooks.com, version 1)."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

from pydantic import SecretStr

from analytiq.ingestion.sources.pushes.standard_webhooks import PREFIX


def signed_headers(event_id: str, sent_at: datetime, body: bytes, secrets: Sequence[SecretStr]) -> dict[str, str]:
    """Return the headers of a request: its id, the time, and a signature by each secret."""
    timestamp = str(int(sent_at.timestamp()))
    content = b".".join((event_id.encode(), timestamp.encode(), body))
    return {
        "webhook-id": event_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(_signature(secret, content) for secret in secrets),
    }


def _signature(secret: SecretStr, content: bytes) -> str:
    key = base64.b64decode(secret.get_secret_value().removeprefix(PREFIX), validate=True)
    return f"v1,{base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()}"
