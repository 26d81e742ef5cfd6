"""Extraction of short plain texts: read in this process, and many of them in one transaction."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from analytiq.ingestion.membership import document_changed
from analytiq.ingestion.parsing.base import TypeHints
from analytiq.ingestion.parsing.formats import HEAD_BYTES, hints_of, text_by_name
from analytiq.ingestion.parsing.plain_text import parse_utf8, passage_pages, plain_pages
from analytiq.ingestion.parsing.registry import PASSAGE_PARSER, PLAIN_TEXT_PARSER, default_registry
from analytiq.ingestion.quality.counting import flaw_counts
from analytiq.ingestion.quality.judging import judged
from analytiq.ingestion.quality.telling import flaw_warnings
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.document import Document
from analytiq.models.text import DocumentText, ParsedDocument, join_pages
from analytiq.models.webhook import WebhookEvent, WebhookEventType
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.texts import HEAD_CHARACTERS, text_hash
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry import traces
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

LONGEST_READ_HERE_BYTES = 256 * 1024
"""Longest UTF-8 text read in this process, in about 2 ms; longer texts would delay its other jobs."""
MOST_BYTES_TOGETHER = 8 * 1024 * 1024
"""Most bytes of texts in one transaction: about 20 MB fail where the database's cache has 0.25 GB."""

_DIVIDED_BY = {PLAIN_TEXT_PARSER: plain_pages, PASSAGE_PARSER: passage_pages}
"""Parser → the function by which it makes pages."""


@dataclass(frozen=True, slots=True)
class _Small:
    """A text that is ready to be committed."""

    running: RunningJob
    document: Document
    text_id: str
    text: DocumentText
    fields: dict[str, Any]


class SmallTextExtraction:
    """Extracts short plain texts of new documents together; all others are left to the ordinary handler."""

    def __init__(self, rows: Repositories) -> None:
        self._connection = rows.connection
        self._documents = rows.documents
        self._texts = rows.texts
        self._files = rows.files
        self._jobs = rows.jobs
        self._outbox = rows.webhook_outbox

    async def extract(self, batch: RunningBatch, document_ids: Sequence[str]) -> None:
        """Make the texts of those documents current whose files can be read here."""
        organization_id = batch.jobs[0].job.organization_id
        running_of = dict(zip(document_ids, batch.jobs, strict=True))
        found = await self._documents.of_organizations([organization_id], document_ids)
        chosen = _within_bounds([document for document in found if _may_be_small(document)])
        if not chosen:
            return
        contents = await self._files.read_small(organization_id, [document.file_id for document in chosen])
        await checkpoint("extraction.begun")
        with traces.span("extraction.parse", documents=len(chosen)):
            pairs = [(document, contents[document.file_id]) for document in chosen if document.file_id in contents]
            small = await asyncio.to_thread(_read_all, pairs, running_of)
        await checkpoint("extraction.parsed")
        if small:
            with traces.span("extraction.serve", documents=len(small)):
                served = await self._commit(batch, organization_id, small)
            await checkpoint("extraction.committed")
            log.info("extraction.batch_done", documents=served)

    async def _commit(self, batch: RunningBatch, organization_id: str, small: Sequence[_Small]) -> int:
        async def commit(session: Session) -> list[_Small]:
            # Read within the transaction: whatever changes later conflicts with it, so that no filter is needed.
            held = await self._jobs.held_among([item.running.job for item in small], session=session)
            ids = [item.document.id for item in small]
            present = await self._documents.present_among(session, organization_id, ids)
            kept = [
                item
                for item in small
                if item.running.job.id in held and _is_same(item.document, present.get(item.document.id))
            ]
            if not kept:
                return []
            texts = {item.document.id: (item.text_id, item.text) for item in kept}
            await self._texts.insert_current(session, organization_id, texts)
            fields = {item.document.id: item.fields for item in kept}
            await self._documents.mark_all_extracted(session, organization_id, fields)
            events = [extracted_event(item.document.id, item.fields["page_count"]) for item in kept]
            await self._outbox.record(session, organization_id, events)
            jobs = [item.running.job for item in kept]
            await self._jobs.finish_many(jobs, session=session)
            requests = [
                document_changed(organization_id, item.document.id, priority=item.running.job.priority).model_copy(
                    update={"request_id": item.running.job.request_id}
                )
                for item in kept
            ]
            await self._jobs.enqueue(requests, session=session)
            return kept

        with batch.finishing([item.running for item in small]):
            served = await run_in_transaction(self._connection, commit)
            for item in served:
                item.running.note_finished()
        return len(served)


def extracted_event(document_id: str, page_count: int) -> WebhookEvent:
    """Return the event of a document whose text becomes current."""
    return WebhookEvent.of_document(WebhookEventType.DOCUMENT_EXTRACTED, document_id, page_count=page_count)


def read_here(content: bytes, hints: TypeHints) -> tuple[ParsedDocument, str] | None:
    """Read a UTF-8 text with a plain-text name, with its content type; return None for any other file."""
    content_type = text_by_name(content[:HEAD_BYTES], hints)
    if content_type is None:
        return None
    # A package may bring a plain text parser of its own, and foreign code runs in the sandbox only.
    divide = _DIVIDED_BY.get(default_registry().entry_for(content_type).reference)
    parsed = None if divide is None else parse_utf8(content, divide=divide)
    return None if parsed is None else (parsed, content_type)


def _may_be_small(document: Document) -> bool:
    """Return True for an unchanged new document of a short file: former texts and parts need more to be done."""
    is_new = document.rev == 0 and document.text_id is None and document.offered_password is None
    return is_new and 0 < document.byte_size <= LONGEST_READ_HERE_BYTES


def _within_bounds(documents: Sequence[Document]) -> list[Document]:
    chosen: list[Document] = []
    byte_size = 0
    for document in documents:
        byte_size += document.byte_size
        if byte_size > MOST_BYTES_TOGETHER:
            break
        chosen.append(document)
    return chosen


def _is_same(document: Document, present: Document | None) -> bool:
    return present is not None and (present.file_id, present.text_id) == (document.file_id, document.text_id)


def _read_all(pairs: Sequence[tuple[Document, bytes]], running_of: dict[str, RunningJob]) -> list[_Small]:
    found: list[_Small] = []
    for document, content in pairs:
        try:
            small = _read(document, content, running_of[document.id])
        except Exception:  # noqa: BLE001  # the ordinary handler meets the same error, and reports it
            log.info("extraction.left_to_single", document_id=document.id)
            continue
        if small is not None:
            found.append(small)
    return found


def _read(document: Document, content: bytes, running: RunningJob) -> _Small | None:
    read = read_here(content, hints_of(document.document_name, declared=document.content_type))
    if read is None:
        return None
    parsed, content_type = judged(read[0]), read[1]
    text = join_pages(parsed.pages, title=parsed.title)
    if parsed.parts or len(text.text) > HEAD_CHARACTERS or not text.text.strip():
        return None
    text_id = new_id()
    fields = {
        "text_id": text_id,
        "text_hash": text_hash(text),
        "page_count": len(text.pages),
        "character_count": len(text.text.strip()),
        "has_tables": text.has_tables,
        "content_type": content_type,
        "flaws": [count.model_dump() for count in flaw_counts(text)],
        "warnings": [*parsed.warnings, *flaw_warnings(text, is_pdf=False)],
    }
    return _Small(running, document, text_id, text, fields)
