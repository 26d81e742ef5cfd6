"""`auto`: each block by its kind: tables by rows, code by definitions, prose by sections."""

from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.section_chunker import create_with_rules
from analytiq.ingestion.chunking.structure_chunker import StructureChunker


def create(*, chunk_size: int, chunk_overlap: int) -> StructureChunker:
    """Cut tables like `row`, code like `code`, and prose like `section`."""
    return create_with_rules(chunk_size=chunk_size, chunk_overlap=chunk_overlap, rules=PieceRules(rows=True, code=True))
