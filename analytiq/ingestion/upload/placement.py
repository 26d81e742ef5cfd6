"""The placement of a file: a new document, an existing one, or its next version."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from analytiq import clock
from analytiq.errors import ConflictError, TransientError
from analytiq.ingestion.documents.metadata import validated_metadata
from analytiq.ingestion.documents.naming import identity_of, identity_of_item, identity_of_part
from analytiq.ingestion.documents.requests import clean_request, extract_request
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.membership import document_changed
from analytiq.models.document import Document, DocumentState, ExternalIdentity, PartOf
from analytiq.models.job import JobRequest, Priority
from analytiq.models.storage import StorageAmount
from analytiq.models.upload import DuplicatePolicy, Upload, UploadOutcome
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.files import StoredBytes
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session


@dataclass(frozen=True, slots=True)
class Placement:
    """A staged file with its uploader's data."""

    upload: Upload
    stored: StoredBytes
    content: bytes | None
    """See `StagedFile.content`."""
    document_name: str
    origin: str | None
    external_identity: ExternalIdentity | None
    source_url: str | None
    merges: bool
    """See `Uploads.commit`."""
    content_type: str
    tag_ids: tuple[str, ...] | None
    metadata: dict[str, JsonValue] | None
    password: str | None = field(repr=False)
    """Of the encrypted file, encrypted for storage."""
    request_id: str | None
    is_bulk: bool = False
    """True for one of many files: its jobs wait behind those of single uploads."""
    part_of: PartOf | None = None
    """The place of a part in its container; see `Placing.place_part`."""


Place = Callable[[Session], Awaitable[tuple[Document, UploadOutcome]]]
"""The body of the transaction that stores a file."""


