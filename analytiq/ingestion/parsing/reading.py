"""Reads documents within this process's budgets: time by the size of a file, memory over all parsers together."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, TypeVar

import structlog

from analytiq.errors import CorruptFileError, MemoryLimitError
from analytiq.inference.credentials.document_passwords import password_of
from analytiq.inference.credentials.encryption import Vault
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress, TypeHints
from analytiq.ingestion.parsing.budgets import ProcessorBudget, first_grant
from analytiq.ingestion.parsing.isolation import isolation_of
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.memory import MemoryBudget
from analytiq.ingestion.parsing.messages import PageRequest
from analytiq.ingestion.parsing.registry import default_registry
from analytiq.ingestion.parsing.sandbox import (
    DETECTION_LIMITS,
    detect_in_child,
    parse_in_child,
    place_words_in_child,
    query_in_child,
    read_sheets_in_child,
    read_tables_in_child,
)
from analytiq.models.boxes import PageWords
from analytiq.models.document import Document
from analytiq.models.page_reading import PageReading
from analytiq.models.tables import QueryAnswer, TablesRead, WorkbookRows
from analytiq.models.text import ParsedDocument
from analytiq.settings import ExtractionSettings

log = structlog.get_logger(__name__)
_Read = TypeVar("_Read")


REREAD_SHARE = 0.6
"""Share of a file's time for the OCR that its owner has requested; the rest is for reading its text first."""


def processor_budget_of(settings: ExtractionSettings) -> ProcessorBudget:
    """Return the budget of processor time that the settings ask for."""
    return ProcessorBudget(
        least=min(settings.cpu_seconds_least, settings.cpu_seconds),
        per_mebibyte=settings.cpu_seconds_per_mebibyte,
        per_mebibyte_of_pictures=settings.cpu_seconds_per_mebibyte_of_pictures,
        most=settings.cpu_seconds,
    )


