"""`code`: whole functions and classes; other text by sections."""

from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.section_chunker import by_sections
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.structure_chunker import StructureChunker


def create(*, chunk_size: int, chunk_overlap: int, section_level: int = 0) -> StructureChunker:
    """Cut code between definitions, large ones between statements, and all else by sections."""
    sizes = Sizes.of(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    return by_sections(sizes, PieceRules(code=True), section_level=section_level)