class Placing:
    """Chooses the place by policy; one transaction applies the choice."""

    def __init__(self, rows: Repositories, storage: Storage) -> None:
        self._documents = rows.documents
        self._parts = rows.document_parts
        self._files = rows.files
        self._jobs = rows.jobs
        self._uploads = rows.uploads
        self._storage = storage

    async def already_there(self, placement: Placement, policy: DuplicatePolicy) -> Document | None:
        """Return the document that makes the upload superfluous, with one read and no transaction."""
        if placement.external_identity is not None:
            organization_id = placement.upload.organization_id
            document = await self._documents.with_external_identity(organization_id, placement.external_identity)
        elif policy is DuplicatePolicy.CREATE:
            return None
        else:
            identity = identity_of(placement.document_name, placement.stored.sha256)
            document = await self._documents.with_identity(placement.upload.organization_id, identity)
        return document if document and superfluous_for(placement, policy, document) else None

    async def choose(self, placement: Placement, policy: DuplicatePolicy) -> Place:
        """Return the transaction to run.

        Raises:
            ConflictError: several documents have the name, and none has these bytes.
        """
        item = placement.external_identity
        if item is not None:
            return lambda session: self._follow(session, placement, item)
        target = await self._replaced_by(placement) if policy is DuplicatePolicy.REPLACE else None
        if target is not None and placement.merges and _is_same(placement, target):
            # The bytes exist and were extracted: only tags, metadata or the origin change.
            return lambda session: self._create(session, placement, is_copy=False)
        if target is not None:
            return lambda session: self._replace(session, placement, target)
        return lambda session: self._create(session, placement, is_copy=policy is DuplicatePolicy.CREATE)

    async def place_part(
        self, session: Session, placement: Placement, part_of: PartOf
    ) -> tuple[Document, UploadOutcome]:
        """Create the document of a part, or its next version; the caller holds the container in the transaction."""
        organization_id = placement.upload.organization_id
        now = await self._parts.at_path(session, organization_id, part_of.parent_id, part_of.path)
        if now is None:
            return await self._create(session, placement, is_copy=False)
        if now.sha256 == placement.stored.sha256:
            return now, UploadOutcome.RETURNED
        return await self._replace_bytes(session, placement, now, {})

    async def _replaced_by(self, placement: Placement) -> Document | None:
        named = await self._documents.named(placement.upload.organization_id, placement.document_name)
        same_bytes = [document for document in named if document.sha256 == placement.stored.sha256]
        if same_bytes:
            return same_bytes[0]
        if len(named) > 1:
            ids = ", ".join(document.id for document in named)
            raise ConflictError(
                f"{len(named)} documents are named {placement.document_name!r} ({ids}), so it is not clear which"
                " one to replace. Rename or delete all but one, then upload again.",
                code="ambiguous_replacement",
            )
        return named[0] if named else None

    async def _create(self, session: Session, placement: Placement, *, is_copy: bool) -> tuple[Document, UploadOutcome]:
        document = new_document(placement)
        existing = await self._documents.insert_unless_known(session, document)
        if existing is not None and not is_copy:
            return await self._merge(session, placement, existing), UploadOutcome.RETURNED
        if existing is not None:
            copy = identity_of(document.document_name, document.sha256, copy_of=document.id)
            document = document.model_copy(update={"identity": copy})
            await self._documents.insert_unless_known(session, document)
        added = StorageAmount(stored_bytes=document.byte_size, documents=1)
        await self._storage.take(session, document.organization_id, added)
        await self._attach(session, placement, document.id)
        await self._jobs.enqueue(
            [extraction_of(placement, document)],
            request_id=placement.request_id,
            session=session,
        )
        return document, UploadOutcome.CREATED

    async def _merge(self, session: Session, placement: Placement, existing: Document) -> Document:
        """Add the upload's tags and metadata to the document with its bytes and its name."""
        changes = _merged(placement, existing) if placement.merges else {}
        return await self._change(session, placement, existing, changes)

    async def _change(
        self, session: Session, placement: Placement, existing: Document, changes: dict[str, Any]
    ) -> Document:
        """Change the document, but not its bytes."""
        if not changes:
            return existing
        document = await self._documents.change(session, existing.organization_id, existing.id, changes)
        if document is None:
            raise ConflictError("The document was deleted in the meantime. Upload the file again.")
        await self._jobs.enqueue(
            [document_changed(document.organization_id, document.id, priority=_priority(placement))],
            request_id=placement.request_id,
            session=session,
        )
        return document

    async def _replace(
        self, session: Session, placement: Placement, target: Document
    ) -> tuple[Document, UploadOutcome]:
        """Return the next version: the old text stays current until the new one is ready."""
        now = await self._documents.get(target.organization_id, target.id, session=session)
        if now is None or now.document_name != placement.document_name:
            raise ConflictError(
                "The document to replace was deleted or renamed during the upload. Upload the file again."
            )
        changes: dict[str, Any] = {}
        if now.sha256 != placement.stored.sha256:
            changes["identity"] = identity_of(placement.document_name, placement.stored.sha256)
        changes |= _told(placement, now)
        if placement.origin is not None:
            changes["origin"] = placement.origin
        return await self._replace_bytes(session, placement, now, changes)

    async def _follow(
        self, session: Session, placement: Placement, item: ExternalIdentity
    ) -> tuple[Document, UploadOutcome]:
        """Create or update the document of an item."""
        now = await self._documents.with_external_identity(placement.upload.organization_id, item, session=session)
        if now is None:
            return await self._create(session, placement, is_copy=False)
        changes = _item_changes(placement, now, item)
        if _has_new_bytes(placement, now):
            return await self._replace_bytes(session, placement, now, changes)
        return await self._change(session, placement, now, changes), UploadOutcome.RETURNED

    async def _replace_bytes(
        self, session: Session, placement: Placement, now: Document, changes: dict[str, Any]
    ) -> tuple[Document, UploadOutcome]:
        of_file = {
            "file_id": placement.upload.file_id,
            "sha256": placement.stored.sha256,
            "byte_size": placement.stored.byte_size,
            "content_type": placement.content_type,
            "state": DocumentState.UPLOADED.value,
            "error": None,
        }
        if placement.password is not None:
            of_file["offered_password"] = placement.password
        document = await self._documents.change(session, now.organization_id, now.id, {**changes, **of_file})
        if document is None:
            raise ConflictError("The document to replace was deleted during the upload. Upload the file again.")
        difference = StorageAmount(stored_bytes=document.byte_size - now.byte_size)
        await self._storage.take(session, document.organization_id, difference)
        await self._attach(session, placement, document.id)
        requests = [
            extraction_of(placement, document),
            clean_request(document.organization_id, document.id),
        ]
        if placement.tag_ids is not None or changes.keys() & {"document_name", "metadata"}:
            priority = _priority(placement)
            requests.append(document_changed(document.organization_id, document.id, priority=priority))
        await self._jobs.enqueue(requests, request_id=placement.request_id, session=session)
        return document, UploadOutcome.REPLACED

    async def _attach(self, session: Session, placement: Placement, document_id: str) -> None:
        if placement.content is not None:
            await self._files.insert_content(session, placement.upload.file_id, placement.content)
        await self._files.insert_files_row(
            session,
            file_id=placement.upload.file_id,
            filename=placement.document_name,
            stored=placement.stored,
            organization_id=placement.upload.organization_id,
            document_id=document_id,
            content_type=placement.content_type,
        )
        if placement.content is None and not await self._uploads.finish(session, placement.upload):
            raise TransientError("The upload took too long and was abandoned. Send the file again.")


def superfluous_for(placement: Placement, policy: DuplicatePolicy, existing: Document) -> bool:
    """Return True if the upload changes nothing, given the document of its item, or with its bytes and its name.

    Raises:
        InvalidInputError: merged, the document's metadata would exceed the limit.
    """
    if placement.external_identity is not None:
        return _is_current(placement, existing, placement.external_identity)
    if policy is DuplicatePolicy.CREATE:
        return False
    if placement.merges:
        is_to_be_read_again = policy is DuplicatePolicy.REPLACE and existing.state is DocumentState.FAILED
        return not is_to_be_read_again and not _merged(placement, existing)
    return policy is not DuplicatePolicy.REPLACE or not _replacing_matters(placement, existing)


