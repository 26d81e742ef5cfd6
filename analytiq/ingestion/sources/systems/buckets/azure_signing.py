"""Proofs of credentials for Azure Storage: shared keys, shared access signatures and connection strings.

https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import format_datetime
from hashlib import sha256
from urllib.parse import parse_qsl

from analytiq import clock
from analytiq.ingestion.sources.systems.buckets.requests import BucketRequest

API_VERSION = "2021-12-02"
_SIGNED_HEADERS = 11
"""Headers besides `x-ms-…` that a signature names; requests that only read send none of them."""
_OWN_PARAMETERS = frozenset({"restype", "comp", "prefix", "marker", "maxresults", "include", "delimiter"})


@dataclass(frozen=True, slots=True)
class SharedKey:
    """The name of an account with its key, decoded."""

    account: str
    key: bytes

    def authorization(self, request: BucketRequest) -> str:
        """Return the Authorization header of a request without a body."""
        headers = sorted((name.lower(), value) for name, value in request.headers.items())
        named = "".join(f"{name}:{' '.join(value.split())}\n" for name, value in headers if name.startswith("x-ms-"))
        query = "".join(f"\n{name}:{value}" for name, value in sorted(request.query))
        resource = f"/{self.account}{request.path}{query}"
        text = f"{request.method}\n{chr(10) * _SIGNED_HEADERS}{named}{resource}"
        signature = base64.b64encode(hmac.digest(self.key, text.encode(), sha256)).decode()
        return f"SharedKey {self.account}:{signature}"


@dataclass(frozen=True, slots=True)
class AzureProof:
    """The proof of a source: a key, a signature for the query, or neither for what everybody may read."""

    shared_key: SharedKey | None = None
    signature: tuple[tuple[str, str], ...] = ()

    async def sign(self, request: BucketRequest) -> BucketRequest:
        """Return the request with the proof."""
        dated = request.with_headers({
            "x-ms-date": format_datetime(clock.now(), usegmt=True),
            "x-ms-version": API_VERSION,
        })  # fmt: skip
        if self.shared_key is not None:
            return dated.with_headers({"authorization": self.shared_key.authorization(dated)})
        return replace(dated, query=(*dated.query, *self.signature))


def decoded_key(text: str) -> bytes:
    """Return the bytes of an account's key.

    Raises:
        ValueError: it is no Base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("The account key must be Base64, as the portal shows it") from None


def signature_parameters(token: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a shared access signature.

    Raises:
        ValueError: it is none.
    """
    try:
        parameters = tuple(parse_qsl(token.strip().removeprefix("?"), strict_parsing=True, max_num_fields=30))
    except ValueError:
        parameters = ()
    names = {name for name, _ in parameters}
    if "sig" not in names or names & _OWN_PARAMETERS:
        raise ValueError("The SAS token must be the text that begins with sv= or sp= and holds sig=")
    return parameters


def connection_parts(text: str) -> Mapping[str, str]:
    """Return the parts of a connection string by name, such as AccountName.

    Raises:
        ValueError: it is none.
    """
    parts = [part.partition("=") for part in text.strip().strip(";").split(";")]
    found = {name.strip(): value.strip() for name, mark, value in parts if mark}
    if len(found) != len(parts) or not {"AccountKey", "SharedAccessSignature"} & found.keys():
        raise ValueError("The connection string must hold AccountKey or SharedAccessSignature, as the portal shows it")
    return found
