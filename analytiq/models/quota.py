"""How many SPUs an organization may use, has used, and is about to use."""

from datetime import datetime

from analytiq.models.stored import Stored
from analytiq.models.usage import Operation


class SpuPurpose(Stored):
    """Who needs SPUs, and for what."""

    organization_id: str
    kb_id: str | None
    operation: Operation
    embedding_model: str


class OpenReservation(Stored):
    """SPUs that are kept for a call until it is settled, or until `expires_at`, where its process has died."""

    id: str
    purpose: SpuPurpose
    spus: int
    expires_at: datetime


class SpuAccount(Stored):
    """An organization's SPUs. `quota` None: unlimited; else `used` and `reserved` together never exceed it,
    unless it was lowered below them.
    """

    organization_id: str
    quota: int | None
    used: int
    reserved: int

    @property
    def left(self) -> int | None:
        """What may still be reserved; None where that is unlimited."""
        return None if self.quota is None else max(0, self.quota - self.used - self.reserved)

    @property
    def is_exhausted(self) -> bool:
        """Whether only a higher quota helps: what is reserved may come back, what is used does not."""
        return self.quota is not None and self.used >= self.quota
