"""Locator of a passage's boxes; it reads the file again in the sandbox, so that no stored box can be stale."""

import asyncio
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

import structlog

from analytiq.errors import ConflictError, InvalidInputError, NotFoundError, PermanentError
from analytiq.inference.credentials.document_passwords import password_of
from analytiq.inference.credentials.encryption import Vault
from analytiq.models.blocks import Block
from analytiq.models.boxes import Box, PageWords
from analytiq.models.document import Document
from analytiq.models.text import PageSpan, TextSource
from analytiq.retrieval.places.alignment import boxes_of
from analytiq.settings import ExtractionSettings
from analytiq.storage.all_repositories import Repositories

log = structlog.get_logger(__name__)

MAX_PAGES = 5
"""Most pages of one passage: a chunk spans one or two; further pages are returned without boxes."""
CPU_SECONDS = 30
WALL_SECONDS = 60.0
"""Time limit for a page. Letters of a PDF take 30 to 90 ms with the child process, a scan 1 to 3 s of OCR."""
AT_ONCE = 2
"""Pages read concurrently in a process, so that a reader's clicks do not use up the machine. An organization has no
more requests than this in line: behind a thousand of its requests, another's waits for one page."""
REMEMBERED_PAGES = 64
"""Most cached pages: about 0.5 MB each if a page is full of letters."""


Languages = tuple[str, ...]
"""OCR languages by Tesseract's names."""


