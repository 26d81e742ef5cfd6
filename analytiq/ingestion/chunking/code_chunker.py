"""`code`: whole functions and classes; other text by sections."""

from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.section_chunker import create_with_rules
from analytiq.ingestion.chunking.structure_chunker import StructureChunker


def create(*, chunk_size: int, chunk_overlap: int) -> StructureChunker:
    """Cut code between definitions, large ones between statements, and all else by sections."""
    return create_with_rules(chunk_size=chunk_size, chunk_overlap=chunk_overlap, rules=PieceRules(code=True))