def _replacing_matters(placement: Placement, document: Document) -> bool:
    """Return True if replacing a document by its own bytes would change anything; a failed extraction is retried."""
    return document.state is DocumentState.FAILED or bool(_told(placement, document))


def _is_current(placement: Placement, document: Document, item: ExternalIdentity) -> bool:
    """Return True if the upload would change nothing of the item's document."""
    return not _has_new_bytes(placement, document) and not _item_changes(placement, document, item)


def _has_new_bytes(placement: Placement, document: Document) -> bool:
    """Return True if the item's bytes must be read: equal versions count as equal bytes."""
    if document.state is DocumentState.FAILED:
        return True
    return not _is_same_version(placement, document) and document.sha256 != placement.stored.sha256


def _is_same_version(placement: Placement, document: Document) -> bool:
    given, known = placement.external_identity, document.external_identity
    return given is not None and given.version is not None and known is not None and given.version == known.version


def _item_changes(placement: Placement, document: Document, item: ExternalIdentity) -> dict[str, Any]:
    """Return the changes that bring the document of an item up to date, without those of its bytes."""
    changes = _told(placement, document)
    if placement.document_name != document.document_name:
        changes["document_name"] = placement.document_name
    if placement.origin is not None and placement.origin != document.origin:
        changes["origin"] = placement.origin
    # A version missing from the upload is kept as long as its bytes are.
    if item != document.external_identity and (item.version is not None or _has_new_bytes(placement, document)):
        changes["external_identity"] = item.model_dump()
    return changes


def _told(placement: Placement, document: Document) -> dict[str, Any]:
    """Return the changes of tags, metadata and source address that the upload requests."""
    if placement.merges:
        return _merged(placement, document)
    changes: dict[str, Any] = _new_address(placement, document)
    if placement.tag_ids is not None and placement.tag_ids != document.tag_ids:
        changes["tag_ids"] = list(placement.tag_ids)
    if placement.metadata is not None and placement.metadata != document.metadata:
        changes["metadata"] = placement.metadata
    return changes


def _merged(placement: Placement, document: Document) -> dict[str, Any]:
    """Return the changes that add the upload's tags, metadata, origin and source address to a document.

    Raises:
        InvalidInputError: the document would exceed the limit on metadata.
    """
    changes: dict[str, Any] = _new_address(placement, document)
    tag_ids = list(dict.fromkeys([*document.tag_ids, *(placement.tag_ids or ())]))
    if tag_ids != list(document.tag_ids):
        changes["tag_ids"] = tag_ids
    metadata = {**document.metadata, **(placement.metadata or {})}
    if metadata != document.metadata:
        changes["metadata"] = validated_metadata(metadata)
    if placement.origin is not None and document.origin is None:
        changes["origin"] = placement.origin
    return changes


def _new_address(placement: Placement, document: Document) -> dict[str, Any]:
    """Return the change of the source address that the upload requests."""
    if placement.source_url is None or placement.source_url == document.source_url:
        return {}
    return {"source_url": placement.source_url}


def _is_same(placement: Placement, document: Document) -> bool:
    return document.sha256 == placement.stored.sha256 and document.state is not DocumentState.FAILED


def extraction_of(placement: Placement, document: Document) -> JobRequest:
    """Return the job that extracts the uploaded file."""
    priority = _priority(placement)
    return extract_request(document.organization_id, document.id, byte_size=document.byte_size, priority=priority)


def _priority(placement: Placement) -> int:
    # Documents uploaded by themselves do not wait behind many files, nor behind the parts of an archive.
    return Priority.BULK if placement.is_bulk or placement.part_of is not None else Priority.INTERACTIVE


def identity_of_placement(placement: Placement) -> str:
    """Return the identity of the document that the file makes."""
    if placement.part_of is not None:
        return identity_of_part(placement.part_of.parent_id, placement.part_of.path)
    if placement.external_identity is not None:
        return identity_of_item(placement.external_identity)
    return identity_of(placement.document_name, placement.stored.sha256)


def new_document(placement: Placement) -> Document:
    """Return the document that the file makes if it is new."""
    now, item = clock.now(), placement.external_identity
    return Document(
        id=new_id(),
        organization_id=placement.upload.organization_id,
        document_name=placement.document_name,
        origin=placement.origin,
        identity=identity_of_placement(placement),
        external_identity=item,
        part_of=placement.part_of,
        source_url=placement.source_url,
        sha256=placement.stored.sha256,
        byte_size=placement.stored.byte_size,
        content_type=placement.content_type,
        file_id=placement.upload.file_id,
        state=DocumentState.UPLOADED,
        tag_ids=placement.tag_ids or (),
        metadata=placement.metadata or {},
        offered_password=placement.password,
        created_at=now,
        updated_at=now,
    )
