"""Tables of documents, read from their files when they are asked for, and queries about them.

Nothing is stored: a table cannot be stale, outlive its document, or be missing from a backup. A process keeps the rows
of the tables asked last in temporary files, for some minutes.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from analytiq.errors import (
    ConflictError,
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
    ParserUnavailableError,
    PermanentError,
)
from analytiq.ingestion.documents.naming import file_name_of
from analytiq.ingestion.documents.table_cache import CachedTables, TableCache
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.messages import QUERY_REQUEST, QueryRequest
from analytiq.ingestion.parsing.reading import DocumentReader
from analytiq.ingestion.tables.deriving import digest_of
from analytiq.models.document import Document, DocumentState
from analytiq.models.file_type import CONTENT_TYPES, FileType
from analytiq.models.tables import DocumentTable, QueryAnswer, SourceRow, TableQuery, TablesRead
from analytiq.models.text import DocumentText
from analytiq.settings import ExtractionSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.document_pages import DocumentQuery

log = structlog.get_logger(__name__)

QUERY_LIMITS = ParseLimits(
    memory_bytes=768 * 1024 * 1024, cpu_seconds=10, wall_seconds=20.0, output_bytes=32 * 1024 * 1024
)
"""Limits of a query. A sum over five million cells takes two seconds, most of them to load the rows."""
AT_ONCE = 2
"""Documents read, and queries answered, at the same time in a process, and for an organization."""
PAGE_SECONDS = 20.0
"""Time for the documents of a page; a document that has begun is read to its end."""
_NO_TIME = "The page's documents before it took too long to read. Ask for the tables of this document alone."
TYPES = (
    FileType.SPREADSHEET, FileType.WEB, FileType.WORD, FileType.PDF, FileType.PRESENTATION, FileType.EBOOK,
    FileType.EMAIL,
)  # fmt: skip
"""Types of files whose tables can be queried, beside Markdown and notebooks."""
_OTHERS = ("text/markdown", "application/x-ipynb+json")
_CONTENT_TYPES = frozenset({*_OTHERS, *(name for kind in TYPES for name in CONTENT_TYPES[kind])})
_SHEETS = frozenset(CONTENT_TYPES[FileType.SPREADSHEET])


@dataclass(frozen=True, slots=True)
class DocumentTables:
    """The tables of a document; `problem` tells why it has none."""

    document: Document
    tables: tuple[DocumentTable, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The answer to a query about a table of a document."""

    document: Document
    table: DocumentTable
    answer: QueryAnswer


