"""SPU quotas: the limit, the usage and the open reservations of an organization."""

from datetime import datetime

from analytiq.models.stored import Stored
from analytiq.models.usage import Operation


class SpuPurpose(Stored):
    """The purpose of SPUs."""

    organization_id: str
    kb_id: str | None
    operation: Operation
    embedding_model: str


class OpenReservation(Stored):
    """SPUs reserved for a call until it is settled, or until `expires_at` if its process died."""

    id: str
    purpose: SpuPurpose
    spus: int
    expires_at: datetime


class SpuAccount(Stored):
    """An organization's SPUs; `quota` None for unlimited.

    `used` and `reserved` together stay within the quota, unless it was lowered below them.
    """

    organization_id: str
    quota: int | None
    used: int
    reserved: int

    @property
    def left(self) -> int | None:
        """Return the SPUs that may still be reserved; None for unlimited."""
        return None if self.quota is None else max(0, self.quota - self.used - self.reserved)

    @property
    def is_exhausted(self) -> bool:
        """Return whether only a higher quota helps: reserved SPUs may be returned, used ones are not."""
        return self.quota is not None and self.used >= self.quota
