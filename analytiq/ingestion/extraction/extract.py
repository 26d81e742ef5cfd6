"""The job `extract(document)`."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol

import structlog

from analytiq.errors import EmptyDocumentError, LeaseLostError, PermanentError, WrongPasswordError
from analytiq.ingestion.documents.naming import file_name_of
from analytiq.ingestion.documents.requests import clean_request
from analytiq.ingestion.extraction.picture_reader import PictureReader
from analytiq.ingestion.extraction.small_texts import (
    LONGEST_READ_HERE_BYTES,
    SmallTextExtraction,
    extracted_event,
    read_here,
)
from analytiq.ingestion.membership import document_changed
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import hints_of
from analytiq.ingestion.parsing.reading import DocumentReader
from analytiq.ingestion.quality.counting import flaw_counts
from analytiq.ingestion.quality.judging import judged
from analytiq.ingestion.quality.telling import flaw_warnings
from analytiq.jobs.queue import retry
from analytiq.jobs.queue.handling import job, job_batch, when_dead
from analytiq.jobs.queue.runner import RunningJob
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.models.document import Document, DocumentState, Failure
from analytiq.models.job import Job
from analytiq.models.job_payloads import ExtractPayload
from analytiq.models.organization import Organization
from analytiq.models.page_reading import PDF_TYPE
from analytiq.models.parts import FoundPart, RefusedPart, refusal_warnings
from analytiq.models.text import DocumentText, ParsedDocument, join_pages
from analytiq.models.vision import VisionSettings
from analytiq.settings import ExtractionSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.picture_readings import ReadFile
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry import traces
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

DEEPEST_PARTS = 3
"""Most containers around a part: an archive in an archive in an archive is unpacked, one in that is not."""
MOST_PARTS = 20_000
"""Most parts of one document that become documents."""


class PartTaker(Protocol):
    """Makes documents of the parts of a document; see `analytiq.ingestion.upload.parts`."""

    async def take(
        self, container: Document, file: BinaryIO, found: Sequence[FoundPart], *, request_id: str | None
    ) -> list[RefusedPart] | None:
        """Take in the parts; return the refused ones, None if the container has changed or is deleted."""
        ...


@dataclass(frozen=True, slots=True)
class Readers:
    """The parsers in their sandbox, and the vision models outside of it."""

    documents: DocumentReader
    pictures: PictureReader


class Extraction:
    """The handler of extract jobs."""

    def __init__(self, rows: Repositories, readers: Readers, settings: ExtractionSettings, parts: PartTaker) -> None:
        self._parts = parts
        self._connection = rows.connection
        self._documents = rows.documents
        self._texts = rows.texts
        self._files = rows.files
        self._jobs = rows.jobs
        self._readings = rows.picture_readings
        self._outbox = rows.webhook_outbox
        self._reader = readers.documents
        self._pictures = readers.pictures
        self._settings = settings
        self._small_texts = SmallTextExtraction(rows)
        self._organizations = OrganizationRepository(rows.connection)

    @job(ExtractPayload)
    async def handle(self, running: RunningJob, payload: ExtractPayload) -> None:
        """Extract the document's file and make its text current; leave nothing behind for a deleted document."""
        organization_id, document_id = running.job.organization_id, payload.document_id
        document = await self._begin(running, document_id)
        if document is None:
            await self._texts.delete_all(organization_id, document_id)
            await self._readings.delete_of_document(organization_id, document_id)
            return
        # An earlier attempt may have died with a text staged.
        await self._texts.delete_staged(organization_id, document_id)
        await checkpoint("extraction.begun")
        with tempfile.TemporaryFile(prefix="analytiq-parts-") as parts_file:
            try:
                with traces.span("extraction.parse", bytes=document.byte_size, content_type=document.content_type):
                    parsed, content_type = await self._parse(running, document, parts_file)
            except PermanentError as error:
                # The document's own fault, shown to its owner: the job is complete.
                log.warning("extraction.failed", document_id=document_id, code=error.code, detail=error.detail)
                await self._fail(running, document, retry.failure_of(error).for_owner())
                return
            await checkpoint("extraction.parsed")
            with traces.span("extraction.parts", parts=len(parsed.parts)):
                refused = await self._parts.take(document, parts_file, parsed.parts, request_id=running.job.request_id)
        if refused is None:
            return  # deleted, or replaced by another file, whose own job is enqueued
        parsed = replace(parsed, warnings=(*parsed.warnings, *refusal_warnings(refused)))
        with traces.span("extraction.serve", pages=len(parsed.pages)):
            await self._serve(running, document, parsed, content_type)

    @job_batch(ExtractPayload)
    async def handle_batch(self, batch: RunningBatch, payloads: Sequence[ExtractPayload]) -> None:
        """Extract the new documents among these that are short plain texts, together."""
        await self._small_texts.extract(batch, [payload.document_id for payload in payloads])

    @when_dead(ExtractPayload)
    async def fail_document(self, job: Job, payload: ExtractPayload, failure: Failure) -> None:
        """Show on the document that its extraction has failed, for whatever reason."""
        document = await self._documents.get(job.organization_id, payload.document_id)
        if document is not None and document.state is not DocumentState.EXTRACTED:
            owners = failure.for_owner()
            await self._documents.mark_failed(job.organization_id, document.id, document.file_id, owners)

    async def _begin(self, running: RunningJob, document_id: str) -> Document | None:
        """Mark the document as being extracted, and return it; None if it is gone.

        Raises:
            LeaseLostError: the document does not wait for this job, which another worker may have completed.
        """
        organization_id = running.job.organization_id
        waiting = await self._documents.begin_extracting(organization_id, document_id)
        if waiting is not None:
            return waiting

        async def commit(session: Session) -> Document | None:
            if not await self._jobs.held_among([running.job], session=session):
                raise LeaseLostError("The lease of the extraction was lost. Another worker continues or has ended it.")
            return await self._documents.begin_extracting_again(session, organization_id, document_id)

        return await run_in_transaction(self._connection, commit)

    async def _fail(self, running: RunningJob, document: Document, failure: Failure) -> None:
        """Mark the document and end the job at once: a worker that has lost its lease marks nothing."""

        async def commit(session: Session) -> None:
            await self._documents.mark_failed(
                document.organization_id, document.id, document.file_id, failure, session=session
            )
            if failure.code == WrongPasswordError.code:
                await self._settle_password(session, document, is_right=False)
            await self._jobs.finish(running.job, session=session)

        with running.finishing():
            await run_in_transaction(self._connection, commit)
            running.note_failure(failure)
            running.note_finished()

    async def _parse(self, running: RunningJob, document: Document, parts_file: BinaryIO) -> tuple[ParsedDocument, str]:
        if document.byte_size == 0:
            raise EmptyDocumentError(f"The file {document.document_name!r} is empty. Upload it again.")
        with tempfile.TemporaryDirectory(prefix="analytiq-extract-") as directory:
            path = Path(directory) / f"original{_suffix(document.document_name)}"
            with path.open("wb") as target:
                async for part in self._files.read(document.organization_id, document.file_id):
                    target.write(part)
            # The sender's claim about a file may be wrong or a lie; detect the type by its bytes.
            hints = hints_of(document.document_name, declared=document.content_type)
            read = None
            if document.byte_size <= LONGEST_READ_HERE_BYTES:
                read = read_here(path.read_bytes(), hints)
            if read is not None:
                return await asyncio.to_thread(judged, read[0]), read[1]
            content_type = await self._reader.detect(path, hints, organization_id=document.organization_id)
            organization = await self._organizations.get(document.organization_id)
            vision = VisionSettings() if organization is None else organization.vision
            parsed = await self._reader.parse(
                path,
                organization_id=document.organization_id,
                byte_size=document.byte_size,
                content_type=content_type,
                options=ParseOptions(
                    max_pages=self._settings.max_pages,
                    ocr_languages=self._ocr_languages(organization),
                    word_changes=self._settings.word_changes,
                    word_comments=self._settings.word_comments,
                    file_name=file_name_of(document.document_name),
                    max_parts=MOST_PARTS if _depth(document) < DEEPEST_PARTS else 0,
                    password=self._reader.password_of(document),
                    describes_figures=vision.describe_figures,
                    reads_scans=vision.read_pages,
                    page_reading=document.read_pages,
                ),
                parts_file=parts_file,
                on_progress=lambda done, total: running.report_soon(done, total, "pages"),
            )
        if organization is not None and parsed.pictures:
            file = ReadFile(document.id, document.file_id)
            with traces.span("extraction.read_pictures", pictures=len(parsed.pictures)):
                parsed = await self._pictures.read(organization, file, parsed)
        return parsed, content_type

    async def _settle_password(self, session: Session, document: Document, *, is_right: bool) -> None:
        if document.offered_password is not None:
            await self._documents.settle_password(
                session, document.organization_id, document.id, offered=document.offered_password, is_right=is_right
            )

    def _ocr_languages(self, organization: Organization | None) -> tuple[str, ...]:
        own = None if organization is None else organization.ocr_languages
        return self._settings.ocr_languages if own is None else own

    async def _serve(self, running: RunningJob, document: Document, parsed: ParsedDocument, content_type: str) -> None:
        text = join_pages(parsed.pages, title=parsed.title)
        warnings = [*parsed.warnings, *flaw_warnings(text, is_pdf=content_type == PDF_TYPE)]
        if not text.text.strip():
            warnings.append("no text could be extracted, so there is nothing to search for")
            log.warning("extraction.no_text", document_id=document.id)
        text_id, text_hash = await self._texts.stage(document.organization_id, document.id, text)
        await checkpoint("extraction.text_staged")
        try:
            await self._commit(running, document, text, text_id, text_hash, warnings, content_type)
        except BaseException:
            await self._texts.delete_unless_served(document.organization_id, document.id, text_id)
            raise
        log.info("extraction.done", document_id=document.id, pages=len(text.pages), characters=len(text.text))

    async def _commit(
        self,
        running: RunningJob,
        document: Document,
        text: DocumentText,
        text_id: str,
        text_hash: str,
        warnings: list[str],
        content_type: str,
    ) -> None:
        async def commit(session: Session) -> bool:
            before = await self._documents.mark_extracted(
                session,
                document.organization_id,
                document.id,
                file_id=document.file_id,
                text={
                    "text_id": text_id,
                    "text_hash": text_hash,
                    "page_count": len(text.pages),
                    "character_count": len(text.text.strip()),
                    "has_tables": text.has_tables,
                    "content_type": content_type,
                    "flaws": [count.model_dump() for count in flaw_counts(text)],
                },
                warnings=warnings,
            )
            if before is None:
                return False  # deleted, or replaced by another file, whose own job is enqueued
            await self._texts.serve(session, text_id, instead_of=before.text_id)
            await self._settle_password(session, document, is_right=True)
            await self._outbox.record(
                session, document.organization_id, [extracted_event(document.id, len(text.pages))]
            )
            await self._jobs.finish(running.job, session=session)
            requests = [document_changed(document.organization_id, document.id, priority=running.job.priority)]
            if before.text_id is not None:
                requests.append(clean_request(document.organization_id, document.id))
            await self._jobs.enqueue(requests, request_id=running.job.request_id, session=session)
            return True

        with running.finishing():
            is_served = await run_in_transaction(self._connection, commit)
            if is_served:
                running.note_finished()
        if is_served:
            await checkpoint("extraction.committed")
        else:
            await self._texts.delete(document.organization_id, document.id, text_id)
            await self._forget_readings(document)

    async def _forget_readings(self, document: Document) -> None:
        """Delete the readings that this job has added behind the back of the document's deletion or replacement."""
        present = await self._documents.get(document.organization_id, document.id)
        if present is None:
            await self._readings.delete_of_document(document.organization_id, document.id)
        else:
            file = ReadFile(document.id, present.file_id)
            await self._readings.delete_of_other_files(document.organization_id, file)


def _depth(document: Document) -> int:
    return 0 if document.part_of is None else len(document.part_of.container_ids)


def _suffix(document_name: str) -> str:
    """Return the name's ending, if safe in a path: parsers use it as a hint."""
    suffix = Path(document_name).suffix.lower()
    return suffix if suffix[1:].isalnum() and len(suffix) <= 10 else ""
