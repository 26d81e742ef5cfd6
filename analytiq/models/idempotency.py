"""Responses stored under an `Idempotency-Key`."""

from datetime import datetime

from analytiq.models.stored import Stored


class KeptAnswer(Stored):
    """A row of `idempotency_keys`; its id is the hash of organization, path and key.

    `status` is None while the first call is still running. Its process renews `lease_expires_at`; `lease_token` is
    that call's alone, None in rows of earlier versions.
    """

    id: str
    organization_id: str
    body_hash: str
    status: int | None = None
    content_type: str | None = None
    body: bytes | None = None
    expires_at: datetime
    lease_token: str | None = None
    lease_expires_at: datetime
