"""Excel workbooks, read row by row by openpyxl, with a page for each sheet."""

import re
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, cast
from zipfile import ZipFile, ZipInfo

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from analytiq.errors import CorruptFileError, LimitExceededError, UnsupportedFormatError
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.open_xml import relations, stated_title, transitional
from analytiq.ingestion.parsing.sheet_pages import ChartSheet, SheetPages, WorkSheet
from analytiq.ingestion.parsing.sheet_text import hidden_sheets
from analytiq.ingestion.parsing.titles import telling_title
from analytiq.ingestion.parsing.xml_part import parsed_xml
from analytiq.models.text import ParsedDocument

_WORKBOOK = "xl/workbook.xml"
_FORMULA_WITHOUT_VALUE = re.compile(
    rb"<(?:\w+:)?f\b[^<]{0,8192}+(?:</(?:\w+:)?f>)?\s*+(?:<v\s*+/>|<v></v>)?\s*+</(?:\w+:)?c>"
)
_BLOCK_BYTES = 1024 * 1024
_OVERLAP_BYTES = 16 * 1024


class XlsxParser:
    """The visible sheets in order, each a page that begins with the sheet's name."""

    content_types = ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",)
    extensions = (".xlsx", ".xlsm", ".xltx", ".xltm")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the values last computed by Excel; skip what is hidden, and tell it in a warning."""
        with (
            open_package(path, noun="workbook", also_damaged=(InvalidFileException,)) as archive,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # openpyxl's, about styles and extensions without text
            if "xl/workbook.bin" in archive.NameToInfo:
                raise UnsupportedFormatError("Binary workbooks (.xlsb) cannot be read: save the workbook as .xlsx.")
            # openpyxl opens a path by its ending alone, and the type here was detected by the bytes.
            with _opened(transitional(path, archive, _workbook_part(archive))) as file, ZipFile(file) as package:
                return _read(file, package, options, report_progress)


def _opened(source: Path | BinaryIO) -> BinaryIO:
    return source.open("rb") if isinstance(source, Path) else source


def _workbook_part(archive: ZipFile) -> str:
    return next((relation.part for relation in relations(archive, "") if relation.kind == "officeDocument"), _WORKBOOK)


def _read(file: BinaryIO, package: ZipFile, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
    with closing(load_workbook(file, read_only=True, data_only=True, keep_links=False)) as book:
        sheets = _sheets(package, cast("Any", book))
        shown = [sheet for sheet in sheets if sheet.state == "visible"]
        hidden = [sheet.name for sheet in sheets if sheet.state != "visible"]
        if len(shown) > options.max_pages:
            raise LimitExceededError(f"The workbook has {len(shown)} sheets; at most {options.max_pages} are read.")
        pages = SheetPages(package, read_sheets=[sheet.name for sheet in shown])
        for page_number, sheet in enumerate(shown, start=1):
            pages.add(page_number, sheet)
            report_progress(page_number, len(shown))
    if not shown:
        raise CorruptFileError("The workbook has no visible sheet: unhide one, then upload it again.")
    said = [*hidden_sheets(hidden), *pages.warnings()]
    if _lacks_values(package):
        said.append(
            "some formulas have no computed value; open the workbook in a spreadsheet program, save and upload it"
        )
    return ParsedDocument(tuple(pages.pages), tuple(said), telling_title(stated_title(package)))


def _sheets(package: ZipFile, book: Any) -> list[WorkSheet | ChartSheet]:
    """Return the sheets in the workbook's order; openpyxl knows no words of a chart that fills a sheet."""
    readers = {str(sheet._worksheet_path).lstrip("/"): sheet for sheet in book.worksheets}  # noqa: SLF001
    part = _workbook_part(package)
    parts = {relation.id: relation for relation in relations(package, part)}
    found: list[WorkSheet | ChartSheet] = []
    for sheet in parsed_xml(package.read(part)).iterfind("{*}sheets/{*}sheet"):
        target = next((parts[value] for value in sheet.attrib.values() if value in parts), None)
        name, state = sheet.get("name", ""), sheet.get("state", "visible")
        if target is not None and target.part in readers:
            found.append(WorkSheet(name, state, target.part, readers.pop(target.part)))
        elif target is not None and target.kind == "chartsheet":
            found.append(ChartSheet(name, state, target.part))
    return [
        *found,
        *(WorkSheet(str(reader.title), reader.sheet_state, name, reader) for name, reader in readers.items()),
    ]


def _lacks_values(archive: ZipFile) -> bool:
    """Return True if a formula was never computed, as in generated workbooks; it would be silently empty."""
    sheets = [member for member in archive.infolist() if member.filename.startswith("xl/worksheets/")]
    return any(_has_formula_without_value(archive, member) for member in sheets)


def _has_formula_without_value(archive: ZipFile, member: ZipInfo) -> bool:
    with archive.open(member) as part:
        tail = b""
        while block := part.read(_BLOCK_BYTES):
            if _FORMULA_WITHOUT_VALUE.search(tail + block):
                return True
            tail = block[-_OVERLAP_BYTES:]
    return False
