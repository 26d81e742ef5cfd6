"""A program that pushes to an inbound address, signed by Standard Webhooks."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class SignedPush:
    """A request: its headers and body."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Pusher:
    """Signs by a secret; `late_seconds` is the error of its clock."""

    secret: str
    late_seconds: int = 0

    def items(self, *items: Mapping[str, Any], message_id: str | None = None) -> SignedPush:
        """Return a signed request with these items."""
        return self.signed(json.dumps({"items": items}).encode(), message_id=message_id)

    def signed(
        self, body: bytes, content_type: str = "application/json", *, message_id: str | None = None
    ) -> SignedPush:
        """Return a signed request with this body."""
        message_id = message_id or f"msg_{uuid4().hex}"
        timestamp = str(int(datetime.now(UTC).timestamp()) - self.late_seconds)
        content = f"{message_id}.{timestamp}.".encode() + body
        key = base64.b64decode(self.secret.removeprefix("whsec_"))
        signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        headers = {
            "content-type": content_type,
            "webhook-id": message_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": f"v1,{signature}",
        }
        return SignedPush(headers, body)
