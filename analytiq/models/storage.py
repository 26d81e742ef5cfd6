"""Storage of an organization: its quota and its usage."""

from analytiq.models.stored import Stored


class StorageAmount(Stored):
    """A number of documents with their bytes: of the latest uploaded files, without texts and vectors."""

    stored_bytes: int = 0
    documents: int = 0


class StorageAccount(Stored):
    """An organization's quota and its usage; None: unlimited.

    `used` never rises above the quota; after the quota was lowered, it may exceed it.
    """

    organization_id: str
    max_bytes: int | None = None
    max_documents: int | None = None
    used: StorageAmount = StorageAmount()

    @property
    def bytes_left(self) -> int | None:
        """Return the bytes left; None for unlimited."""
        return None if self.max_bytes is None else max(0, self.max_bytes - self.used.stored_bytes)

    @property
    def documents_left(self) -> int | None:
        """Return the documents left; None for unlimited."""
        return None if self.max_documents is None else max(0, self.max_documents - self.used.documents)
