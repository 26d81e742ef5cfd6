"""Header rows of tables, and tables that go on over pages."""

import re
from collections.abc import Sequence

from analytiq.ingestion.parsing.pdf_layout.model import Chunk, GridTable, Interval, Row, Word, words_of
from analytiq.ingestion.parsing.rows import has_header, looks_like_number
from analytiq.ingestion.parsing.table_lines import joined_header

_DIGITS = re.compile(r"\d+")
SAMPLE = 50
MOST_HEADER_ROWS = 4
SAME_COLUMN = 25.0
"""Largest distance, in points, of a column's edge from the one on the page before."""
SAME_MIDDLE = 8.0
"""Largest distance, in points, of a group's name from the middle of its columns."""
MOST_GROUPED = 20
LEAST_GROUPED = 3
"""Least columns of a table whose header names the rows below the titles of groups too."""
MOST_ADOPTED = 2
"""Most rows at the top of a page that are too few for a table, and go on with the one before."""


def settle_header(table: GridTable, before: GridTable | None, *, is_parted: bool = False) -> None:
    """Find the header of a table, which may be on the page before, or above the title of a group of rows.

    Args:
        table: that gets its header.
        before: the table above or on the page before.
        is_parted: True if a title stands between the two, or nothing but their different rows.
    """
    if before is not None and before.names and _width(before) == _width(table):
        repeated = _repeated_rows(table, before)
        if repeated:
            table.header_rows, table.names = repeated, before.names
            return
        if (not is_parted or _is_group_below(table)) and _is_continued(table, before):
            table.names = before.names
            _blank_repeats(table)
            return
    table.header_rows = header_rows_of(table)
    _blank_repeats(table)
    if table.header_rows:
        _spread_groups(table)
        for index in range(table.header_rows):
            table.rows[index] = [cell.rstrip(": ") for cell in table.rows[index]]
        titles = [row for row in table.rows[: table.header_rows] if not _is_title(row)]
        table.names = joined_header(titles)


def _width(table: GridTable) -> int:
    return len(table.rows[0])


def _repeated_rows(table: GridTable, before: GridTable) -> int:
    """Count the leading rows that repeat the header of the table before."""
    count = before.header_rows
    if count and table.rows[:count] == before.rows[:count]:
        return count
    for count in range(1, min(MOST_HEADER_ROWS, len(table.rows)) + 1):
        if joined_header(table.rows[:count]) == before.names:
            return count
    return 0


def _is_continued(table: GridTable, before: GridTable) -> bool:
    """Return True if the columns stand where those of the table before did, below no header of their own."""
    if table.bold[0] and not all(table.bold) and table.rows[0] != before.rows[0]:
        return False
    if len(table.columns) != len(before.columns):
        return False
    near = zip(table.columns, before.columns, strict=True)
    if all(abs(one - other) < SAME_COLUMN for one, other in near):
        return True
    # The blanks between columns begin where their longest cells end, which differ from part to part.
    blanks = zip(table.gutters, before.gutters, strict=False)
    return bool(table.gutters) and all(one[0] < other[1] and other[0] < one[1] for one, other in blanks)


def _is_group_below(table: GridTable) -> bool:
    """Return True for rows below the title of a group, without a header of their own."""
    return _width(table) >= LEAST_GROUPED and header_rows_of(table) == 0


def header_rows_of(table: GridTable) -> int:
    """Return the number of rows above the body of a table."""
    rows = table.rows
    if len(rows) < 2 or len(rows[0]) < 2:
        return 0
    titles = 0
    while titles < len(rows) - 2 and _is_title(rows[titles]):
        titles += 1
    below = _rows_below_titles(table, titles)
    return titles + below if below else 0


def _rows_below_titles(table: GridTable, first: int) -> int:
    rows, across = table.rows[first:], table.across[first:]
    if across and across[0] and len(rows) > 2:
        spanning = next((index for index, columns in enumerate(across) if not columns), 0)
        if 0 < spanning < MOST_HEADER_ROWS and spanning + 1 < len(rows) and _has_words(rows[spanning]):
            return spanning + 1
    bold = _leading_bold(table.bold[first:])
    if bold:
        return bold
    if _is_group_row(rows):
        return 2
    if not has_header(rows[:SAMPLE]) or _is_like_body(rows):
        return 0
    if len(rows[0]) > 2:
        return 1
    return int(_is_mostly_numbers([row[-1] for row in rows[1:SAMPLE]]))