class DocumentReader:
    """The reader of all documents of this process; one instance, since its parsers share the memory."""

    def __init__(self, settings: ExtractionSettings, memory: MemoryBudget, vault: Vault) -> None:
        self._settings = settings
        self._memory = memory
        self._vault = vault
        self._isolation = isolation_of(settings)
        self._processor = processor_budget_of(settings)

    def password_of(self, document: Document) -> str | None:
        """Return the password to open the document's file with."""
        return password_of(document, self._vault)

    async def detect(self, path: Path, hints: TypeHints, *, organization_id: str) -> str:
        """Return the content type of a file; raise the errors of `detect_in_child`."""
        async with self._memory.grant(DETECTION_LIMITS.memory_bytes, organization_id) as granted:
            limits = replace(DETECTION_LIMITS, memory_bytes=granted)
            return await detect_in_child(path, hints, limits=limits, isolation=self._isolation)

    async def parse(
        self,
        path: Path,
        *,
        organization_id: str,
        byte_size: int,
        content_type: str,
        options: ParseOptions,
        on_progress: ReportProgress | None = None,
        parts_file: BinaryIO | None = None,
    ) -> ParsedDocument:
        """Parse a file with the usual memory of its size, and once more with the most allowed.

        `parts_file` takes the bytes of its parts, if `options` allow any.

        Raises:
            LimitExceededError: It needs more time or memory than a file of its size may have.
            AnalytiqError: The errors of `parse_in_child`.
        """
        limits = self._limits_of(byte_size, content_type, options)
        options = replace(options, reread_seconds=REREAD_SHARE * min(limits.cpu_seconds, limits.wall_seconds))
        if parts_file is not None:
            options = replace(options, installed_parsers=default_registry().installed)

        async def parse_with(memory_bytes: int) -> ParsedDocument:
            async with self._memory.grant(memory_bytes, organization_id) as granted:
                return await parse_in_child(
                    path,
                    content_type=content_type,
                    options=options,
                    limits=replace(limits, memory_bytes=granted),
                    isolation=self._isolation,
                    on_progress=on_progress,
                    parts_file=parts_file,
                )

        return await self._with_memory(byte_size, parse_with)

    async def read_tables(
        self,
        path: Path,
        *,
        organization_id: str,
        byte_size: int,
        content_type: str,
        options: ParseOptions,
        needs_header: bool,
        rows_file: BinaryIO,
    ) -> TablesRead:
        """Read the tables of a file, with the limits of `parse`; write their rows to `rows_file`."""
        limits = self._limits_of(byte_size, content_type, options)

        async def read_with(memory_bytes: int) -> TablesRead:
            async with self._memory.grant(memory_bytes, organization_id) as granted:
                return await read_tables_in_child(
                    path,
                    content_type=content_type,
                    options=options,
                    needs_header=needs_header,
                    limits=replace(limits, memory_bytes=granted),
                    isolation=self._isolation,
                    rows_file=rows_file,
                )

        return await self._with_memory(byte_size, read_with)

    async def read_sheets(
        self, path: Path, *, organization_id: str, byte_size: int, content_type: str, options: ParseOptions, sheet: str
    ) -> WorkbookRows:
        """Read the rows of a workbook's sheets, with the limits of `parse`; see `read_sheets_in_child`."""
        limits = self._limits_of(byte_size, content_type, options)

        async def read_with(memory_bytes: int) -> WorkbookRows:
            async with self._memory.grant(memory_bytes, organization_id) as granted:
                return await read_sheets_in_child(
                    path,
                    content_type=content_type,
                    options=options,
                    sheet=sheet,
                    limits=replace(limits, memory_bytes=granted),
                    isolation=self._isolation,
                )

        return await self._with_memory(byte_size, read_with)

    async def query_table(self, rows: Path, request: Path, *, organization_id: str, limits: ParseLimits) -> QueryAnswer:
        """Answer a query about rows; raise the errors of `query_in_child`."""
        async with self._memory.grant(limits.memory_bytes, organization_id) as granted:
            limits = replace(limits, memory_bytes=granted)
            return await query_in_child(rows, request, limits=limits, isolation=self._isolation)

    async def _with_memory(self, byte_size: int, run: Callable[[int], Awaitable[_Read]]) -> _Read:
        """Run with the usual memory of a file's size, and once more with the most allowed."""
        most = min(self._settings.memory_bytes, self._memory.most)
        first = first_grant(byte_size, most)
        try:
            return await run(first)
        except (MemoryLimitError, CorruptFileError) as error:
            # Libraries that run out of memory may call a sound file damaged.
            if first >= most:
                raise
            log.info("parsing.more_memory", bytes=byte_size, code=error.code, memory_bytes=most)
        return await run(most)

    def _limits_of(self, byte_size: int, content_type: str, options: ParseOptions) -> ParseLimits:
        """Return the limits of a file, with the memory still to be granted."""
        return ParseLimits(
            cpu_seconds=self._cpu_seconds(byte_size, content_type, options),
            wall_seconds=self._settings.wall_seconds,
            output_bytes=self._settings.output_bytes,
            file_bytes=byte_size,
        )

    def _cpu_seconds(self, byte_size: int, content_type: str, options: ParseOptions) -> int:
        """Return the time for a file: by its size, but all of it where its owner has requested OCR."""
        if options.page_reading is not PageReading.AUTO:
            return self._processor.most
        return self._processor.seconds(byte_size, content_type)

    async def place_words(
        self,
        path: Path,
        *,
        organization_id: str,
        content_type: str,
        page_number: int,
        is_image: bool,
        languages: tuple[str, ...],
        password: str | None,
        cpu_seconds: int,
        wall_seconds: float,
    ) -> PageWords:
        """Return the words of a page with their positions; raise the errors of `place_words_in_child`."""
        page = PageRequest(content_type, page_number, is_image)
        options = ParseOptions(max_pages=self._settings.max_pages, ocr_languages=languages, password=password)
        async with self._memory.grant(self._settings.memory_bytes, organization_id) as granted:
            limits = ParseLimits(
                memory_bytes=granted,
                cpu_seconds=cpu_seconds,
                wall_seconds=wall_seconds,
                output_bytes=self._settings.output_bytes,
            )
            return await place_words_in_child(path, page, options=options, limits=limits, isolation=self._isolation)
