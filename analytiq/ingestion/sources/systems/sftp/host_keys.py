"""Keys by which an SSH server proves that it is the one that is meant."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}=?")


@dataclass(frozen=True, slots=True)
class HostKey:
    """The expected key: its fingerprint, and its type if the whole key is known."""

    fingerprint: str
    kind: str | None = None

    @classmethod
    def parse(cls, text: str) -> "HostKey":
        """Read a fingerprint (`SHA256:…`), a public key, or a line of `ssh-keyscan` or known_hosts.

        Raises:
            ValueError: it is none of them.
        """
        for word in text.split():
            if _FINGERPRINT.fullmatch(word):
                return cls(word.rstrip("="))
            if word.startswith("AAAA"):
                try:
                    key = base64.b64decode(word, validate=True)
                except binascii.Error:
                    break
                return cls(fingerprint_of(key), kind_of(key))
        raise ValueError("Must be a fingerprint such as SHA256:…, or a public key such as ssh-ed25519 AAAA…")

    def matches(self, key: bytes) -> bool:
        """Return True for the expected key."""
        return fingerprint_of(key) == self.fingerprint


def fingerprint_of(key: bytes) -> str:
    """Return the fingerprint of a key, as `ssh-keygen -l` shows it."""
    return f"SHA256:{base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip('=')}"


def kind_of(key: bytes) -> str:
    """Return the type of a key, such as ssh-ed25519."""
    size = int.from_bytes(key[:4], "big")
    kind = key[4 : 4 + min(size, 64)].decode("ascii", "replace")
    return kind if kind.isprintable() else "unknown"
