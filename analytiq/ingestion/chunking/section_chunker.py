"""`section`: a heading with what follows it."""

from collections.abc import Sequence

from analytiq.ingestion.chunking.groups import Group, section_groups
from analytiq.ingestion.chunking.parts import Part
from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.structure_chunker import StructureChunker
from analytiq.models.text import DocumentText


def create(*, chunk_size: int, chunk_overlap: int, section_level: int = 0) -> StructureChunker:
    """Cut at headings, merge small sections of one parent, and cut large ones by paragraph and sentence."""
    sizes = Sizes.of(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    return by_sections(sizes, PieceRules(), section_level=section_level)


def by_sections(sizes: Sizes, rules: PieceRules, *, section_level: int) -> StructureChunker:
    """Cut like `create`, but tables or code by their own structure, too."""

    def grouped(document: DocumentText, parts: Sequence[Part], sizes: Sizes) -> list[Group]:
        return section_groups(document.text, parts, sizes, parts_tables=rules.rows, section_level=section_level)

    return StructureChunker(grouped, sizes, rules)
