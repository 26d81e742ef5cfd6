"""`row`: whole rows of tables; other text by sections."""

from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.section_chunker import create_with_rules
from analytiq.ingestion.chunking.structure_chunker import StructureChunker


def create(*, chunk_size: int, chunk_overlap: int) -> StructureChunker:
    """Cut tables between rows, a row wider than a chunk between cells, and all else by sections."""
    return create_with_rules(chunk_size=chunk_size, chunk_overlap=chunk_overlap, rules=PieceRules(rows=True))
