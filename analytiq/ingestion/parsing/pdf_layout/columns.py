"""The gutter between columns of prose, found by the words of the whole page.

Lines of neighboring columns may stand at different heights, and the blanks of justified text may be as wide as the
gutter: rows next to each other then share no gutter, but hardly a word of the page stands in it.
"""

from collections.abc import Sequence
from itertools import accumulate

from analytiq.ingestion.parsing.pdf_layout.gutters import BAND_BREAK, Band
from analytiq.ingestion.parsing.pdf_layout.model import Chunk, Interval, Row, bottom_of, size_of, top_of, words_of
from analytiq.ingestion.parsing.pdf_layout.shapes import is_in_steps, is_running, split_columns

LEAST_ROWS = 8
"""Least rows of columns that are found so."""
LEAST_ROWS_OF_COLUMN = 5
LEAST_WIDTH = 150.0
"""Least width of the page's words, in points."""
LEAST_GUTTER = 5.0
ALMOST_EMPTY = 0.04
"""Share of rows whose words may stand in a gutter beside those that cross every other place."""
OVERHANG = 0.3
"""Share of the gutter that hanging quotation marks and hyphens may reach into, on each side."""
LEAST_BLANK = 4.0
LEAST_OFFSET = 0.5
"""Least share of a column's rows that stand beside no row of the other, if one of them is a list and no prose."""
LEAST_BALANCE = 0.4
MIDDLE = (0.2, 0.8)
"""Part of the width in which a gutter is looked for; that of more columns is found within its column."""


def parted_by_columns(rows: Sequence[Row]) -> list[Band | list[Row]]:
    """Part rows into columns of prose, and the rows around them."""
    gutter = _gutter_of(rows) if len(rows) >= LEAST_ROWS else None
    if gutter is None:
        return [list(rows)]
    out: list[Band | list[Row]] = []
    run: list[Row] = []

    def close() -> None:
        head, body, foot = _trimmed(run)
        if _are_columns(body, gutter):
            out.extend((head, Band([_split(row, gutter) for row in body], [gutter], columns=True), foot))
        elif out and isinstance(out[-1], list):
            out[-1] += run
        else:
            out.append(list(run))
        run.clear()

    for row in rows:
        if _crosses(row, gutter):
            close()
            if out and isinstance(out[-1], list):
                out[-1].append(row)
            else:
                out.append([row])
        else:
            run.append(row)
    close()
    return out


def _gutter_of(rows: Sequence[Row]) -> Interval | None:
    """Return the widest blank in which the fewest words stand."""
    low = min(row[0].x0 for row in rows)
    high = max(chunk.x1 for row in rows for chunk in row)
    if not LEAST_WIDTH <= high - low < 20_000:
        return None
    width = int(high - low) + 2
    changes = [0] * (width + 1)
    for row in rows:
        for chunk in row:
            for word in chunk.words:
                changes[int(max(word.x0 - low, 0))] += 1
                changes[min(int(max(word.x1 - low, 0)) + 1, width)] -= 1
    words_at = list(accumulate(changes))
    first, last = int(MIDDLE[0] * width), int(MIDDLE[1] * width)
    most = min(words_at[first:last]) + ALMOST_EMPTY * len(rows)
    best, begin = (0, 0), first
    for place in range(first, last + 1):
        if place < last and words_at[place] <= most:
            continue
        if place - begin > best[1] - best[0]:
            best = (begin, place)
        begin = place + 1
    return (low + best[0], low + best[1]) if best[1] - best[0] >= LEAST_GUTTER else None


def _crosses(row: Row, gutter: Interval) -> bool:
    left, right = gutter
    inset = max(min(OVERHANG * (right - left), (right - left - LEAST_BLANK) / 2), 0)
    return any(word.x0 < right - inset and word.x1 > left + inset for chunk in row for word in chunk.words)


def _trimmed(rows: list[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """Part a head and a foot far from the columns from them."""
    begin, end = 0, len(rows)
    while begin < end - 1 and _is_far(rows[begin], rows[begin + 1]):
        begin += 1
    while end - 1 > begin and _is_far(rows[end - 2], rows[end - 1]):
        end -= 1
    return rows[:begin], rows[begin:end], rows[end:]


def _is_far(above: Row, below: Row) -> bool:
    return bottom_of(above) - top_of(below) > BAND_BREAK * size_of(below)


def _are_columns(rows: list[Row], gutter: Interval) -> bool:
    if len(rows) < LEAST_ROWS or is_in_steps(rows):
        return False
    columns = split_columns([_split(row, gutter) for row in rows], [gutter])
    fewest, most = sorted(map(len, columns))
    if fewest < LEAST_ROWS_OF_COLUMN:
        return False
    if all(map(is_running, columns)):
        return True
    both = fewest + most - len(rows)
    are_offset = both < (1 - LEAST_OFFSET) * fewest and fewest > LEAST_BALANCE * most
    return are_offset and any(map(is_running, columns))


def _split(row: Row, gutter: Interval) -> Row:
    """Return a row whose chunks end at the gutter."""
    middle = (gutter[0] + gutter[1]) / 2
    if not any(chunk.x0 < middle < chunk.x1 for chunk in row):
        return row
    words = words_of(row)
    sides = ([word for word in words if word.x0 < middle], [word for word in words if word.x0 >= middle])
    return [Chunk.of_words(side) for side in sides if side]
