"""Excel workbooks, read row by row by openpyxl, with a page for each sheet."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast
from zipfile import ZipFile, ZipInfo

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from analytiq.errors import CorruptFileError, LimitExceededError, UnsupportedFormatError
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.cell_values import shown_value
from analytiq.ingestion.parsing.sheet_text import CellBudget, render_sheet
from analytiq.models.text import ParsedDocument, ParsedPage

_FORMULA_WITHOUT_VALUE = re.compile(
    rb"<(?:\w+:)?f\b[^<]{0,8192}(?:</(?:\w+:)?f>)?\s*(?:<v\s*/>|<v></v>)?\s*</(?:\w+:)?c>"
)
_BLOCK_BYTES = 1024 * 1024
_OVERLAP_BYTES = 16 * 1024


class XlsxParser:
    """The visible sheets in order, each a page that begins with the sheet's name."""

    content_types = ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",)
    extensions = (".xlsx", ".xlsm", ".xltx", ".xltm")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the values last computed by Excel; skip hidden sheets, and name them in a warning."""
        with (
            open_package(path, noun="workbook", also_damaged=(InvalidFileException,)) as archive,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # openpyxl's, about styles and extensions without text
            return _read(path, options, report_progress, lacks_values=_lacks_values(archive))


def _read(path: Path, options: ParseOptions, report_progress: ReportProgress, *, lacks_values: bool) -> ParsedDocument:
    # openpyxl opens a path by its ending alone, and the type here was detected by the bytes.
    with (
        path.open("rb") as file,
        closing(load_workbook(file, read_only=True, data_only=True, keep_links=False)) as book,
    ):
        sheets = cast("list[Any]", book.worksheets)
        shown = [sheet for sheet in sheets if sheet.sheet_state == "visible"]
        hidden = [str(sheet.title) for sheet in sheets if sheet.sheet_state != "visible"]
        if len(shown) > options.max_pages:
            raise LimitExceededError(f"The workbook has {len(shown)} sheets; at most {options.max_pages} are read.")
        budget = CellBudget()
        pages: list[ParsedPage] = []
        for page_number, sheet in enumerate(shown, start=1):
            pages.append(ParsedPage(page_number, render_sheet(str(sheet.title), _rows(sheet, budget))))
            report_progress(page_number, len(shown))
    if not pages:
        raise CorruptFileError("The workbook has no visible sheet: unhide one, then upload it again.")
    return ParsedDocument(tuple(pages), tuple(_warnings(hidden, lacks_values=lacks_values)))


def _rows(sheet: Any, budget: CellBudget) -> Iterator[Sequence[str]]:
    # The declared extent of a sheet may be wrong; without it rows are as long as their cells.
    sheet.reset_dimensions()
    for row in sheet.iter_rows():
        budget.spend(len(row) + 1)
        yield [shown_value(cell.value, cell.number_format) if cell.value is not None else "" for cell in row]


def _warnings(hidden: Sequence[str], *, lacks_values: bool) -> Iterator[str]:
    if hidden:
        yield f"hidden sheets are not read: {', '.join(map(repr, hidden[:20]))}; unhide the sheets to be searched"
    if lacks_values:
        yield "some formulas have no computed value; open the workbook in a spreadsheet program, save and upload it"


def _lacks_values(archive: ZipFile) -> bool:
    """Return True if a formula was never computed, as in generated workbooks; it would be silently empty."""
    if "xl/workbook.bin" in archive.namelist():
        raise UnsupportedFormatError("Binary workbooks (.xlsb) cannot be read: save the workbook as .xlsx.")
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