@dataclass(frozen=True, slots=True)
class PlacedPage:
    """A page of a passage with its boxes; without boxes, `reason` explains why."""

    page_number: int
    boxes: tuple[Box, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _PageKey:
    """The cache key of a page's words: different bytes have a different file id."""

    organization_id: str
    file_id: str
    page_number: int
    is_image: bool
    languages: Languages


class PageReader(Protocol):
    """Reads single pages of files; implemented by ingestion."""

    async def place_words(
        self,
        path: Path,
        *,
        organization_id: str,
        content_type: str,
        page_number: int,
        is_image: bool,
        languages: Languages,
        password: str | None,
        cpu_seconds: int,
        wall_seconds: float,
    ) -> PageWords:
        """Return the words of a page with their positions; of an image or a scan, by OCR in these languages.

        Raises:
            PermanentError: the page cannot be read.
        """
        ...


class Locating:
    """Service that locates passages on their pages."""

    def __init__(self, rows: Repositories, reader: PageReader, vault: Vault, settings: ExtractionSettings) -> None:
        self._organizations = rows.organizations
        self._documents = rows.documents
        self._texts = rows.texts
        self._files = rows.files
        self._reader = reader
        self._vault = vault
        self._settings = settings
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._own_turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._words: OrderedDict[_PageKey, PageWords] = OrderedDict()

    async def locate(
        self, organization_id: str, document_id: str, start: int, end: int, *, text_hash: str | None = None
    ) -> list[PlacedPage]:
        """Locate the characters [start, end) of a document's text on its pages.

        `text_hash`: hash of the text that the offsets refer to, if the caller knows it.

        Raises:
            NotFoundError: the organization has no such document.
            ConflictError: its text is not extracted yet, or has another hash (`text_replaced`).
            InvalidInputError: the range contains no character of the text.
        """
        if start >= end:
            raise InvalidInputError.of_field("end", f"A passage must end after its start, {start}.")
        document = await self._documents.get(organization_id, document_id)
        if document is None:
            raise NotFoundError(f"No document has the id {document_id!r}. List the documents to find it.")
        if document.text_id is None:
            raise ConflictError(
                "The document has no text yet, so that no passage can be placed. Try again after its extraction.",
                code="no_text",
            )
        if text_hash is not None and text_hash != document.text_hash:
            raise ConflictError(
                "The passage belongs to a former version of the document: its text was replaced.", code="text_replaced"
            )
        _title, spans, blocks = await self._texts.structure(organization_id, document.text_id)
        touched = [span for span in spans if span.start < end and start < span.end]
        if not touched:
            raise InvalidInputError.of_field("end", f"No character from {start} to {end} is on a page of the document.")
        languages = await self._languages(organization_id)
        missing = await self._read_missing(document, touched[:MAX_PAGES], languages)
        placed = [
            await self._placed(
                document, span, languages, max(start, span.start), min(end, span.end), _within(blocks, span)
            )
            if span.page_number not in missing
            else PlacedPage(span.page_number, (), missing[span.page_number])
            for span in touched[:MAX_PAGES]
        ]
        beyond = f"only {MAX_PAGES} pages are read"
        return placed + [PlacedPage(span.page_number, (), beyond) for span in touched[MAX_PAGES:]]

    async def _languages(self, organization_id: str) -> Languages:
        organization = await self._organizations.get(organization_id)
        own = None if organization is None else organization.ocr_languages
        return self._settings.ocr_languages if own is None else own

    async def _placed(
        self, document: Document, span: PageSpan, languages: Languages, start: int, end: int, blocks: Sequence[Block]
    ) -> PlacedPage:
        words = self._words.get(_key(document, span, languages))
        if words is None:
            return PlacedPage(span.page_number, (), "the page could not be read")
        assert document.text_id is not None  # noqa: S101  # `locate` has looked
        text = await self._texts.read_range(document.organization_id, document.text_id, span.start, span.end)
        boxes = await asyncio.to_thread(boxes_of, words.pieces, text, start - span.start, end - span.start, blocks)
        reason = None if boxes else "the words of the passage were not found on the page"
        return PlacedPage(span.page_number, tuple(boxes), reason)

    async def _read_missing(
        self, document: Document, spans: Sequence[PageSpan], languages: Languages
    ) -> dict[int, str]:
        """Read the pages missing from the cache; return page number → reason of a failure."""
        wanted = [span for span in spans if _key(document, span, languages) not in self._words]
        if not wanted:
            return {}
        failures: dict[int, str] = {}
        own_turns = self._own_turns.setdefault(document.organization_id, asyncio.Semaphore(AT_ONCE))
        async with own_turns, self._turns:
            with tempfile.TemporaryDirectory(prefix="analytiq-locate-") as directory:
                path = Path(directory) / "original"
                with path.open("wb") as target:
                    async for part in self._files.read(document.organization_id, document.file_id):
                        target.write(part)
                for span in wanted:
                    try:
                        self._remember(
                            _key(document, span, languages), await self._read(path, document, span, languages)
                        )
                    except PermanentError as error:
                        failures[span.page_number] = error.detail
                        log.info(
                            "locating.page_unread", document_id=document.id, page=span.page_number, code=error.code
                        )
        return failures

    async def _read(self, path: Path, document: Document, span: PageSpan, languages: Languages) -> PageWords:
        return await self._reader.place_words(
            path,
            organization_id=document.organization_id,
            content_type=document.content_type,
            page_number=span.page_number,
            is_image=span.source is not TextSource.EMBEDDED,
            languages=languages,
            password=password_of(document, self._vault),
            cpu_seconds=CPU_SECONDS,
            wall_seconds=WALL_SECONDS,
        )

    def _remember(self, key: _PageKey, words: PageWords) -> None:
        self._words[key] = words
        while len(self._words) > REMEMBERED_PAGES:
            self._words.popitem(last=False)


def _within(blocks: Sequence[Block], span: PageSpan) -> list[Block]:
    """Return the blocks of a page, with offsets in the page's text."""
    return [block.moved(-span.start) for block in blocks if span.start <= block.start and block.end <= span.end]


def _key(document: Document, span: PageSpan, languages: Languages) -> _PageKey:
    return _PageKey(
        document.organization_id, document.file_id, span.page_number, span.source is not TextSource.EMBEDDED, languages
    )
