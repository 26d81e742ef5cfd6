"""Placement of many small files in one transaction, with a number of commands that does not depend on theirs.

A batch creates documents, and answers what exists already. Every other file (a new version, changed tags or metadata
of an existing document, the second file of a name) is left to `Placing`, which decides about it alone.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from analytiq.ingestion.documents.naming import identity_of
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.upload.placement import (
    Placement,
    extraction_of,
    identity_of_placement,
    new_document,
    superfluous_for,
)
from analytiq.models.document import Document
from analytiq.models.storage import StorageAmount
from analytiq.models.upload import DuplicatePolicy, UploadOutcome
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.files import NewFile
from analytiq.storage.repositories.jobs import JobOrigin
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry import traces
from analytiq.telemetry.checkpoints import checkpoint

Placed = tuple[Document, UploadOutcome]


@dataclass(frozen=True, slots=True)
class WantedPlacement:
    """A placement with its policy for duplicates; it keeps the trace of the call that asks for it."""

    placement: Placement
    policy: DuplicatePolicy
    trace_parent: str | None = field(default_factory=traces.current_traceparent)

    @property
    def byte_size(self) -> int:
        """Return the bytes that the transaction writes for the file."""
        return len(self.placement.content or b"")


@dataclass(frozen=True, slots=True)
class _Known:
    """The documents that exist already, as far as the files of a batch could concern them."""

    by_identity: Mapping[str, Document]
    by_item: Mapping[tuple[str, str], Document]
    names: Collection[str]


class BatchPlacing:
    """Places small files together."""

    def __init__(self, rows: Repositories, storage: Storage) -> None:
        self._connection = rows.connection
        self._documents = rows.documents
        self._files = rows.files
        self._jobs = rows.jobs
        self._storage = storage

    async def place(self, organization_id: str, batch: Sequence[WantedPlacement]) -> list[Placed | None]:
        """Create the documents of new files in one transaction.

        Returns:
            The document of each file and the outcome, in order; None for a file that must be placed alone.

        Raises:
            QuotaExceededError: the organization has no room for all of them; nothing was changed.
            TransactionTooLargeError: they do not fit into one transaction; nothing was changed.
        """
        known = await self._find_known(organization_id, batch)
        results: list[Placed | None] = [None] * len(batch)
        to_create: dict[int, Document] = {}
        taken_names: set[str] = set()
        taken: set[str] = set()
        for index, wanted in enumerate(batch):
            existing = _existing(wanted.placement, known)
            if existing is not None and superfluous_for(wanted.placement, wanted.policy, existing):
                results[index] = (existing, UploadOutcome.RETURNED)
                continue
            document = _to_create(wanted, known, taken, taken_names)
            if document is not None:
                taken.add(document.identity)
                taken_names.add(document.document_name)
                to_create[index] = document
        if to_create:
            for index, document in (await self._create(organization_id, batch, to_create)).items():
                results[index] = (document, UploadOutcome.CREATED)
        return results

    async def _find_known(self, organization_id: str, batch: Sequence[WantedPlacement]) -> _Known:
        files = [wanted.placement for wanted in batch]
        identities = [identity_of_placement(file) for file in files if file.external_identity is None]
        items = [file.external_identity for file in files if file.external_identity is not None]
        names = [
            wanted.placement.document_name
            for wanted in batch
            if wanted.policy is DuplicatePolicy.REPLACE and wanted.placement.external_identity is None
        ]
        by_identity = await self._documents.with_identities(organization_id, identities) if identities else []
        by_item = await self._documents.with_external_identities(organization_id, items) if items else []
        return _Known(
            by_identity={document.identity: document for document in by_identity},
            by_item={
                (item.source, item.external_id): document
                for document in by_item
                if (item := document.external_identity) is not None
            },
            names=await self._documents.names_in_use(organization_id, names) if names else (),
        )

    async def _create(
        self, organization_id: str, batch: Sequence[WantedPlacement], documents: Mapping[int, Document]
    ) -> Mapping[int, Document]:
        """Create the documents, without those whose identity another upload takes at the same moment."""
        is_first_run = True

        async def create(session: Session) -> Mapping[int, Document]:
            nonlocal is_first_run
            created = documents
            if not is_first_run:
                # A colliding insert ends the transaction; the run after it sees what it has collided with.
                identities = [document.identity for document in documents.values()]
                rivals = await self._documents.with_identities(organization_id, identities, session=session)
                lost = {rival.identity for rival in rivals}
                created = {index: item for index, item in documents.items() if item.identity not in lost}
            is_first_run = False
            if created:
                await self._insert(session, organization_id, batch, created)
            return created

        async with self._storage.in_turn(organization_id):
            created = await run_in_transaction(self._connection, create)
        await checkpoint("upload.committed")
        return created

    async def _insert(
        self,
        session: Session,
        organization_id: str,
        batch: Sequence[WantedPlacement],
        documents: Mapping[int, Document],
    ) -> None:
        await self._documents.insert_all(session, list(documents.values()))
        added = sum(document.byte_size for document in documents.values())
        await self._storage.take(session, organization_id, StorageAmount(stored_bytes=added, documents=len(documents)))
        files = [
            NewFile(
                file_id=document.file_id,
                filename=document.document_name,
                stored=batch[index].placement.stored,
                organization_id=organization_id,
                document_id=document.id,
                content_type=document.content_type,
                content=batch[index].placement.content or b"",
            )
            for index, document in documents.items()
        ]
        await self._files.insert_files(session, files)
        requests = [
            (
                extraction_of(batch[index].placement, document),
                JobOrigin(batch[index].placement.request_id, batch[index].trace_parent),
            )
            for index, document in documents.items()
        ]
        await self._jobs.enqueue_of_several(requests, session=session)


def _existing(placement: Placement, known: _Known) -> Document | None:
    item = placement.external_identity
    if item is not None:
        return known.by_item.get((item.source, item.external_id))
    return known.by_identity.get(identity_of_placement(placement))


def _to_create(
    wanted: WantedPlacement, known: _Known, taken: Collection[str], taken_names: Collection[str]
) -> Document | None:
    """Return the new document of a file; None if more than an insert is to be done."""
    placement, document = wanted.placement, new_document(wanted.placement)
    is_known = _existing(placement, known) is not None or document.identity in taken
    if wanted.policy is DuplicatePolicy.CREATE:
        copy = identity_of(document.document_name, document.sha256, copy_of=document.id)
        return document.model_copy(update={"identity": copy}) if is_known else document
    if is_known:
        return None
    replaces_by_name = wanted.policy is DuplicatePolicy.REPLACE and placement.external_identity is None
    if replaces_by_name and (placement.document_name in known.names or placement.document_name in taken_names):
        return None
    return document
