"""Pushes of items to a source's inbound address, signed by Standard Webhooks."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import SecretStr

from analytiq.client.calls import call
from analytiq.client.operations import Calls, operation
from analytiq.client.source_models import PushAnswer
from analytiq.client.steps import Flow, Request
from analytiq.errors import InvalidInputError

_PREFIX = "whsec_"


class PushCalls(Calls):
    """Pushes; they need no access token."""

    @operation
    def push(
        self,
        url: str,
        secret: SecretStr,
        items: Sequence[Mapping[str, Any]],
        *,
        message_id: str | None = None,
    ) -> Flow[PushAnswer]:
        """Push items to a source's inbound address. A message that is repeated is done once.

        Args:
            url: of `open_source_inbound`; its path counts.
            secret: the inbound secret, `whsec_…`.
            items: each with `id`, and `text`, `content` (base64) or `deleted`; also name, content_type, url, metadata.
            message_id: of a message that may have been sent before; None: a new one.

        Raises:
            InvalidInputError: the secret is none of this API.
        """
        body = json.dumps({"items": [dict(item) for item in items]}).encode()
        headers = _signed(message_id or uuid4().hex, body, secret)
        # With its message id, so that repeating it does nothing twice.
        request = Request(
            "POST", urlsplit(url).path, content=body, headers=headers, is_outside=True, is_repeatable=True
        )
        reply = yield from call(request)
        return PushAnswer.model_validate_json(reply.content)


def _signed(message_id: str, body: bytes, secret: SecretStr) -> dict[str, str]:
    try:
        key = base64.b64decode(secret.get_secret_value().removeprefix(_PREFIX), validate=True)
    except ValueError as error:
        raise InvalidInputError(f"The secret is not one that begins with {_PREFIX}. Copy it once more.") from error
    timestamp = str(int(time.time()))
    signed = f"{message_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    return {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{signature}",
    }
