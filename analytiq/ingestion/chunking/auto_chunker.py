"""`auto`: each block by its kind: tables by rows, code by definitions, prose by sections."""

from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.section_chunker import by_sections
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.structure_chunker import StructureChunker


def create(*, chunk_size: int, chunk_overlap: int, section_level: int = 0) -> StructureChunker:
    """Cut tables like `row`, code like `code`, and prose like `section`."""
    sizes = Sizes.of(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    return by_sections(sizes, PieceRules(rows=True, code=True), section_level=section_level)
