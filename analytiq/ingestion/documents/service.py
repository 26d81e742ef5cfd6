"""Documents: read, change, re-extract, delete."""

from bisect import bisect_left
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from analytiq.errors import ConflictError, InvalidInputError, NotFoundError
from analytiq.ingestion.documents.metadata import validated_metadata
from analytiq.ingestion.documents.metadata_fields import DeclaredFields, MetadataFields
from analytiq.ingestion.documents.naming import identity_of, validated_path, validated_source_url
from analytiq.ingestion.documents.requests import clean_request, extract_request, removed_event
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.membership import document_changed
from analytiq.models.blocks import Block
from analytiq.models.document import Document, DocumentState
from analytiq.models.job import Priority
from analytiq.models.page_reading import PDF_TYPE, PageReading
from analytiq.models.text import CurrentTexts, PageSpan
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.documents import DocumentQuery
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page's text with its offset in the whole."""

    span: PageSpan
    text: str


@dataclass(frozen=True, slots=True)
class TextStructure:
    """The blocks of some of a document's pages; `page_count` counts all pages."""

    document: Document
    title: str
    page_count: int
    pages: tuple[tuple[PageSpan, Sequence[Block]], ...]


class Documents:
    """Documents of an organization."""

    def __init__(self, rows: Repositories, metadata_fields: MetadataFields, storage: Storage) -> None:
        self._connection = rows.connection
        self._documents = rows.announced.documents
        self._parts = rows.document_parts
        self._texts = rows.texts
        self._files = rows.files
        self._jobs = rows.jobs
        self._outbox = rows.webhook_outbox
        self._metadata_fields = metadata_fields
        self._storage = storage

    async def get(self, organization_id: str, document_id: str) -> Document:
        """Return the document with this id."""
        document = await self._documents.get(organization_id, document_id)
        if document is None:
            raise unknown_document(document_id)
        return document

    async def page(
        self, organization_id: str, query: DocumentQuery, *, skip: int, limit: int
    ) -> tuple[list[Document], int]:
        """Return a page of documents, and the number of matches."""
        return await self._documents.page(organization_id, query, skip=skip, limit=limit)

    async def part_counts(self, organization_id: str, document_ids: Collection[str]) -> Mapping[str, int]:
        """Return the number of parts of each of these documents; documents without parts are left out."""
        return await self._parts.counts(organization_id, document_ids) if document_ids else {}

    async def change(
        self,
        organization_id: str,
        document_id: str,
        *,
        document_name: str | None = None,
        tag_ids: Sequence[str] | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        source_url: str | None = None,
        request_id: str | None = None,
    ) -> Document:
        """Change name, tags (known to exist), metadata or source address; leaving a knowledge base is immediate.

        An empty `source_url` removes the address.

        Raises:
            InvalidInputError: the metadata is not storable, a declared field has a value of another type, or the
                address is not one of the web.
            ConflictError: another document has the new name and the same bytes.
        """
        document = await self.get(organization_id, document_id)
        changes: dict[str, Any] = {}
        declared: DeclaredFields | None = None
        if document_name is not None:
            name = validated_path(document_name, field="document_name")
            if name != document.document_name:
                changes["document_name"] = name
        if tag_ids is not None:
            changes["tag_ids"] = list(tag_ids)
        if metadata is not None:
            changes["metadata"], declared = await self._metadata_fields.fitted(
                organization_id, validated_metadata(metadata)
            )
        if source_url is not None:
            changes["source_url"] = validated_source_url(source_url) if source_url else None
        if not changes:
            return document

        async def commit(session: Session) -> Document:
            # The identity depends on the bytes within this transaction: they may be replaced concurrently.
            if "document_name" in changes and document.external_identity is None and document.part_of is None:
                now = await self._documents.get(organization_id, document_id, session=session)
                if now is None:
                    raise unknown_document(document_id)
                changes["identity"] = identity_of(changes["document_name"], now.sha256)
            changed = await self._documents.change(session, organization_id, document_id, changes)
            if changed is None:
                raise unknown_document(document_id)
            # Name and metadata change no membership, but chunks may store them for a search server.
            await self._jobs.enqueue(
                [document_changed(organization_id, document_id)], request_id=request_id, session=session
            )
            return changed

        changed = await run_in_transaction(self._connection, commit)
        return changed if declared is None else await self._metadata_fields.settle(changed, declared)

    async def delete(self, organization_id: str, document_id: str, *, request_id: str | None = None) -> None:
        """Delete it: no search finds it from now on; vectors, text, file and parts are removed within seconds."""

        async def commit(session: Session) -> None:
            has_parts = await self._parts.has_parts(session, organization_id, document_id)
            await self._delete(session, organization_id, document_id, request_id, has_parts=has_parts)

        await run_in_transaction(self._connection, commit)

    async def delete_without_parts(
        self, organization_id: str, document_id: str, *, request_id: str | None = None
    ) -> bool:
        """Delete a document without parts; return False if it has parts.

        Raises:
            NotFoundError: there is no such document.
        """

        async def commit(session: Session) -> bool:
            # A part that is taken in at the same time conflicts with the deletion of its container's row.
            if await self._parts.has_parts(session, organization_id, document_id):
                return False
            await self._delete(session, organization_id, document_id, request_id, has_parts=False)
            return True

        return await run_in_transaction(self._connection, commit)

    async def _delete(
        self, session: Session, organization_id: str, document_id: str, request_id: str | None, *, has_parts: bool
    ) -> None:
        deleted = await self._documents.delete(session, organization_id, document_id)
        if deleted is None:
            raise unknown_document(document_id)
        await self._storage.give_back(session, organization_id, byte_size=deleted.byte_size)
        await self._outbox.record(session, organization_id, [removed_event(document_id)])
        # Parts are searchable until cleaning has deleted them.
        priority = Priority.INTERACTIVE if has_parts else Priority.CLEANING
        requests = [
            document_changed(organization_id, document_id),
            clean_request(organization_id, document_id, priority=priority),
        ]
        await self._jobs.enqueue(requests, request_id=request_id, session=session)

    async def extract_again(
        self,
        organization_id: str,
        document_id: str,
        *,
        read_pages: PageReading | None = None,
        request_id: str | None = None,
    ) -> Document:
        """Extract the file again; the present text stays current until the new one is ready.

        `read_pages` holds for later extractions too; None keeps the present choice.

        Raises:
            InvalidInputError: pages of a file that is no PDF are to be read by OCR.
        """
        changes: dict[str, Any] = {"state": DocumentState.UPLOADED.value, "error": None}
        if read_pages is not None:
            document = await self.get(organization_id, document_id)
            if read_pages is not PageReading.AUTO and document.content_type != PDF_TYPE:
                reason = f"Only pages of a PDF are read by OCR on request. This file is {document.content_type}."
                raise InvalidInputError.of_field("read_pages", reason)
            changes["read_pages"] = read_pages.value

        async def commit(session: Session) -> Document:
            changed = await self._documents.change(session, organization_id, document_id, changes)
            if changed is None:
                raise unknown_document(document_id)
            extraction = extract_request(organization_id, document_id, byte_size=changed.byte_size)
            await self._jobs.enqueue([extraction], request_id=request_id, session=session)
            return changed

        return await run_in_transaction(self._connection, commit)

    async def original(self, organization_id: str, document_id: str) -> tuple[Document, AsyncIterator[bytes]]:
        """Return the document and its uploaded bytes."""
        document = await self.get(organization_id, document_id)
        return document, self._files.read(organization_id, document.file_id)

    async def text_pages(
        self, organization_id: str, document_id: str, *, first_page: int, page_count: int
    ) -> tuple[Document, list[TextPage], int]:
        """Return the text of up to `page_count` pages from `first_page` on, and the number of pages.

        Raises:
            ConflictError: there is no text yet, or extraction failed.
        """
        document = await self.get(organization_id, document_id)
        text_id = text_id_of(document)
        spans = await self._texts.pages(organization_id, text_id)
        wanted = [span for span in spans if first_page <= span.page_number < first_page + page_count]
        if not wanted:
            return document, [], len(spans)
        start, end = wanted[0].start, wanted[-1].end
        text = await self._texts.read_range(organization_id, text_id, start, end)
        pages = [TextPage(span, text[span.start - start : span.end - start]) for span in wanted]
        return document, pages, len(spans)

    async def structure(
        self, organization_id: str, document_id: str, *, first_page: int, page_count: int
    ) -> TextStructure:
        """Return the blocks of up to `page_count` pages from `first_page` on.

        Raises:
            ConflictError: there is no text yet, or extraction failed.
        """
        document = await self.get(organization_id, document_id)
        title, spans, blocks = await self._texts.structure(organization_id, text_id_of(document))
        starts = [block.start for block in blocks]
        pages = tuple(
            (span, blocks[bisect_left(starts, span.start) : bisect_left(starts, span.end)])
            for span in spans
            if first_page <= span.page_number < first_page + page_count
        )
        return TextStructure(document, title, len(spans), pages)

    async def whole_text(self, organization_id: str, document_id: str) -> tuple[Document, AsyncIterator[str]]:
        """Return the document and its whole text, in pieces of one version.

        Raises:
            ConflictError: there is no text yet, or extraction failed.
        """
        document = await self.get(organization_id, document_id)
        return document, await self._texts.stream(organization_id, text_id_of(document))

    async def current_texts(self, organization_id: str, document_ids: Collection[str]) -> CurrentTexts:
        """Return the hashes of the documents' present texts."""
        return CurrentTexts(await self._documents.text_hashes(organization_id, document_ids) if document_ids else {})


def text_id_of(document: Document) -> str:
    """Return the id of the document's text.

    Raises:
        ConflictError: there is no text yet, or extraction failed.
    """
    if document.text_id is None:
        reason = document.error.detail if document.error else "its text has not been extracted yet."
        raise ConflictError(f"The document has no text: {reason}", code="no_text")
    return document.text_id


def unknown_document(document_id: str) -> NotFoundError:
    """Return the error for an unknown document."""
    return NotFoundError(f"No document has the id {document_id!r}. List the documents to find it.")
