"""Parts of a workbook about a sheet beside its cells: merged and hidden cells, tables, notes, drawings."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat
from zipfile import ZipFile

from analytiq.ingestion.parsing.drawing_text import paragraphs
from analytiq.ingestion.parsing.open_xml import relations
from analytiq.ingestion.parsing.sheet_text import one_line
from analytiq.ingestion.parsing.spans import Span
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml

MAX_COLUMNS = 16_384
_BLOCK_BYTES = 1024 * 1024
_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")
_TRUE = frozenset({"1", "true", "on"})
_FURNITURE = frozenset(f"{which}{place}" for which in ("odd", "even", "first") for place in ("Header", "Footer"))
_FURNITURE_CODE = re.compile(r'&("[^"]*"|\d+|K[0-9A-F]{6}|K\d\d[+-]\d{3}|[LCRPNDTZFAGBIUESXYOH]|(&))')
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DEFAULT_NAME = re.compile(r"[^\W\d_]+_?\d+")

Cells = tuple[int, int, int, int]
"""First row and column, last row and column, from 1."""


@dataclass(slots=True)
class SheetScan:
    """The merged cells by the row in which they begin, the hidden rows and columns, and printed heads and feet.

    openpyxl skips rows whose number is not above that of the row before; `rows_out_of_order` counts them.
    """

    spans: dict[int, list[Span]] = field(default_factory=lambda: defaultdict(list[Span]))
    hidden_rows: set[int] = field(default_factory=set[int])
    hidden_columns: set[int] = field(default_factory=set[int])
    furniture: list[str] = field(default_factory=list[str])
    rows_out_of_order: int = 0
    has_looks: bool = False
    """True if tables or conditions paint cells, beside the cells' own formats."""


@dataclass(frozen=True, slots=True)
class SheetTable:
    """A table that the workbook defines: its rows, its number of header rows, and the name its author gave it."""

    first_row: int
    last_row: int
    header_rows: int
    name: str


def scan_sheet(archive: ZipFile, part: str) -> SheetScan:
    """Read a sheet's XML once, without building it; its cells may be millions."""
    scanner = _Scanner()
    with archive.open(part) as source:
        while block := source.read(_BLOCK_BYTES):
            scanner.feed(block)
    return scanner.scan


class _Scanner:
    def __init__(self) -> None:
        self.scan = SheetScan()
        self._row = self._highest = 0
        self._column_marks = 0
        self._furniture: list[str] | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EntityDeclHandler = self._refuse

    def feed(self, block: bytes) -> None:
        try:
            self._parser.Parse(block)
        except expat.ExpatError as error:
            raise ValueError(f"a sheet is no XML: {error}") from error

    def _refuse(self, *_declaration: object) -> None:
        raise ValueError("a sheet declares entities")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "row":
            number = attributes.get("r", "")
            before, self._row = self._row, int(number) if number.isdecimal() else self._row + 1
            self._highest = max(self._highest, before)
            self.scan.rows_out_of_order += self._row <= self._highest
            if attributes.get("hidden") in _TRUE or attributes.get("ht") == "0":
                self.scan.hidden_rows.add(self._row)
        elif name in {"conditionalFormatting", "tablePart"}:
            self.scan.has_looks = True
        elif name == "mergeCell":
            self._merge(attributes.get("ref", ""))
        elif name == "col" and self._column_marks < MAX_COLUMNS:
            self._column_marks += 1
            if attributes.get("hidden") in _TRUE or attributes.get("width") == "0":
                first, last = attributes.get("min", ""), attributes.get("max", "")
                if first.isdecimal() and last.isdecimal():
                    self.scan.hidden_columns.update(range(int(first), min(int(last), MAX_COLUMNS) + 1))
        elif name in _FURNITURE:
            self._furniture = []
            self._parser.CharacterDataHandler = self._furniture.append
            self._parser.EndElementHandler = self._end

    def _merge(self, reference: str) -> None:
        cells = cells_of(reference)
        if cells is not None:
            top, left, bottom, right = cells
            self.scan.spans[top].append(Span(left - 1, right - left + 1, bottom - top + 1))

    def _end(self, _tag: str) -> None:
        codes = "".join(self._furniture or ())
        text = one_line(_FURNITURE_CODE.sub(lambda match: match[2] or " ", codes))
        if text.strip(" -/|") and text not in self.scan.furniture:
            self.scan.furniture.append(text)
        self._parser.CharacterDataHandler = None
        self._parser.EndElementHandler = None


def cells_of(reference: str) -> Cells | None:
    """Return the cells of a reference such as `B2:D9`, None if it is none."""
    match = _RANGE.fullmatch(reference)
    if match is None:
        return None
    left, top = _column(match[1]), int(match[2])
    right, bottom = (_column(match[3]), int(match[4])) if match[3] else (left, top)
    if not (1 <= left <= right <= MAX_COLUMNS and 1 <= top <= bottom):
        return None
    return top, left, bottom, right


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def without_escapes(text: str) -> str:
    """Decode the escapes of characters that XML cannot hold: `_x000D_` is a carriage return."""
    if "_x" not in text:
        return text
    decoded = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sheet_tables(archive: ZipFile, part: str) -> list[SheetTable]:
    """Return the tables that a sheet defines, from above; those beside each other are left to the eye."""
    found: list[SheetTable] = []
    for relation in relations(archive, part):
        if relation.kind != "table":
            continue
        table = parsed_xml(archive.read(relation.part))
        cells = cells_of(table.get("ref", ""))
        header_rows = table.get("headerRowCount", "1")
        if cells is not None and header_rows == "1":
            name = without_escapes(table.get("displayName") or table.get("name") or "")
            title = "" if _DEFAULT_NAME.fullmatch(name) else name.replace("_", " ")
            found.append(SheetTable(cells[0], cells[2], 1, title))
    found.sort(key=lambda table: table.first_row)
    return [
        table
        for number, table in enumerate(found)
        if (number == 0 or found[number - 1].last_row < table.first_row)
        and (number + 1 == len(found) or table.last_row < found[number + 1].first_row)
    ]


def sheet_notes(archive: ZipFile, part: str) -> dict[str, list[str]]:
    """Return the notes and the threads of comments on each cell, by its reference."""
    notes: dict[str, list[str]] = {}
    threads: dict[str, list[str]] = {}
    for relation in relations(archive, part):
        if relation.kind == "comments":
            for comment in parsed_xml(archive.read(relation.part)).iter("{*}comment"):
                _add(notes, comment.get("ref", ""), _note_texts(comment))
        elif relation.kind == "threadedComment":
            for comment in parsed_xml(archive.read(relation.part)).iter("{*}threadedComment"):
                _add(threads, comment.get("ref", ""), [comment.findtext("{*}text") or ""])
    # The note beside a thread repeats it for older programs.
    return notes | threads


def _note_texts(comment: Element) -> Iterator[str]:
    for text in comment.iterchildren("{*}text"):
        yield "".join(
            run.text or "" for run in text.iter("{*}t") if run.getparent() is not None and not _is_reading(run)
        )


def _is_reading(run: Element) -> bool:
    parent = run.getparent()
    return parent is not None and isinstance(parent.tag, str) and parent.tag.endswith("}rPh")


def _add(notes: dict[str, list[str]], reference: str, texts: Iterator[str] | Sequence[str]) -> None:
    said = one_line(without_escapes(" ".join(texts)))
    if said:
        notes.setdefault(reference, []).append(said)


def shape_text(shape: Element) -> str:
    """Return the words of a shape, a line for each paragraph."""
    return "\n".join(text for _, text in paragraphs(shape))
