"""How much an organization may store, and stores."""

from analytiq.models.stored import Stored


class StorageAmount(Stored):
    """So many documents with so many bytes: of the files that were uploaded last, texts and vectors not counted."""

    stored_bytes: int = 0
    documents: int = 0


class StorageAccount(Stored):
    """An organization's quota and what of it is used; None: unlimited.

    `used` never rises above the quota, but lies above where the quota was lowered below it.
    """

    organization_id: str
    max_bytes: int | None = None
    max_documents: int | None = None
    used: StorageAmount = StorageAmount()

    @property
    def bytes_left(self) -> int | None:
        """None where that is unlimited."""
        return None if self.max_bytes is None else max(0, self.max_bytes - self.used.stored_bytes)

    @property
    def documents_left(self) -> int | None:
        """None where that is unlimited."""
        return None if self.max_documents is None else max(0, self.max_documents - self.used.documents)
