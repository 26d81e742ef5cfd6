"""The protocol of pushes: requests that a service, or anybody's own program, sends to a source's inbound address.

A kind whose service has webhooks brings a reader beside its connector (`PushReader`). The reader checks the service's
own signature and names the items to look at again; it changes nothing, so that a forged or repeated request costs
nothing but a look. Everybody else signs by Standard Webhooks (`standard_webhooks`), and sends the items themselves.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue, SecretStr, TypeAdapter

from analytiq.errors import AccessDeniedError, InvalidInputError

TOLERANCE_SECONDS = 300
"""Largest distance between the time of a signature and the server's clock."""
LONGEST_MESSAGE_ID = 256
LONGEST_SIGNATURE = 4096
MOST_EXTERNAL_IDS = 1000
_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


class PushRefusedError(AccessDeniedError):
    """The request is not signed by a valid secret of the address, or too old."""

    code = "push_refused"


@dataclass(frozen=True, slots=True)
class PushCredentials:
    """The secrets of an inbound address that are valid now, latest first.

    Attributes:
        secrets: made by the platform, or given by the service.
        accepts_first: True while the service has not told its own secret: a first request may tell it unsigned.
    """

    secrets: Sequence[SecretStr] = field(repr=False)
    accepts_first: bool = False


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """The meaning of a request of a service.

    Attributes:
        message_id: equal for a repetition of the same message, such as the service's id of the event.
        sent_at: the signed time; None if the service signs none.
        external_ids: items to look at again: changed, new or deleted ones. Those that no longer exist are removed.
        is_whole: the whole source is to be looked at again.
        reply: the body that the service expects; None: none.
        learned_secret: the secret by which the service signs from now on.
    """

    message_id: str
    sent_at: datetime | None = None
    external_ids: Sequence[str] = ()
    is_whole: bool = False
    reply: Mapping[str, JsonValue] | None = None
    learned_secret: SecretStr | None = field(default=None, repr=False)


class PushReader(Protocol):
    """Reads the webhooks of one service."""

    def __call__(
        self, headers: Mapping[str, str], body: bytes, *, credentials: PushCredentials, now: datetime
    ) -> PushAnswer:
        """Verify a request and return its meaning.

        Args:
            headers: by name in lower case.
            body: as it was sent and signed.
            credentials: the secrets of the address.
            now: the time of the request's arrival.

        Raises:
            PushRefusedError: the signature is missing or wrong, or the request is too old.
            InvalidInputError: the request is signed and cannot be understood.
        """
        ...


def header(headers: Mapping[str, str], name: str, *, longest: int = LONGEST_SIGNATURE) -> str:
    """Return a header that every signed request has.

    Raises:
        PushRefusedError: it is missing or too long.
    """
    value = headers.get(name, "")
    if not value or len(value) > longest or not value.isascii():
        raise PushRefusedError(f"The header {name!r} is missing, or is not one that the service sends.")
    return value


def require_recent(seconds: str, now: datetime) -> datetime:
    """Return a signed time, in seconds since 1970.

    Raises:
        PushRefusedError: it is no such time, or too far from `now`.
    """
    if not seconds.isdecimal() or not seconds.isascii() or len(seconds) > 12:
        raise PushRefusedError("The time of the request is no number of seconds since 1970.")
    if abs(int(seconds) - now.timestamp()) > TOLERANCE_SECONDS:
        raise PushRefusedError(
            f"The request was signed more than {TOLERANCE_SECONDS} s before or after the server's time. Sign again, and"
            " check the clock."
        )
    return datetime.fromtimestamp(int(seconds), tz=now.tzinfo)


def require_signature(given: str, content: bytes, secrets: Sequence[SecretStr]) -> None:
    """Check a signature: HMAC-SHA256 in hex digits, under one of the secrets.

    Raises:
        PushRefusedError: no secret makes this signature.
    """
    matches = False
    for secret in secrets:
        wanted = hmac.new(secret.get_secret_value().encode(), content, hashlib.sha256).hexdigest()
        # Without a short cut: the time says nothing about which secret came close.
        matches |= hmac.compare_digest(wanted.encode(), given.lower().encode())
    if not matches:
        raise PushRefusedError("The signature is not one of this address. Check the secret.")


def body_hash(body: bytes) -> str:
    """Return an id for a message whose service signs no id: repetitions of a body are one message."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def json_object(body: bytes) -> dict[str, JsonValue]:
    """Return the JSON object of a signed body.

    Raises:
        InvalidInputError: it is none.
    """
    try:
        return _OBJECT.validate_json(body)
    except ValueError:
        raise InvalidInputError.of_field("body", "Not a JSON object.") from None


def text_at(value: JsonValue, *path: str) -> str | None:
    """Return the text, or the number as text, at a path of keys; None if there is none."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
