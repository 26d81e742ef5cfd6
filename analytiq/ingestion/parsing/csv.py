"""Tables of text: any delimiter and charset; each row becomes a line that is understandable and searchable alone."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.rows import SAMPLE_ROWS, has_header
from analytiq.ingestion.parsing.table_lines import TableLine, TitleLine, header_line, row_line
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedDocument

DELIMITERS = ("\t", ",", ";", "|")
NO_DELIMITER = "\x1f"
SAMPLE_CHARACTERS = 64 * 1024
MAX_CELL_CHARACTERS = 10 * 1024 * 1024

_BLANKS = re.compile(r"\s+")
_SURE_TABS = 0.9
"""Share of rows of one width from which tabs divide them: unlike the other delimiters, tabs are rare inside cells."""
_RARE_PAIRS = 0.3
"""Share of rows below which a single delimiter is punctuation: `Bob, Jr` in a list of names."""


class CsvParser:
    """A table as one page of lines."""

    content_types = ("text/csv", "text/tab-separated-values")
    extensions = (".csv", ".tsv")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the table; quotes that never close are characters like others."""
        decoded = decode_text(path.read_bytes(), hint=options.charset_hint)
        text = decoded.text
        delimiter = sniff_delimiter(text)
        builder = TextBuilder()
        try:
            builder.table(csv_lines(read_rows(text, delimiter=delimiter)))
        except csv.Error:
            builder = TextBuilder()
            try:
                builder.table(csv_lines(read_rows(text, delimiter=delimiter, has_quotes=False)))
            except csv.Error as error:
                raise CorruptFileError(f"The table cannot be read ({error}): export it again as CSV.") from error
        report_progress(1, 1)
        return ParsedDocument((builder.page(1),), decoded.warnings)


def read_rows(text: str, *, delimiter: str, has_quotes: bool = True) -> Iterator[list[str]]:
    """Yield the rows with any content, each cell on one line and without surrounding blanks."""
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    quoting = csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE
    lines = io.StringIO(text, newline="")
    for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True, quoting=quoting):
        cells = [_BLANKS.sub(" ", cell).strip() for cell in row]
        if any(cells):
            yield cells


def sniff_delimiter(text: str) -> str:
    """Return the delimiter that divides most of the first rows into the same number of cells, above one."""
    sample = text[:SAMPLE_CHARACTERS]
    if sample.startswith("sep=") and len(sample) > 4:  # Excel's own note to itself
        return sample[4]
    scores = {delimiter: _evenness(sample, delimiter) for delimiter in DELIMITERS}
    if scores["\t"][0] >= _SURE_TABS:
        return "\t"
    best = max(DELIMITERS, key=lambda delimiter: scores[delimiter])
    share, width = scores[best]
    return NO_DELIMITER if width < 2 or (width == 2 and share < _RARE_PAIRS) else best


def _evenness(sample: str, delimiter: str) -> tuple[float, int]:
    try:
        widths = [len(row) for row in islice(read_rows(sample, delimiter=delimiter), SAMPLE_ROWS)]
    except csv.Error:
        return (0.0, 0)
    divided = Counter(width for width in widths if width > 1)
    if not divided:
        return (0.0, 0)
    width, rows = divided.most_common(1)[0]
    return (rows / len(widths), width)


def csv_lines(rows: Iterator[list[str]]) -> Iterator[TableLine]:
    """Yield titles above the table, its header if the first row is one, and a line for each row."""
    sample = list(islice(rows, SAMPLE_ROWS))
    if sample and sample[0][0].startswith("sep="):
        del sample[0]
    while len(sample) > 1 and _is_title(sample[0], sample[1]):
        yield TitleLine(next(cell for cell in sample.pop(0) if cell))
    names = sample.pop(0) if has_header(sample) else []
    if names:
        yield header_line(names)
    below: Iterable[list[str]] = chain(sample, rows)
    yield from (row_line(row, names) for row in below)


def _is_title(row: list[str], below: list[str]) -> bool:
    """Return True for a single cell above a wider row; a list of single cells has no title."""
    filled = sum(1 for cell in row if cell)
    return filled == 1 and sum(1 for cell in below if cell) > 1
