"""Where a passage stands on its pages, read anew from the document's file in the sandbox.

Nothing is stored: a page of text takes 10 to 130 ms to be read again, a scanned one as long as OCR takes (0.1 to
1.7 s), and what is not stored is not to be counted, backed up, erased or brought up to date. The last pages are kept
in memory.
"""

import asyncio
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import structlog

from analytiq.documents.service import Documents
from analytiq.errors import InvalidInputError, PermanentError
from analytiq.extraction.placing import place_on_page, spans_touched
from analytiq.models.document import Document
from analytiq.models.geometry import PageBoxes, PageLetters, Unplaced
from analytiq.models.text import PageSpan, TextSource
from analytiq.mongo.files import FileStore
from analytiq.mongo.repositories.texts import TextRepository
from analytiq.parsing.base import ParseOptions
from analytiq.parsing.registry import letter_reader_of
from analytiq.parsing.sandbox import ParseLimits, read_letters_in_child
from analytiq.settings import ExtractionSettings

log = structlog.get_logger(__name__)

LONGEST_PASSAGE = 20_000
"""Characters; the longest chunk has fewer."""
MOST_PAGES = 20
"""Of one passage: pages with a word on each are no passage."""
KEPT_PAGES = 48
"""About 0.5 MB a page of 3,000 letters."""
AT_ONCE = 2
"""Children of one process: each may use a processor and hundreds of megabytes."""
PATIENCE_SECONDS = 60
"""Somebody waits before a screen."""
OUTPUT_BYTES = 64 * 1024 * 1024


class PassageBoxes:
    """Answers where passages stand."""

    def __init__(
        self, documents: Documents, texts: TextRepository, files: FileStore, settings: ExtractionSettings
    ) -> None:
        self._documents = documents
        self._texts = texts
        self._files = files
        self._settings = settings
        self._kept: OrderedDict[tuple[str, str, int], PageLetters | None] = OrderedDict()
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def of_passage(
        self, organization_id: str, document_id: str, start: int, end: int | None
    ) -> tuple[Document, list[PageBoxes]]:
        """The boxes of `[start, end)` of the document's text, by page in order; a page without any says why.

        Without `end` it ends with the page that it starts on.

        Raises:
            NotFoundError: the organization has no such document.
            ConflictError: it has no text (code `no_text`).
            InvalidInputError: that is no passage of its text.
            TransientError: the sandbox failed, or the text was replaced meanwhile; ask again.
        """
        document, text_id = await self._documents.extracted(organization_id, document_id)
        spans = await self._texts.pages(organization_id, text_id)
        end = _end_of_page(spans, start) if end is None else end
        touched = _touched(spans, start, end)
        reader = letter_reader_of(document.content_type)
        letters: dict[int, PageLetters | None] = {}
        if reader is not None:
            wanted = [span.page_number for span in touched if span.source is not TextSource.NEEDS_OCR]
            letters = await self._letters(document, text_id, reader, wanted)
        if not touched:
            return document, []
        first, last = touched[0].start, touched[-1].end
        text = await self._texts.read_range(organization_id, text_id, first, last)
        return document, [
            _unplaced(span, start, end, Unplaced.FORMAT)
            if reader is None
            else _unplaced(span, start, end, Unplaced.NEEDS_OCR)
            if span.page_number not in letters
            else place_on_page(span, text[span.start - first : span.end - first], start, end, letters[span.page_number])
            for span in touched
        ]

    async def _letters(
        self, document: Document, text_id: str, reader: str, page_numbers: Sequence[int]
    ) -> dict[int, PageLetters | None]:
        """The letters of these pages; None of a page that cannot be read."""
        missing = [number for number in page_numbers if (document.file_id, text_id, number) not in self._kept]
        if missing:
            async with self._slots:
                for number, read in (await self._read(document, reader, missing)).items():
                    self._kept[document.file_id, text_id, number] = read
        found: dict[int, PageLetters | None] = {}
        for number in page_numbers:
            key = (document.file_id, text_id, number)
            found[number] = self._kept.get(key)
            if key in self._kept:
                self._kept.move_to_end(key)
        while len(self._kept) > KEPT_PAGES:
            self._kept.popitem(last=False)
        return found

    async def _read(
        self, document: Document, reader: str, page_numbers: Sequence[int]
    ) -> dict[int, PageLetters | None]:
        nothing: dict[int, PageLetters | None] = dict.fromkeys(page_numbers)
        with tempfile.TemporaryDirectory(prefix="analytiq-boxes-") as directory:
            path = Path(directory) / "original"
            with path.open("wb") as target:
                async for part in self._files.read(document.organization_id, document.file_id):
                    target.write(part)
            try:
                read = await read_letters_in_child(
                    path,
                    reader=reader,
                    page_numbers=page_numbers,
                    options=ParseOptions(
                        max_pages=self._settings.max_pages, ocr_languages=self._settings.ocr_languages
                    ),
                    limits=ParseLimits(
                        memory_bytes=self._settings.memory_bytes,
                        cpu_seconds=min(self._settings.cpu_seconds, PATIENCE_SECONDS),
                        wall_seconds=min(self._settings.wall_seconds, PATIENCE_SECONDS),
                        output_bytes=min(self._settings.output_bytes, OUTPUT_BYTES),
                    ),
                )
            except PermanentError as error:
                log.info("boxes.unreadable", document_id=document.id, code=error.code, detail=error.detail)
                return nothing
        return nothing | {page.page_number: page for page in read if page.page_number in nothing}


def _end_of_page(spans: Sequence[PageSpan], start: int) -> int:
    return next((span.end for span in spans if span.end > start), start)


def _touched(spans: Sequence[PageSpan], start: int, end: int) -> list[PageSpan]:
    length = spans[-1].end if spans else 0
    if end <= start:
        raise InvalidInputError.of_field("end", "it must be greater than start")
    if end - start > LONGEST_PASSAGE:
        raise InvalidInputError.of_field("end", f"a passage has at most {LONGEST_PASSAGE} characters")
    if end > length:
        raise InvalidInputError.of_field("end", f"the document's text has {length} characters")
    touched = spans_touched(spans, start, end)
    if len(touched) > MOST_PAGES:
        raise InvalidInputError.of_field(
            "end", f"a passage is on at most {MOST_PAGES} pages, this is on {len(touched)}"
        )
    return touched


def _unplaced(span: PageSpan, start: int, end: int, reason: Unplaced) -> PageBoxes:
    return PageBoxes(span.page_number, max(start, span.start), min(end, span.end), (), reason)
