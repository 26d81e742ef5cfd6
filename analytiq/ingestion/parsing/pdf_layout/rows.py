"""Words into rows by their base lines, and rows into chunks by their blanks."""

import itertools
import re
from collections.abc import Sequence
from statistics import median

from analytiq.ingestion.parsing.pdf_layout.model import Chunk, Row, Word

BASE_TOLERANCE = 0.3
"""Largest distance of base lines in a row, in heights of letters."""
CHUNK_BLANK = 0.75
"""Least blank between chunks, in heights of letters."""
NUMBER_BLANK = 0.45
"""The same between numbers or single letters, which stand in narrow columns."""
RAISED_SIZE = 1.2
MOST_RAISED = 40
LEAST_SPACED = 6
"""Least letters of a heading set with spaces between its letters."""

CURRENCIES = frozenset("$€£¥₹")
CURRENCY_BLANK = 8.0
"""Least blank that parts an amount from the sign of its currency, which accounts set at the left edge of the cell."""

NUMERIC = re.compile(r"^(?:\W*+\d++)++[.,\s%€$£+-]*+\S{0,3}$")


def rows_of(words: Sequence[Word]) -> list[list[Word]]:
    """Group words into rows from top to bottom; raised and lowered marks join the line in whose height they stand."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (-word.base, word.x0)):
        if rows and abs(rows[-1][0].base - word.base) <= BASE_TOLERANCE * max(word.size, 4):
            rows[-1].append(word)
        else:
            rows.append([word])
    kept: list[list[Word]] = []
    for index, row in enumerate(rows):
        line = _line_around(row, [*rows[max(index - 1, 0) : index], *rows[index + 1 : index + 3]])
        if line is None:
            kept.append(row)
        else:
            line += row
    return [joined_letters(sorted(row, key=lambda word: word.x0)) for row in kept]


def _line_around(row: list[Word], neighbours: Sequence[list[Word]]) -> list[Word] | None:
    """Return the line of larger letters that a row of raised or lowered marks belongs to."""
    if len(row) > MOST_RAISED:
        return None
    size = max(word.size for word in row)
    middle = (row[0].y0 + row[0].y1) / 2
    for line in neighbours:
        if len(row) > len(line) or max(word.size for word in line) <= RAISED_SIZE * size:
            continue
        if not min(word.y0 for word in line) < middle < max(word.y1 for word in line) + 0.1 * size:
            continue
        if min(min(abs(mark.x0 - word.x1), abs(word.x0 - mark.x1)) for mark in row for word in line) < size:
            return line
    return None


def joined_letters(row: list[Word]) -> list[Word]:
    """Join the letters of words that are set with spaces between their letters."""
    singles = sum(len(word.text) == 1 and word.text.isalpha() for word in row)
    if singles < LEAST_SPACED or singles < 0.8 * len(row):
        return row
    blanks = [right.x0 - left.x1 for left, right in itertools.pairwise(row)]
    usual = median(blanks)
    if usual <= 0 or usual > row[0].size:
        return row
    out = [row[0]]
    for blank, word in zip(blanks, row[1:], strict=True):
        if blank > 1.6 * usual:
            out.append(word)
        else:
            last = out[-1]
            last.text += word.text
            last.x1 = max(last.x1, word.x1)
    return out


def is_short(text: str) -> bool:
    """Return True for a single letter or a number."""
    return len(text) == 1 or NUMERIC.match(text) is not None


def _blank_between(last: str, text: str) -> float:
    """Return the least blank that parts two words, in heights of letters."""
    if last in CURRENCIES and NUMERIC.match(text):
        return CURRENCY_BLANK
    return NUMBER_BLANK if is_short(text) and is_short(last) else CHUNK_BLANK


def chunks_of(row: Sequence[Word]) -> Row:
    """Part a row at its wide blanks."""
    out: Row = []
    for word in row:
        if out:
            chunk, last = out[-1], out[-1].words[-1]
            blank = _blank_between(last.text, word.text)
            if word.x0 - chunk.x1 < blank * min(word.size, last.size):
                chunk.words.append(word)
                chunk.x1 = max(chunk.x1, word.x1)
                chunk.y0, chunk.y1 = min(chunk.y0, word.y0), max(chunk.y1, word.y1)
                continue
        out.append(Chunk([word], word.x0, word.y0, word.x1, word.y1))
    return out
