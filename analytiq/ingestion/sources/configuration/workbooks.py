"""Workbooks that connectors download, read in the sandbox of parsers: their bytes may be hostile."""

import asyncio
import tempfile
from pathlib import Path

from analytiq.errors import EncryptedFileError, UnsupportedFormatError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.compound_file import SIGNATURE
from analytiq.ingestion.parsing.containers import OFFICE
from analytiq.ingestion.parsing.formats import hints_of
from analytiq.ingestion.parsing.reading import DocumentReader
from analytiq.ingestion.sources.base import ReadWorkbook
from analytiq.models.file_type import CONTENT_TYPES, FileType
from analytiq.models.tables import WorkbookRows
from analytiq.settings import ExtractionSettings

_WORKBOOKS = frozenset(name for name in CONTENT_TYPES[FileType.SPREADSHEET] if not name.startswith("text/"))
_ENCRYPTED = "The workbook opens only with a password: save it without one, or save the sheet as CSV."


class Workbooks:
    """Reads the sheets of workbooks within the limits of documents."""

    def __init__(self, reader: DocumentReader, settings: ExtractionSettings) -> None:
        self._reader = reader
        self._max_sheets = settings.max_pages

    def reader_for(self, organization_id: str) -> ReadWorkbook:
        """Return a reader whose memory counts for an organization."""

        async def read(content: bytes, *, sheet: str = "") -> WorkbookRows:
            with tempfile.TemporaryDirectory(prefix="analytiq-workbook-") as directory:
                path = Path(directory) / "workbook"
                await asyncio.to_thread(path.write_bytes, content)
                content_type = await self._reader.detect(path, hints_of(path.name), organization_id=organization_id)
                _require_workbook(content_type, is_compound=content.startswith(SIGNATURE))
                try:
                    return await self._reader.read_sheets(
                        path,
                        organization_id=organization_id,
                        byte_size=len(content),
                        content_type=content_type,
                        options=ParseOptions(max_pages=self._max_sheets),
                        sheet=sheet,
                    )
                except EncryptedFileError:
                    raise EncryptedFileError(_ENCRYPTED) from None

        return read


def _require_workbook(content_type: str, *, is_compound: bool) -> None:
    if is_compound and content_type in OFFICE:
        # Packages of Office that lie in a compound file are encrypted, whatever they are.
        raise EncryptedFileError(_ENCRYPTED)
    if content_type not in _WORKBOOKS:
        raise UnsupportedFormatError(
            f"The file is no workbook but {content_type}. Give the address of an XLSX, XLS, ODS, CSV or JSON file."
        )
