"""Secrets that are shown once and kept by hash."""

import hashlib
import secrets

SECRET_BYTES = 32


def new_secret() -> str:
    """256 random bits for a URL or a cookie."""
    return secrets.token_urlsafe(SECRET_BYTES)


def hash_of(secret: str) -> str:
    """SHA-256 suffices: the secret has 256 bits of its own, so there is nothing to guess."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_token_of(session_secret: str) -> str:
    """What a page must send beside the cookie: bound to the session, and no way back to its secret."""
    return hashlib.sha256(f"csrf:{session_secret}".encode()).hexdigest()
