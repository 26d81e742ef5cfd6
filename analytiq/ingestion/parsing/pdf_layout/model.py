"""The parts of a page's layout.

Coordinates are points; x grows rightwards and y upwards, once the text stands upright.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from analytiq.models.blocks import BlockKind


@dataclass(frozen=True, slots=True)
class Bounds:
    """An upright rectangle."""

    x0: float
    y0: float
    x1: float
    y1: float

    def joined(self, other: "Bounds") -> "Bounds":
        """Return the smallest rectangle around both."""
        return Bounds(min(self.x0, other.x0), min(self.y0, other.y0), max(self.x1, other.x1), max(self.y1, other.y1))


@dataclass(slots=True)
class Word:
    """A run of characters without blanks.

    Attributes:
        size: the height of its characters as drawn, about 1.15 times the font's size.
        base: the height of its base line.
        mark: the id of its marked content, -1 without.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    base: float
    bold: bool = False
    font: str = ""
    mark: int = -1

    @property
    def bounds(self) -> Bounds:
        """Return the rectangle of the word."""
        return Bounds(self.x0, self.y0, self.x1, self.y1)


@dataclass(slots=True)
class Chunk:
    """Words of a line that stand close together."""

    words: list[Word]
    x0: float
    y0: float
    x1: float
    y1: float

    @classmethod
    def of_words(cls, words: list[Word]) -> "Chunk":
        """Return a chunk around words."""
        bounds = bounds_of_words(words)
        return cls(words, bounds.x0, bounds.y0, bounds.x1, bounds.y1)

    @property
    def text(self) -> str:
        """Return the words with blanks between them."""
        return " ".join(word.text for word in self.words)


Row = list[Chunk]
"""The chunks at one height, from left to right."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Style:
    """The looks of a block's letters."""

    size: float
    bold: bool
    font: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A horizontal rule, or the upper or lower edge of a shade."""

    y: float
    x0: float
    x1: float


@dataclass(slots=True)
class GridTable:
    """A table as rows of cells, each with its empty cells.

    Attributes:
        columns: the left edges of the columns, for comparison with the next page.
        words: the words of all cells, row by row.
        bold: for each row, True if most of its letters are bold.
        across: for each row of a ruled table, the columns whose cell is the one at their left.
        places: the left and right edge of each cell of the first rows, None for an empty cell.
        gutters: the blanks between the columns of a table without lines.
        header_rows: the number of rows above the body, once known.
        names: the names of the columns, if a former page stated them.
        goes_on: True if its header repeats that of the table on the page before.
    """

    rows: list[list[str]]
    columns: list[float]
    words: list[Word]
    bold: list[bool] = field(default_factory=list[bool])
    across: list[frozenset[int]] = field(default_factory=list[frozenset[int]])
    places: list[list[Interval | None]] = field(default_factory=list["list[Interval | None]"])
    gutters: tuple[Interval, ...] = ()
    header_rows: int = 0
    names: tuple[str, ...] = ()
    goes_on: bool = False


ASIDE, COMMENT = "aside", "comment"
"""Tags of pieces that are no part of the page's running text."""


@dataclass(slots=True)
class Piece:
    """A block of a page, before it is written."""

    kind: BlockKind
    text: str
    bounds: Bounds
    words: list[Word]
    style: Style
    lines: int = 1
    level: int = 0
    marker: str = ""
    table: GridTable | None = None
    tag: str = ""
    lead: float = 0.0


def bounds_of_words(words: Sequence[Word]) -> Bounds:
    """Return the rectangle around words."""
    return Bounds(
        min(word.x0 for word in words),
        min(word.y0 for word in words),
        max(word.x1 for word in words),
        max(word.y1 for word in words),
    )


def bounds_of_rows(rows: Sequence[Row]) -> Bounds:
    """Return the rectangle around rows."""
    chunks = [chunk for row in rows for chunk in row]
    return Bounds(
        min(chunk.x0 for chunk in chunks),
        min(chunk.y0 for chunk in chunks),
        max(chunk.x1 for chunk in chunks),
        max(chunk.y1 for chunk in chunks),
    )


def bottom_of(row: Row) -> float:
    """Return the lower edge of a row."""
    return min(chunk.y0 for chunk in row)


def top_of(row: Row) -> float:
    """Return the upper edge of a row."""
    return max(chunk.y1 for chunk in row)


def base_of(row: Row) -> float:
    """Return the base line of a row."""
    return max(word.base for chunk in row for word in chunk.words)


def width_of(row: Row) -> float:
    """Return the distance from a row's left to its right edge."""
    return row[-1].x1 - row[0].x0


def words_of(row: Row) -> list[Word]:
    """Return the words of a row."""
    return [word for chunk in row for word in chunk.words]


def size_of(row: Row) -> float:
    """Return the usual height of a row's characters."""
    sizes = sorted(word.size for chunk in row for word in chunk.words)
    return sizes[len(sizes) // 2]


def text_of(row: Row) -> str:
    """Return the text of a row."""
    return " ".join(chunk.text for chunk in row)


def placed(word: Word, bounds: Bounds) -> Word:
    """Return a copy of a word at another place."""
    return replace(word, x0=bounds.x0, y0=bounds.y0, x1=bounds.x1, y1=bounds.y1)


def mirrored_word(word: Word) -> Word:
    """Return a copy of a word, reflected at the left edge of the page."""
    return replace(word, x0=-word.x1, x1=-word.x0)


def with_text(word: Word, text: str) -> Word:
    """Return a copy of a word with another text."""
    return replace(word, text=text)