class Tables:
    """Tables of an organization's documents."""

    def __init__(self, rows: Repositories, reader: DocumentReader, settings: ExtractionSettings) -> None:
        self._documents = rows.documents
        self._texts = rows.texts
        self._files = rows.files
        self._reader = reader
        self._settings = settings
        self._cache = TableCache()
        self._turns = asyncio.Semaphore(AT_ONCE)

    def close(self) -> None:
        """Delete the rows that this process keeps."""
        self._cache.close()

    async def page(
        self, organization_id: str, query: DocumentQuery, *, skip: int, limit: int
    ) -> tuple[list[DocumentTables], int]:
        """Return the tables of a page of documents that have some, and the number of these documents.

        A text extracted by an older release does not tell of tables; `of_document` answers for it.
        """
        wanted = replace(query, has_tables=True, states=(DocumentState.EXTRACTED,))
        documents, total = await self._documents.page(organization_id, wanted, skip=skip, limit=limit)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PAGE_SECONDS
        return [
            await self._described(document) if loop.time() < deadline else DocumentTables(document, problem=_NO_TIME)
            for document in documents
        ], total

    async def has_any(self, organization_id: str, query: DocumentQuery) -> bool:
        """Return True if a document of the query has tables; no file is read."""
        wanted = replace(query, has_tables=True, states=(DocumentState.EXTRACTED,))
        return bool((await self._documents.page(organization_id, wanted, skip=0, limit=1))[0])

    async def members(self, organization_id: str, query: DocumentQuery) -> list[Document]:
        """Return the first documents of a query, whatever their type."""
        return (await self._documents.page(organization_id, query, skip=0, limit=10))[0]

    async def row_texts(self, found: TableAnswer) -> list[tuple[SourceRow, str]]:
        """Return the rows that an answer rests on with their text, `text[start:end]` of the document's."""
        document = found.document
        return [
            (row, await self._texts.read_range(document.organization_id, document.text_id or "", row.start, row.end))
            for row in found.answer.source_rows
            if row.start is not None and row.end is not None
        ]

    async def of_document(self, organization_id: str, document_id: str) -> DocumentTables:
        """Return the tables of a document.

        Raises:
            NotFoundError: the organization has no such document.
        """
        document = await self._documents.get(organization_id, document_id)
        if document is None:
            raise NotFoundError(f"No document has the id {document_id!r}. List the documents to find it.")
        return await self._described(document)

    async def get(self, organization_id: str, table_id: str) -> tuple[Document, DocumentTable]:
        """Return a table.

        Raises:
            NotFoundError: the organization has no such table.
            ConflictError: the document has no text yet.
            PermanentError: its tables cannot be read.
        """
        document = await self._document_of(organization_id, table_id)
        async with self._read(document) as cached:
            return document, _table(cached.read, table_id)

    async def query(self, organization_id: str, table_id: str, query: TableQuery) -> TableAnswer:
        """Answer a query about a table.

        Raises:
            InvalidInputError: the query is wrong, refused, or needs too much; `invalid_query`.
            NotFoundError: the organization has no such table.
            ConflictError: the document has no text yet.
            PermanentError: its tables cannot be read.
        """
        document = await self._document_of(organization_id, table_id)
        async with self._read(document) as cached:
            table = _table(cached.read, table_id)
            answer = await self._answered(organization_id, cached, table, query)
            rows = tuple(_placed(row, cached.page_starts.get(row.page_number)) for row in answer.source_rows)
            answer = replace(answer, source_rows=rows)
        return TableAnswer(document, table, answer)

    async def _answered(
        self, organization_id: str, cached: CachedTables, table: DocumentTable, query: TableQuery
    ) -> QueryAnswer:
        if "\0" in query.sql or not query.sql.strip():
            raise _invalid("Write a SELECT statement.")
        try:
            with tempfile.TemporaryDirectory(prefix="analytiq-query-") as directory:
                request = Path(directory) / "request"
                request.write_bytes(QUERY_REQUEST.dump_json(QueryRequest(replace(table, sample=()), query)))
                async with self._turns:
                    return await self._reader.query_table(
                        cached.rows, request, organization_id=organization_id, limits=QUERY_LIMITS
                    )
        except InvalidInputError as error:
            raise _invalid(error.detail) from error
        except ParserUnavailableError:
            raise
        except LimitExceededError as error:
            raise _invalid(
                f"The query needs more than {QUERY_LIMITS.cpu_seconds} seconds or"
                f" {QUERY_LIMITS.memory_bytes >> 20} MiB of memory: filter or group the rows."
            ) from error
        except PermanentError as error:
            log.warning("tables.query_crashed", code=error.code, detail=error.detail)
            raise _invalid("The query ended its process: write it in a simpler way.") from error

    async def _document_of(self, organization_id: str, table_id: str) -> Document:
        document = await self._documents.get(organization_id, table_id.partition("-")[0])
        if document is None:
            raise _unknown(table_id)
        return document

    async def _described(self, document: Document) -> DocumentTables:
        try:
            async with self._read(document) as cached:
                return DocumentTables(document, cached.read.tables, cached.read.warnings)
        except (ConflictError, PermanentError) as error:
            return DocumentTables(document, problem=error.detail)

    def _read(self, document: Document) -> "_Reading":
        if document.state is not DocumentState.EXTRACTED or document.text_id is None:
            raise ConflictError(
                "The document's text has not been extracted yet. Ask for its tables after that.", code="no_text"
            )
        return _Reading(self, document)

    async def derive(self, document: Document) -> CachedTables:
        """Return the tables of a document's present file, and hold them until `release`."""
        key = (document.organization_id, document.id, document.file_id, document.text_id or "")
        async with self._cache.lock(key):
            cached = self._cache.acquire(key)
            if cached is not None:
                return cached
            if document.content_type not in _CONTENT_TYPES:
                return self._cache.add_empty(key)
            async with self._turns:
                return await self._derived(document, key)

    def release(self, cached: CachedTables) -> None:
        """End the use of tables."""
        self._cache.release(cached)

    async def _derived(self, document: Document, key: tuple[str, str, str, str]) -> CachedTables:
        with tempfile.TemporaryDirectory(prefix="analytiq-tables-") as directory:
            path = Path(directory) / "original"
            with path.open("wb") as target:
                async for part in self._files.read(document.organization_id, document.file_id):
                    target.write(part)
            rows = self._cache.room()
            try:
                with rows.open("r+b") as rows_file:
                    read = await self._reader.read_tables(
                        path,
                        organization_id=document.organization_id,
                        byte_size=document.byte_size,
                        content_type=document.content_type,
                        options=self._options(document),
                        needs_header=document.content_type not in _SHEETS,
                        rows_file=rows_file,
                    )
            except BaseException:
                rows.unlink(missing_ok=True)
                raise
        starts = await self._starts_of_same_pages(document, dict(read.page_digests))
        return self._cache.add(key, read, rows, page_starts=starts)

    def _options(self, document: Document) -> ParseOptions:
        return ParseOptions(
            max_pages=self._settings.max_pages,
            word_changes=self._settings.word_changes,
            word_comments=self._settings.word_comments,
            file_name=file_name_of(document.document_name),
            password=self._reader.password_of(document),
        )

    async def _starts_of_same_pages(self, document: Document, digests: Mapping[int, str]) -> Mapping[int, int]:
        """Return the starts of the pages that read the same in the stored text.

        An older release may have extracted it, or it has descriptions of figures.
        """
        if not digests:
            return {}
        text = await self._texts.read(document.organization_id, document.text_id or "")
        return await asyncio.to_thread(_starts_of_same_pages, text, digests)