def _is_like_body(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row has digits where those below have them: `A-1` above `A-2`."""
    first = [_DIGITS.sub("#", cell) for cell in rows[0]]
    filled = [column for column, cell in enumerate(first) if cell]
    alike = sum(
        "#" in first[column] and all(_DIGITS.sub("#", row[column]) == first[column] for row in rows[1:SAMPLE])
        for column in filled
    )
    return alike >= 0.5 * len(filled)


def _leading_bold(bold: Sequence[bool]) -> int:
    """Count the bold rows at the top, if the others are not bold."""
    count = next((index for index, is_bold in enumerate(bold) if not is_bold), 0)
    rest = bold[count:]
    return count if 0 < count <= MOST_HEADER_ROWS and count < len(bold) and sum(rest) < 0.5 * len(rest) else 0


def _is_group_row(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row groups the columns that the second one names: `2024` above `Sales`, `Cost`."""
    if len(rows) < 3 or len(rows[0]) < 3:
        return False
    groups = [cell for cell in rows[0] if cell]
    names = [cell for cell in rows[1] if cell]
    return (
        2 <= len(groups) < len(names)
        and len(names) >= len(rows[1]) - 1
        and _has_words(rows[1])
        and any(looks_like_number(cell) for cell in rows[2])
        and not any(len(cell) > 40 for cell in groups)
    )


def _spread_groups(table: GridTable) -> None:
    """Repeat the names of groups above each of their columns, in the header of a table without lines."""
    last = table.header_rows - 1
    if not 0 < last < len(table.places):
        return
    below = table.places[last]
    names = [name for name in table.rows[last] if name]
    is_repeated = len(set(names)) < len(names)
    named = [column for column, name in enumerate(table.rows[last]) if name]
    for row, places in zip(table.rows[:last], table.places[:last], strict=True):
        filled = [column for column, cell in enumerate(row) if cell]
        if _is_title(row):
            continue
        period = _period_of(names, len(filled))
        if period:
            groups = [row[column] for column in filled]
            for column in filled:
                row[column] = ""
            for number, column in enumerate(named[-period * len(groups) :]):
                row[column] = groups[number // period]
            continue
        for index, column in enumerate(filled):
            low = filled[index - 1] + 1 if index else 0
            high = filled[index + 1] - 1 if index + 1 < len(filled) else len(row) - 1
            members = _members(column, places[column], below, low, high)
            if len(members) == 1 and is_repeated and below[column] is not None:
                # The same names recur under each group, so a group reaches to the next.
                members = range(column, high + 1)
            for member in members:
                row[member] = row[column]


def _period_of(names: Sequence[str], groups: int) -> int:
    """Return how many names recur under each group: 2 for `Sales, Cost, Sales, Cost`; 0 if they do not recur."""
    for period in range(2, len(names) // max(groups, 1) + 1):
        if groups >= 2 and list(names[-period:]) * groups == list(names[-period * groups :]):
            return period
    return 0


def _members(
    column: int, place: Interval | None, below: Sequence[Interval | None], low: int, high: int
) -> Sequence[int]:
    """Return the columns under a group's name, which stands above their middle or their left edge."""
    if place is None or (below[column] is None and (column in {low, high} or column == 0)):
        return [column]
    middle = (place[0] + place[1]) / 2
    best = [column]
    for first in range(max(low, column - MOST_GROUPED), column + 1):
        for after in range(column + 1, min(high, column + MOST_GROUPED) + 2):
            edges = [edge for edge in below[first:after] if edge is not None]
            if edges and len(edges) == after - first > len(best):
                centre = (edges[0][0] + edges[-1][1]) / 2
                if abs(centre - middle) < SAME_MIDDLE or (first == column and abs(edges[0][0] - place[0]) < 3):
                    best = list(range(first, after))
    return best


def _has_words(row: Sequence[str]) -> bool:
    return not any(looks_like_number(cell) for cell in row if cell)


def _is_title(row: Sequence[str]) -> bool:
    return len(row) > 2 and len({cell for cell in row if cell}) == 1 and (row[0] != "")


def _is_mostly_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and sum(looks_like_number(cell) for cell in filled) >= 0.6 * len(filled)


def _blank_repeats(table: GridTable) -> None:
    """Keep a cell across columns in its first column alone, in rows below the header."""
    for row, columns in zip(table.rows[table.header_rows :], table.across[table.header_rows :], strict=False):
        for column in columns:
            row[column] = ""


def adopted(row: Row, table: GridTable) -> GridTable | None:
    """Return a row too short for a table of its own as a part of the table on the page before."""
    if len(row) < 2 or not table.gutters:
        return None
    cuts = [(left + right) / 2 for left, right in table.gutters]
    cells: list[list[Chunk]] = [[] for _ in range(len(cuts) + 1)]
    for chunk in row:
        if any(chunk.x0 < cut < chunk.x1 for cut in cuts):
            return None
        cells[sum(cut < chunk.x0 for cut in cuts)].append(chunk)
    words: list[Word] = words_of(row)
    texts = [" ".join(chunk.text for chunk in cell) for cell in cells]
    if sum(1 for text in texts if text) < 2:
        return None
    return GridTable([texts], list(table.columns), words, [False], names=table.names, gutters=table.gutters)
