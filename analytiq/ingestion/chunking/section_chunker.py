"""`section`: a heading with what follows it."""

from analytiq.ingestion.chunking.groups import section_groups
from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.structure_chunker import StructureChunker


def create(*, chunk_size: int, chunk_overlap: int) -> StructureChunker:
    """Cut at headings, merge small sections of one parent, and cut large ones by paragraph and sentence."""
    return create_with_rules(chunk_size=chunk_size, chunk_overlap=chunk_overlap, rules=PieceRules())


def create_with_rules(*, chunk_size: int, chunk_overlap: int, rules: PieceRules) -> StructureChunker:
    """Cut like `create`, but tables or code by their own structure, too."""
    return StructureChunker(
        lambda document, parts, sizes: section_groups(document.text, parts, sizes, parts_tables=rules.rows),
        Sizes.of(chunk_size=chunk_size, chunk_overlap=chunk_overlap),
        rules,
    )
