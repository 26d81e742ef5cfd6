"""Index types: the granularities in which one knowledge base holds the same texts.

A chunk's index tells its type: each type has a range of indexes of its own. So every row, hit and chunk id says which
type it is of, a filter is a comparison of numbers in each retrieval backend, and the chunks of older releases, which
count from 0, are of the type `paragraph`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class IndexType(StrEnum):
    """A granularity, smallest first."""

    PARAGRAPH = "paragraph"
    """Chunks by the knowledge base's own chunker and sizes."""
    SECTION = "section"
    """A section: a heading with its text."""
    WEBSITE = "website"
    """A whole page, slide, sheet or chapter; the whole document if it has no pages, such as a web page."""


INDEXES_OF_A_TYPE = 1 << 24
"""Chunk indexes of one type: more than the chunks of the longest text. All types fit into 32 bits."""
PARAGRAPHS = (IndexType.PARAGRAPH,)
"""The index types of a knowledge base by default."""
LONGEST_CHUNK = 7500
"""Most tokens of a chunk of the larger types: with its context it fits into 8,191, which most models read."""
_ORDER = tuple(IndexType)


@dataclass(frozen=True, slots=True)
class Chunking:
    """The settings by which texts are cut, in cl100k tokens.

    Attributes:
        chunker_type: of paragraphs.
        chunk_size: the most of a paragraph.
        chunk_overlap: the most that a paragraph shares with the one before.
        section_level: level of the headings that no chunk crosses, 0 for none.
        index_types: at least one, each once, smallest first.
        longest_chunk: the most of a section or website.
    """

    chunker_type: str
    chunk_size: int
    chunk_overlap: int
    section_level: int = 0
    index_types: tuple[IndexType, ...] = PARAGRAPHS
    longest_chunk: int = LONGEST_CHUNK


def first_index_of(index_type: IndexType) -> int:
    """Return the index of a document's first chunk of the type."""
    return _ORDER.index(index_type) * INDEXES_OF_A_TYPE


def index_type_at(chunk_index: int) -> IndexType:
    """Return the type of a chunk."""
    return _ORDER[chunk_index // INDEXES_OF_A_TYPE]


def number_of(chunk_index: int) -> int:
    """Return the number of a chunk among those of its type in the document, from 0."""
    return chunk_index % INDEXES_OF_A_TYPE


def in_order(index_types: Sequence[IndexType]) -> tuple[IndexType, ...]:
    """Return the types, each once, smallest first."""
    return tuple(one for one in _ORDER if one in index_types)


def is_larger(one: IndexType, other: IndexType) -> bool:
    """Return True if the chunks of a type are larger than those of the other."""
    return _ORDER.index(one) > _ORDER.index(other)


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """The numbers of a document's chunks, in order of index types."""

    by_type: tuple[tuple[IndexType, int], ...]

    @classmethod
    def of(cls, total: int, by_type: Mapping[str, int] | None = None) -> "ChunkCounts":
        """Return the counts as an index entry or a generation stores them; without types, all are paragraphs."""
        if by_type is None:
            return cls(((IndexType.PARAGRAPH, total),))
        return cls(tuple((one, by_type[one]) for one in _ORDER if one in by_type))

    @property
    def total(self) -> int:
        """The chunks of all types."""
        return sum(count for _, count in self.by_type)

    @property
    def ranges(self) -> list[range]:
        """The chunk indexes of each type that has chunks."""
        starts = ((first_index_of(one), count) for one, count in self.by_type if count)
        return [range(start, start + count) for start, count in starts]

    def around(self, chunk_index: int) -> range:
        """Return the indexes of the document's chunks that have the same type as the chunk, and itself."""
        start = chunk_index - number_of(chunk_index)
        count = dict(self.by_type).get(index_type_at(chunk_index), 0)
        return range(start, max(start + count, chunk_index + 1))

    def slices(self, first: int, stop: int) -> list[range]:
        """Return the indexes of the chunks from number `first` to before `stop`, counted over all types."""
        slices: list[range] = []
        for indexes in self.ranges:
            part = indexes[max(0, first) : max(0, stop)]
            if part:
                slices.append(part)
            first, stop = first - len(indexes), stop - len(indexes)
        return slices

    def at(self, number: int) -> int:
        """Return the index of the chunk with this number, counted over all types."""
        return self.slices(number, number + 1)[0][0]

    def stored(self) -> dict[str, int] | None:
        """Return the counts by type as rows have them; None if all are paragraphs."""
        if all(one is IndexType.PARAGRAPH for one, _ in self.by_type):
            return None
        return {one.value: count for one, count in self.by_type}
