"""Export of a source's documents: text, address and metadata, in the memory of one segment of a text."""

import json
from collections.abc import AsyncIterator
from enum import StrEnum

from pydantic import JsonValue

from analytiq.ingestion.documents.spreadsheet_cells import FORMULA_STARTS, neutralised
from analytiq.models.document import Document
from analytiq.models.source import Source
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.texts import TextRepository

AT_ONCE = 100


class ExportFormat(StrEnum):
    """Formats of an export."""

    CSV = "csv"
    JSON = "json"
    NDJSON = "ndjson"


class SourceExport:
    """Writes the documents of a source."""

    def __init__(self, documents: DocumentRepository, texts: TextRepository) -> None:
        self._documents = documents
        self._texts = texts

    async def pieces(self, source: Source, file_format: ExportFormat) -> AsyncIterator[str]:
        """Yield the export in pieces, documents by their external id.

        Raises:
            TransientError: a text was replaced while it was written; the export is incomplete.
        """
        if file_format is ExportFormat.CSV:
            yield "content,source,metadata\r\n"
            async for document in self._all(source):
                async for piece in self._csv_row(document):
                    yield piece
            return
        is_list = file_format is ExportFormat.JSON
        before = "[\n" if is_list else ""
        async for document in self._all(source):
            yield before
            async for piece in self._json_object(document):
                yield piece
            before = ",\n" if is_list else "\n"
        yield (before if before == "[\n" else "") + "\n]\n" if is_list else before

    async def _all(self, source: Source) -> AsyncIterator[Document]:
        after: str | None = None
        while found := await self._documents.of_source_after(
            source.organization_id, source.identity_source, after=after, limit=AT_ONCE
        ):
            for document in found:
                yield document
            identity = found[-1].external_identity
            after = identity.external_id if identity else None

    async def _csv_row(self, document: Document) -> AsyncIterator[str]:
        yield '"'
        is_first = True
        async for piece in self._text(document):
            # The beginning decides whether a spreadsheet runs the cell.
            if is_first and piece.strip(" "):
                is_first = False
                if piece.lstrip(" ").startswith(FORMULA_STARTS):
                    yield "'"
            yield piece.replace('"', '""')
        cells = (neutralised(address_of(document)), json.dumps(metadata_of(document), ensure_ascii=False))
        quoted = (cell.replace('"', '""') for cell in cells)
        yield '","' + '","'.join(quoted) + '"\r\n'

    async def _json_object(self, document: Document) -> AsyncIterator[str]:
        yield '{"content": "'
        async for piece in self._text(document):
            yield json.dumps(piece, ensure_ascii=False)[1:-1]
        rest: dict[str, JsonValue] = {"source": address_of(document), "metadata": metadata_of(document)}
        yield '", ' + json.dumps(rest, ensure_ascii=False)[1:]

    async def _text(self, document: Document) -> AsyncIterator[str]:
        if document.text_id is None:
            return
        async for piece in await self._texts.stream(document.organization_id, document.text_id):
            yield piece


def address_of(document: Document) -> str:
    """Return the address of a document's original, or its id in the source."""
    identity = document.external_identity
    return document.source_url or (identity.external_id if identity else document.document_name)


def metadata_of(document: Document) -> dict[str, JsonValue]:
    """Return the metadata of a document; its name is the title, unless the metadata has one."""
    return {"title": document.document_name, **document.metadata}
