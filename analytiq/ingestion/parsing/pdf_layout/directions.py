"""Text in other directions than most of a page: names of columns, parts of the page, or stamps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from analytiq.ingestion.parsing.pdf_layout.characters import ASKEW, PageCharacters
from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Word, bounds_of_words, with_text
from analytiq.ingestion.parsing.pdf_layout.rows import chunks_of, rows_of
from analytiq.ingestion.parsing.pdf_layout.turning import Turning

LEAST_WORDS_OF_PART = 15
LEAST_ROWS_OF_PART = 3
LONGEST_NAME = 160.0
"""Greatest length, in points, of the name of a column that is set upwards."""
SAME_START = 3.0
LEAST_NAMES = 2


@dataclass(slots=True)
class OtherDirections:
    """Text in other directions.

    Attributes:
        names: names of columns that are set upwards or downwards, as words of the page.
        parts: the words of parts that are laid out by themselves, by quarter turns.
        stamps: other lines, with their places in the page's own coordinates.
    """

    names: list[Word]
    parts: dict[int, list[Word]]
    stamps: list[tuple[str, Bounds]]


def other_directions(characters: PageCharacters) -> OtherDirections:
    """Part the words in other directions by their meaning."""
    found = OtherDirections([], {}, [])
    for quarter, words in sorted(characters.aside.items()):
        if quarter == ASKEW:
            found.stamps.append((" ".join(word.text for word in words), bounds_of_words(words)))
            continue
        rows = rows_of(words)
        groups = _grouped_by_start(rows)
        series = [(group, names) for group in groups if (names := _names_of(group, quarter, characters.turning))]
        others = rows
        if len(series) == 1:
            # Several series would be the columns of a table that is turned.
            group, names = series[0]
            found.names += names
            others = [row for row in rows if row not in group]
        words = [word for row in others for word in row]
        if len(words) >= LEAST_WORDS_OF_PART and len(others) >= LEAST_ROWS_OF_PART:
            found.parts[quarter] = words
        elif words:
            text = " ".join(word.text for word in words)
            found.stamps.append((text, Turning(quarter).back(bounds_of_words(words))))
    return found


def _grouped_by_start(rows: Sequence[list[Word]]) -> list[list[list[Word]]]:
    groups: list[list[list[Word]]] = []
    for row in sorted(rows, key=lambda row: row[0].x0):
        if groups and row[0].x0 - groups[-1][0][0].x0 <= SAME_START:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [sorted(group, key=lambda row: -row[0].base) for group in groups]


def _names_of(rows: Sequence[Sequence[Word]], quarter: int, turning: Turning) -> list[Word]:
    """Return lines across the page's direction that begin at one height as words at the foot of their places."""
    if (quarter - turning.quarters) % 2 == 0 or len(rows) < LEAST_NAMES:
        return []
    areas = [bounds_of_words(row) for row in rows]
    apart = [above.y0 - below.y1 for above, below in pairwise(areas)]
    are_names = max(area.x1 - area.x0 for area in areas) <= LONGEST_NAME and min(apart) > 0
    if not are_names or any(len(chunks_of(row)) > 1 for row in rows):
        return []
    names: list[Word] = []
    for row, area in zip(rows, areas, strict=True):
        placed = turning.bounds(Turning(quarter).back(area))
        size = row[0].size
        name = with_text(row[0], " ".join(word.text for word in row))
        name.x0, name.y0, name.x1, name.y1 = placed.x0, placed.y0, placed.x1, placed.y0 + size
        name.base = placed.y0 + 0.2 * size
        names.append(name)
    return names
