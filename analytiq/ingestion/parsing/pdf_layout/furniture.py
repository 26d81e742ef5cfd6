"""Running heads, running feet and page numbers, recognized by repetition over pages."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.pdf_layout.model import Row, text_of

EDGE_ROWS = 3
"""Rows at the upper and lower edge of a page that are looked at."""
EDGE_SHARE = 0.13
MOST_OF_PAGE = 0.5
"""Largest share of a page's letters in its furniture."""
LEAST_SHARE = 0.4
"""Least share of pages with the same row."""
_CHANGING = re.compile(r"\d+|\b[ivxl]+\b")
_PAGE_NUMBER = re.compile(r"^(page |seite |página |pagina |p\. ?|- ?|– ?)?#( ?(of|/|von|de|di|van|-) ?#)?( ?[-–])?$")


@dataclass(frozen=True, slots=True)
class PageRows:
    """The rows of a page from top to bottom, its lower and upper edge, and the number of letters in its tables."""

    rows: Sequence[Row]
    low: float
    high: float
    letters_in_tables: int


@dataclass(slots=True)
class FurnitureFinder:
    """Counts rows at the edges of pages, from one group of pages to the next."""

    _pages: int = 0
    _seen: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])

    def find(self, pages: Sequence[PageRows]) -> list[set[int]]:
        """Return for each page the indexes of its rows that are furniture.

        Args:
            pages: all pages of the group.
        """
        edges = [list(_edge_rows(page.rows, page.low, page.high)) for page in pages]
        self._pages += len(pages)
        for page in edges:
            self._seen.update({(text, is_top) for _, text, is_top in page})
        return [self._of_page(page, edge) for page, edge in zip(pages, edges, strict=True)]

    def _of_page(self, page: PageRows, edge: Sequence[tuple[int, str, bool]]) -> set[int]:
        found = {index for index, text, is_top in edge if self._is_furniture(text, is_top=is_top)}
        letters = page.letters_in_tables + sum(len(text_of(row)) for row in page.rows)
        if sum(len(text_of(page.rows[index])) for index in found) > MOST_OF_PAGE * letters:
            # Pages of a few lines that differ by their numbers: these are the text.
            return {index for index, text, _ in edge if _PAGE_NUMBER.match(text)}
        return found

    def _is_furniture(self, text: str, *, is_top: bool) -> bool:
        count = self._seen[text, is_top]
        return (count >= 2 and count >= LEAST_SHARE * self._pages) or _PAGE_NUMBER.match(text) is not None


def _edge_rows(rows: Sequence[Row], low: float, high: float) -> Iterable[tuple[int, str, bool]]:
    """Yield the rows near an edge: index, text with its numbers masked, True at the top."""
    height = max(high - low, 1)
    for index, row in enumerate(rows):
        is_top = index < EDGE_ROWS
        if not is_top and index < len(rows) - EDGE_ROWS:
            continue
        y = (row[0].y0 - low) / height
        at_top, at_bottom = is_top and y > 1 - EDGE_SHARE, index >= len(rows) - EDGE_ROWS and y < EDGE_SHARE
        if (at_top or at_bottom) and not _is_of_table(rows, index):
            yield index, _CHANGING.sub("#", text_of(row).strip().lower()), at_top


def _is_of_table(rows: Sequence[Row], index: int) -> bool:
    """Return True for a row aligned with its neighbour: the repeated header of a table is not furniture."""
    row = rows[index]
    if len(row) < 3:
        return False
    for other in (*rows[max(index - 1, 0) : index], *rows[index + 1 : index + 2]):
        if len(other) < 3 or not 0 < abs(other[0].y0 - row[0].y0) < 3 * row[0].words[0].size:
            continue
        if sum(abs(a.x0 - b.x0) < 3 or abs(a.x1 - b.x1) < 3 for a in row[:50] for b in other[:50]) >= 2:
            return True
    return False
