"""Tests of a band's shape: prose in columns, aligned columns of a table, or a list."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import mean, median

from analytiq.ingestion.parsing.pdf_layout.model import Chunk, Interval, Row, base_of, size_of
from analytiq.ingestion.parsing.pdf_layout.rows import NUMERIC

BULLETS = "•‣◦▪▫●○■□–·∙▸►➢➤✓✔\uf0b7\uf0a7\uf0d8"
BULLET = re.compile(rf"^[{BULLETS}*\-—]$|^[•‣◦▪●○∙\uf0b7]")
ITEM_NUMBER = re.compile(r"^\(?([0-9]{1,2}|[a-z]|[ivx]{1,4})[.)]$")
SECTION_NUMBER = re.compile(r"^\d+(\.\d+)*\.?$")
CLAUSE_NUMBER = re.compile(r"^§?\s?\d{1,3}(\.\d{1,3}){1,4}[.)]?$")
LEAST_WORDS_OF_CLAUSE = 5.0
"""Least words of a line, on average, behind the numbers of clauses; a list of parts has fewer."""
ALIGNED = 2.5
"""Largest distance of aligned edges, in points."""
STEP = 1.25
"""Least pitch between the rows of wrapped cells, in the pitch of their lines."""
LEAST_STEPS = 3
LEAST_STEPPED = 6
LONGEST_LABEL = 3.5
"""Most words, on average, of the labels beside wrapped text."""
MOST_LINES_OF_STEP = 8
LEAST_JUSTIFIED = 3
"""Least words of a line whose blanks can be compared."""
SAME_BLANK = 0.12
"""Largest difference of equal blanks, in heights of letters."""
SAME_START = 1.0
"""Largest distance, in points, of words that begin at one place."""
WIDE_GUTTER = 1.2
VERY_WIDE_GUTTER = 2.0
FEW_ROWS = 4


def split_columns(rows: Sequence[Row], gutters: Sequence[Interval]) -> list[list[Row]]:
    """Return the rows of each column between the gutters."""
    cuts = [(left + right) / 2 for left, right in gutters]
    columns: list[list[Row]] = [[] for _ in range(len(cuts) + 1)]
    for row in rows:
        parts: defaultdict[int, list[Chunk]] = defaultdict(list)
        for chunk in row:
            parts[bisect_left(cuts, (chunk.x0 + chunk.x1) / 2)].append(chunk)
        for column, chunks in parts.items():
            columns[column].append(chunks)
    return columns


def is_prose(rows: Sequence[Row], gutters: Sequence[Interval]) -> bool:
    """Return True if at least two columns are filled with running words, and are no cells of wrapped text."""
    if is_in_steps(rows):
        return False
    prose = sum(is_running(column) for column in split_columns(rows, gutters))
    return prose >= 2 or prose >= len(gutters) + 1


def is_in_steps(rows: Sequence[Row]) -> bool:
    """Return True for rows of wrapped cells: wide blanks across all columns, below which most columns begin again."""
    return bool(steps_of(rows))


def steps_of(rows: Sequence[Row]) -> list[int]:
    """Return the indexes of the first lines of rows of wrapped cells; none if the lines are not such rows."""
    if len(rows) < LEAST_STEPPED or max(map(len, rows)) < 2:
        return []
    pitches = [base_of(above) - base_of(below) for above, below in pairwise(rows)]
    usual = sorted(pitches)[len(pitches) // 4]
    starts = [0, *(index + 1 for index, pitch in enumerate(pitches) if pitch > STEP * usual)]
    if len(starts) < LEAST_STEPS or len(rows) > MOST_LINES_OF_STEP * len(starts):
        return []
    first = set(starts)
    most = max(len(rows[start]) for start in starts)
    if most == 2 and mean(len(rows[start][0].words) for start in starts) > LONGEST_LABEL:
        return []
    full = sum(len(rows[start]) >= max(2, most - 1) for start in starts)
    inside = [len(row) for index, row in enumerate(rows) if index not in first]
    return starts if inside and full >= 0.8 * len(starts) and mean(inside) < most - 0.5 else []


def is_justified(rows: Sequence[Row]) -> bool:
    """Return True for lines of words with equal blanks, as justified text has them in narrow columns."""
    parted = [row for row in rows if len(row) > 1]
    found = [equal for equal in map(has_equal_blanks, parted) if equal is not None]
    if len(found) < max(2, 0.5 * len(parted)) or sum(found) < 0.7 * len(found):
        return False
    return not _starts_align(parted)


def _starts_align(rows: Sequence[Row]) -> bool:
    """Return True if words inside of lines begin under those of the line above, as codes of equal width do."""
    aligned = total = 0
    for above, below in pairwise(rows):
        starts = sorted(word.x0 for chunk in above for word in chunk.words)[1:]
        for word in [word for chunk in below for word in chunk.words][1:]:
            total += 1
            aligned += bisect_right(starts, word.x0 + SAME_START) > bisect_left(starts, word.x0 - SAME_START)
    return aligned >= 0.85 * max(total, 1)


def has_equal_blanks(row: Row) -> bool | None:
    """Return True for a line of words with equal blanks; None if it has too few words, or numbers."""
    words = [word for chunk in row for word in chunk.words]
    if len(words) < LEAST_JUSTIFIED or sum(NUMERIC.match(word.text) is not None for word in words) > 1:
        return None
    blanks = [after.x0 - before.x1 for before, after in pairwise(words)]
    return max(blanks) - min(blanks) <= SAME_BLANK * words[0].size


def is_running(column: Sequence[Row]) -> bool:
    """Return True if a column is filled with running words."""
    if len(column) < 2:
        return False
    width = max(max(c.x1 for row in column for c in row) - min(c.x0 for row in column for c in row), 1)
    words = [sum(len(chunk.words) for chunk in row) for row in column]
    filled = [sum(chunk.x1 - chunk.x0 for chunk in row) / width for row in column]
    full = sum(count >= 4 and share > 0.7 for count, share in zip(words, filled, strict=True))
    return (mean(words) >= 3.6 and median(filled) > 0.6) or full >= max(4, 0.4 * len(words))


def is_aligned(rows: Sequence[Row], gutters: Sequence[Interval]) -> bool:
    """Return True if gutters have aligned edges, which the wide blanks of justified text lack."""
    columns = split_columns(rows, gutters)
    size = median(size_of(row) for row in rows)
    aligned = sum(
        _has_aligned_edge(columns[index], columns[index + 1], (right - left) / size, len(rows))
        for index, (left, right) in enumerate(gutters)
    )
    return aligned >= max(1, round(0.75 * len(gutters)))


def _has_aligned_edge(left: Sequence[Row], right: Sequence[Row], gutter: float, rows: int) -> bool:
    if not left or not right:
        return False
    least = 0.99 if rows < FEW_ROWS else 0.6
    starts, ends = _edges(right)
    left_starts, left_ends = _edges(left)
    inner_edge = max(_share(starts), _share(left_ends)) >= least
    if inner_edge and (gutter >= WIDE_GUTTER or rows >= FEW_ROWS):
        return True
    middle = max(_share(_middles(starts, ends)), _share(_middles(left_starts, left_ends))) >= least
    if middle and gutter >= WIDE_GUTTER:
        return True
    numbers = sum(NUMERIC.match(row[0].text) is not None for row in right) / len(right)
    ends_align = _share(ends) >= least
    if ends_align and (numbers >= 0.5 or gutter >= VERY_WIDE_GUTTER):
        return True
    return rows >= FEW_ROWS and ends_align and _share(left_starts) >= least and gutter >= VERY_WIDE_GUTTER


def _edges(column: Sequence[Row]) -> tuple[list[float], list[float]]:
    return [row[0].x0 for row in column], [row[-1].x1 for row in column]


def _middles(starts: Sequence[float], ends: Sequence[float]) -> list[float]:
    return [(start + end) / 2 for start, end in zip(starts, ends, strict=True)]


def _share(values: Sequence[float]) -> float:
    """Return the largest share of values near one of them."""
    ordered = sorted(values)
    most = max(
        (bisect_right(ordered, value + ALIGNED) - bisect_left(ordered, value - ALIGNED) for value in ordered), default=0
    )
    return most / max(len(ordered), 1)


def is_list(rows: Sequence[Row], gutters: Sequence[Interval]) -> bool:
    """Return True if the first column has only bullets or numbers of items."""
    firsts = [row[0].text for row in rows if len(row) > 1]
    if len(gutters) > 1 or not firsts:
        return False
    if len(firsts) >= 2 and all(first.isdecimal() for first in firsts):
        counted = all(int(after) - int(before) == 1 for before, after in pairwise(firsts))
        words = mean(sum(len(chunk.words) for chunk in row[1:]) for row in rows if len(row) > 1)
        if counted and words >= 3.5:
            return True
    if all(_is_item_mark(first, few=len(rows) < 3) for first in firsts):
        return True
    marked = all(ITEM_NUMBER.match(first) or CLAUSE_NUMBER.match(first) for first in firsts)
    return marked and mean(sum(len(chunk.words) for chunk in row[-1:]) for row in rows) >= LEAST_WORDS_OF_CLAUSE


def _is_item_mark(text: str, *, few: bool) -> bool:
    if BULLET.match(text) or ITEM_NUMBER.match(text):
        return True
    return few and len(text) < 6 and SECTION_NUMBER.match(text) is not None
