"""Records of a workbook: the rows below the headings of each sheet that has the wanted columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.systems.labelled.records import MOST_RECORDS, Record
from analytiq.ingestion.tables.sheets import sheet_key
from analytiq.models.tables import SheetRows

_STARTS = (b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
"""ZIP packages (XLSX, ODS) and compound files (XLS, and encrypted packages); neither begins a text in UTF-8."""
_SHOWN_NAMES = 20
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class WantedColumn:
    """A column that a sheet must have: its names in lower case, and the setting that chooses another."""

    names: Sequence[str]
    setting: str


def is_workbook(content: bytes) -> bool:
    """Return True if bytes begin as those of a workbook, or of another package of files."""
    return content.startswith(_STARTS)


def records_of_sheets(sheets: Sequence[SheetRows], wanted: Sequence[WantedColumn], *, sheet: str) -> list[Record]:
    """Return the rows below the headings of each sheet that has the wanted columns, or of the named sheet.

    The headings are the first row with a name of each wanted column. Rows above them are titles. Rows that repeat
    the headings are left out.

    Raises:
        InvalidInputError: no sheet has that name, none has the columns, or there are too many rows.
    """
    key = sheet_key(sheet)
    chosen = [one for one in sheets if not key or sheet_key(one.name) == key]
    if not chosen:
        raise InvalidInputError.of_field(
            "settings.sheet",
            f"The workbook has no visible sheet {sheet[:_SHOWN_CHARACTERS]!r}. Its sheets: {_list_of(sheets)}.",
        )
    records: list[Record] = []
    has_headings = False
    for one in chosen:
        place, headings = _headings(one.rows, wanted)
        if headings:
            has_headings = True
            records += _records(one.rows[place + 1 :], headings)
        if len(records) > MOST_RECORDS:
            raise InvalidInputError.of_field("settings.url", f"More than {MOST_RECORDS:,} rows.")
    if not has_headings:
        raise _without_columns(chosen, wanted)
    return records


def _headings(rows: Sequence[Sequence[str]], wanted: Sequence[WantedColumn]) -> tuple[int, tuple[str, ...]]:
    for place, row in enumerate(rows):
        if not _missing(row, wanted):
            return place, _names(row)
    return 0, ()


def _names(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join(cell.split()).lower() for cell in row)


def _records(rows: Sequence[Sequence[str]], headings: tuple[str, ...]) -> Iterator[Record]:
    for row in rows:
        if _names(row) == headings:
            continue
        record: dict[str, str] = {}
        for name, cell in zip(headings, row, strict=False):
            if name and cell:
                record.setdefault(name, cell)  # of two columns with one name the first counts
        if record:
            yield record


def _without_columns(sheets: Sequence[SheetRows], wanted: Sequence[WantedColumn]) -> InvalidInputError:
    """Return the error that names the columns missing in the row that has the most of them."""
    rows = [row for one in sheets for row in one.rows]
    likeliest: Sequence[str] = min(rows, key=lambda row: (len(_missing(row, wanted)), -len(row)), default=())
    missing = _missing(likeliest, wanted)
    columns = " and ".join(repr(column.names[0]) for column in missing)
    has = "None of the sheets {} has" if len(sheets) > 1 else "The sheet {} has no"
    article = " a" if len(sheets) > 1 else ""
    shown = ", ".join(repr(cell[:_SHOWN_CHARACTERS]) for cell in likeliest[:_SHOWN_NAMES] if cell)
    found = f"; the likeliest row has {shown}" if shown else ", and is empty"
    settings = " and ".join(column.setting for column in missing)
    return InvalidInputError.of_field(
        f"settings.{missing[0].setting}",
        f"{has.format(_list_of(sheets))}{article} row of headings with {columns}{found}."
        f" Choose the columns by {settings}.",
    )


def _missing(row: Sequence[str], wanted: Sequence[WantedColumn]) -> Sequence[WantedColumn]:
    names = _names(row)
    return [column for column in wanted if not any(name in names for name in column.names)]


def _list_of(sheets: Sequence[SheetRows]) -> str:
    names = ", ".join(repr(one.name[:_SHOWN_CHARACTERS]) for one in sheets[:_SHOWN_NAMES])
    return names + (", …" if len(sheets) > _SHOWN_NAMES else "")
