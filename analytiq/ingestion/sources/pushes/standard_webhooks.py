"""Signatures by Standard Webhooks (standardwebhooks.com, version 1): `webhook-id`, `-timestamp` and `-signature`."""

import base64
import binascii
import hashlib
import hmac
import secrets as randomness
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import SecretStr

from analytiq.ingestion.sources.pushes.protocol import (
    LONGEST_MESSAGE_ID,
    PushCredentials,
    PushRefusedError,
    header,
    require_recent,
)

PREFIX = "whsec_"
SECRET_BYTES = 32
SIGNATURE_HEADER = "webhook-signature"
MOST_SIGNATURES = 20


@dataclass(frozen=True, slots=True)
class SignedHead:
    """The headers of a signed request, before its body was read."""

    message_id: str
    timestamp: str
    sent_at: datetime
    signatures: tuple[str, ...]

    @classmethod
    def of_headers(cls, headers: Mapping[str, str], now: datetime) -> "SignedHead":
        """Check all that can be checked without the body.

        Raises:
            PushRefusedError: a header is missing, or the time is too far from `now`.
        """
        message_id = header(headers, "webhook-id", longest=LONGEST_MESSAGE_ID)
        timestamp = header(headers, "webhook-timestamp")
        given = header(headers, SIGNATURE_HEADER).split(" ")[:MOST_SIGNATURES]
        signatures = tuple(each[3:] for each in given if each.startswith("v1,"))
        if not signatures:
            raise PushRefusedError(f"The header {SIGNATURE_HEADER!r} has no signature of the form v1,BASE64.")
        return cls(message_id, timestamp, require_recent(timestamp, now), signatures)

    def require_signed(self, body: bytes, credentials: PushCredentials) -> None:
        """Check the signature over id, time and body.

        Raises:
            PushRefusedError: no valid secret makes it.
        """
        content = b".".join((self.message_id.encode(), self.timestamp.encode(), body))
        matches = False
        for secret in credentials.secrets:
            key = _key(secret)
            if key is None:
                continue
            wanted = base64.b64encode(hmac.digest(key, content, hashlib.sha256))
            for given in self.signatures:
                matches |= hmac.compare_digest(wanted, given.encode())
        if not matches:
            raise PushRefusedError("The signature is not one of this address. Check the secret.")


def new_secret() -> SecretStr:
    """Make a secret of 32 random bytes."""
    return SecretStr(PREFIX + base64.b64encode(randomness.token_bytes(SECRET_BYTES)).decode())


def _key(secret: SecretStr) -> bytes | None:
    """Return the bytes of a secret; None if it is one of another scheme."""
    value = secret.get_secret_value()
    if not value.startswith(PREFIX):
        return None
    try:
        return base64.b64decode(value.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        return None
