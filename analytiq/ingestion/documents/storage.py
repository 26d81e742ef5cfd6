"""The storage quota: checked before an upload, during it, and when it becomes a document.

Only the last check is exact, since it is part of the transaction that creates the document; the others end a hopeless
upload early. An operator sets the quota (`analytiq storage set`): decision 0023.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import structlog

from analytiq.errors import QuotaExceededError
from analytiq.models.document import Document, ExternalIdentity
from analytiq.models.storage import StorageAccount, StorageAmount
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.storage_accounts import StorageAccountRepository
from analytiq.storage.session import Session

log = structlog.get_logger(__name__)

STORAGE_CODE = "storage_quota_exceeded"
"""The error code for a file that exceeds the quota."""


class StorageEstimate:
    """The organization's storage account, read once for all files of a call."""

    def __init__(self, accounts: StorageAccountRepository, organization_id: str) -> None:
        self._accounts = accounts
        self._organization_id = organization_id
        self._account: StorageAccount | None = None
        self._is_read = False

    async def account(self) -> StorageAccount | None:
        """Return the account as it was at the first call; None without a quota."""
        if not self._is_read:
            self._account = await self._accounts.get(self._organization_id)
            self._is_read = True
        return self._account


class Storage:
    """Quotas of organizations, for uploads and deletions."""

    def __init__(self, accounts: StorageAccountRepository, documents: DocumentRepository) -> None:
        self._accounts = accounts
        self._documents = documents
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._bounded: set[str] = set()

    async def account(self, organization_id: str) -> StorageAccount:
        """Return quota and usage; without a quota, count the usage now."""
        account = await self._accounts.get(organization_id)
        if account is not None:
            return account
        return StorageAccount(organization_id=organization_id, used=await self._accounts.counted(organization_id))

    def estimate(self, organization_id: str) -> StorageEstimate:
        """Return an estimate that the files of a call share; only the check of `take` is exact."""
        return StorageEstimate(self._accounts, organization_id)

    async def guarded(
        self,
        organization_id: str,
        document_name: str,
        source: AsyncIterator[bytes],
        *,
        external_identity: ExternalIdentity | None = None,
        estimate: StorageEstimate | None = None,
    ) -> AsyncIterator[bytes]:
        """Pass the bytes through while the organization has room for them.

        A file with a known external identity or name may replace that document, so that document's size counts as free.

        Raises:
            QuotaExceededError: there is no room, by the current estimate.
        """
        account = await (estimate or self.estimate(organization_id)).account()
        if account is None:
            self._bounded.discard(organization_id)
            async for block in source:
                yield block
            return
        self._bounded.add(organization_id)
        if account.documents_left == 0 and not await self._replaceable(
            organization_id, document_name, external_identity
        ):
            raise _exceeded(account, StorageAmount(documents=1))
        received, most_bytes = 0, account.bytes_left
        is_name_looked_for = False
        async for block in source:
            received += len(block)
            if most_bytes is not None and received > most_bytes:
                if not is_name_looked_for:
                    is_name_looked_for = True
                    former = await self._replaceable(organization_id, document_name, external_identity)
                    most_bytes += max((document.byte_size for document in former), default=0)
                if received > most_bytes:
                    raise _exceeded(account, StorageAmount(stored_bytes=received), is_whole=False)
            yield block

    async def _replaceable(
        self, organization_id: str, document_name: str, external_identity: ExternalIdentity | None
    ) -> list[Document]:
        """Return the documents whose next version the file may be."""
        if external_identity is None:
            return await self._documents.named(organization_id, document_name)
        found = await self._documents.with_external_identity(organization_id, external_identity)
        return [] if found is None else [found]

    @asynccontextmanager
    async def in_turn(self, organization_id: str) -> AsyncGenerator[None]:
        """Serialize transactions of this process that take room, so that they wait instead of conflicting.

        This is an optimization for organizations with a quota: each conflict costs a transaction and a pause.
        """
        if organization_id not in self._bounded:
            yield
            return
        async with self._turns.setdefault(organization_id, asyncio.Lock()):
            yield

    async def take(self, session: Session, organization_id: str, wanted: StorageAmount) -> None:
        """Take room within the caller's transaction; a negative amount frees room and is never refused.

        Raises:
            QuotaExceededError: there is not enough room.
        """
        if wanted == StorageAmount():
            return
        account = await self._accounts.add(session, organization_id, wanted)
        if account is None:
            return
        over_bytes = account.max_bytes is not None and account.used.stored_bytes > account.max_bytes
        over_documents = account.max_documents is not None and account.used.documents > account.max_documents
        # If the quota was lowered below the usage, operations that need no more room still succeed.
        if (over_bytes and wanted.stored_bytes > 0) or (over_documents and wanted.documents > 0):
            before = StorageAmount(
                stored_bytes=account.used.stored_bytes - wanted.stored_bytes,
                documents=account.used.documents - wanted.documents,
            )
            raise _exceeded(account.model_copy(update={"used": before}), wanted)

    async def give_back(self, session: Session, organization_id: str, *, byte_size: int) -> None:
        """Free the storage of a deleted document, within the caller's transaction."""
        await self._accounts.add(session, organization_id, StorageAmount(stored_bytes=-byte_size, documents=-1))

    async def set_quota(
        self, organization_id: str, *, max_bytes: int | None, max_documents: int | None
    ) -> StorageAccount:
        """Set the organization's storage limit, None: unlimited. For operators."""
        await self._accounts.set_quota(organization_id, max_bytes=max_bytes, max_documents=max_documents)
        return await self.account(organization_id)

    async def recount(self, organization_id: str) -> StorageAccount:
        """Recount the used storage, and log a difference from the recorded value."""
        excess = await self._accounts.recount(organization_id)
        if excess != StorageAmount():
            log.warning(
                "storage.recounted",
                organization_id=organization_id,
                excess_bytes=excess.stored_bytes,
                excess_documents=excess.documents,
            )
        return await self.account(organization_id)

    async def recount_all(self) -> int:
        """Recount the storage of every organization with a quota; return their number. For the reconciler."""
        found = await self._accounts.organization_ids()
        for organization_id in found:
            await self.recount(organization_id)
        return len(found)


def _exceeded(account: StorageAccount, wanted: StorageAmount, *, is_whole: bool = True) -> QuotaExceededError:
    # Name only the exceeded limit.
    if account.bytes_left is not None and wanted.stored_bytes > account.bytes_left:
        size = f"{'' if is_whole else 'more than '}{_size(wanted.stored_bytes)}"
        said = (
            f"the file has {size}, and the organization may store {_size(account.max_bytes or 0)}, of which"
            f" {_size(account.used.stored_bytes)} are used"
        )
    else:
        said = f"the organization may have {account.max_documents or 0:,} documents, and has {account.used.documents:,}"
    return QuotaExceededError(
        f"There is no room for this file: {said}. Delete documents, or ask the operator of this server for more"
        " room (`analytiq storage set`).",
        code=STORAGE_CODE,
    )


def _size(byte_size: int) -> str:
    """Write a number of bytes for people: 999 bytes, 1.5 MB."""
    if byte_size < 1000:
        return f"{byte_size} bytes"
    size, units = byte_size / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.95 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.1f} {units[0]}"
