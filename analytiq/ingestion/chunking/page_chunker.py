"""`page`: a page, slide, sheet or chapter is one chunk, if it fits."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

from analytiq.ingestion.chunking.groups import Group
from analytiq.ingestion.chunking.parts import Part
from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.structure_chunker import StructureChunker
from analytiq.models.text import DocumentText


def create(*, chunk_size: int, chunk_overlap: int) -> StructureChunker:
    """Cut between pages; a page larger than a chunk is cut by paragraphs, rows and definitions."""
    sizes = Sizes.of(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    return StructureChunker(_pages, sizes, PieceRules(rows=True, code=True))


def _pages(document: DocumentText, parts: Sequence[Part], sizes: Sizes) -> Iterator[Group]:
    starts = [page.start for page in document.pages]
    for _, on_page in groupby(parts, key=lambda part: bisect_right(starts, part.start)):
        yield Group(list(on_page), token_count=0)
