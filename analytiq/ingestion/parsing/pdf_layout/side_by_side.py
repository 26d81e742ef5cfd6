"""Tables that stand side by side without lines: rows that share heights, but no meaning."""

from collections.abc import Sequence
from statistics import median

from analytiq.ingestion.parsing.pdf_layout.model import Interval, Row, size_of
from analytiq.ingestion.parsing.pdf_layout.rows import NUMERIC
from analytiq.ingestion.parsing.pdf_layout.shapes import split_columns

WIDEST = 2.0
"""Least width of the gutter between two tables, in the width of the widest gutter inside of them."""
LEAST_WIDTH = 2.0
"""The same in heights of letters."""
MOSTLY = 0.6
LEAST_ROWS = 3


def parted_tables(rows: Sequence[Row], gutters: Sequence[Interval]) -> list[tuple[list[Row], list[Interval]]]:
    """Part rows into tables with their gutters where both sides have the same kinds of columns; else one table."""
    whole = [(list(rows), list(gutters))]
    count = len(gutters) + 1
    if count % 2 or count < 4 or len(rows) < LEAST_ROWS:
        return whole
    half = count // 2 - 1
    left, right = gutters[half]
    others = [high - low for index, (low, high) in enumerate(gutters) if index != half]
    size = median(size_of(row) for row in rows)
    if right - left < max(WIDEST * max(others), LEAST_WIDTH * size):
        return whole
    kinds = [_is_of_numbers(column) for column in split_columns(rows, gutters)]
    if kinds[: half + 1] != kinds[half + 1 :] or not any(kinds):
        return whole
    first, second = split_columns(rows, [gutters[half]])
    return [(first, list(gutters[:half])), (second, list(gutters[half + 1 :]))]


def _is_of_numbers(column: Sequence[Row]) -> bool:
    numbers = sum(NUMERIC.match(row[-1].text) is not None for row in column)
    return numbers >= MOSTLY * max(len(column), 1)