class _Reading:
    """The tables of a document, held for a while."""

    def __init__(self, tables: Tables, document: Document) -> None:
        self._tables = tables
        self._document = document
        self._cached: CachedTables | None = None

    async def __aenter__(self) -> CachedTables:
        self._cached = await self._tables.derive(self._document)
        return self._cached

    async def __aexit__(self, *_: object) -> None:
        if self._cached is not None:
            self._tables.release(self._cached)


def table_id_of(document_id: str, table: DocumentTable) -> str:
    """Return the id of a table."""
    return f"{document_id}-{table.number}"


def _starts_of_same_pages(text: DocumentText, digests: Mapping[int, str]) -> Mapping[int, int]:
    return {
        page.page_number: page.start
        for page in text.pages
        if page.page_number in digests and digests[page.page_number] == digest_of(text, page)
    }


def _placed(row: SourceRow, page_start: int | None) -> SourceRow:
    """Return a row with its place in the document's text, if its page begins there."""
    if page_start is None or row.start is None or row.end is None:
        return replace(row, start=None, end=None)
    return replace(row, start=page_start + row.start, end=page_start + row.end)


def _table(read: TablesRead, table_id: str) -> DocumentTable:
    numbers: Mapping[str, DocumentTable] = {str(table.number): table for table in read.tables}
    table = numbers.get(table_id.partition("-")[2])
    if table is None:
        raise _unknown(table_id)
    return table


def _unknown(table_id: str) -> NotFoundError:
    return NotFoundError(f"No table has the id {table_id[:80]!r}. List the tables of its document to find it.")


def _invalid(detail: str) -> InvalidInputError:
    return InvalidInputError.of_field("sql", detail, code="invalid_query")
