"""Secrets that are shown once and stored as hashes."""

import hashlib
import secrets

SECRET_BYTES = 32


def new_secret() -> str:
    """Return 256 random bits for a URL or a cookie."""
    return secrets.token_urlsafe(SECRET_BYTES)


def hash_of(secret: str) -> str:
    """Return the SHA-256 of a secret. It needs no salt: a secret of 256 random bits cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_token_of(session_secret: str) -> str:
    """Return the token that a page sends beside the cookie; it is derived from the session's secret, one way."""
    return hashlib.sha256(f"csrf:{session_secret}".encode()).hexdigest()
