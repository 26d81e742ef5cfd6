"""`qa`: a question with its answer; other text by sections."""

from collections.abc import Iterator, Sequence

from analytiq.ingestion.chunking.groups import Group, section_groups
from analytiq.ingestion.chunking.parts import Part
from analytiq.ingestion.chunking.pieces import PieceRules
from analytiq.ingestion.chunking.questions import Passage, passages_of
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.structure_chunker import StructureChunker
from analytiq.models.blocks import BlockKind
from analytiq.models.text import DocumentText

_NO_HEADING = 10


def create(*, chunk_size: int, chunk_overlap: int) -> StructureChunker:
    """Keep a question and its answer in one chunk, however short; cut what exceeds a chunk by sentences."""
    sizes = Sizes.of(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    return StructureChunker(_groups, sizes, PieceRules(rows=True, code=True))


def _groups(document: DocumentText, parts: Sequence[Part], sizes: Sizes) -> Iterator[Group]:
    """Yield a group for each question with its answer, and the sections of the text between them."""
    others: list[Part] = []
    pair: Group | None = None
    level = _NO_HEADING
    for passage in (passage for part in parts for passage in passages_of(document.text, part)):
        part = passage.part
        if pair is not None and not _ends(pair, level, passage):
            pair.takes(Group([part], 0, is_whole=not passage.is_question or passage.is_answered))
            continue
        if pair is not None:
            yield pair
            pair = None
        if passage.is_question:
            yield from section_groups(document.text, others, sizes, parts_tables=True)
            others = []
            pair = Group([part], 0, is_whole=passage.is_answered)
            level = part.level or _NO_HEADING
        else:
            others.append(part)
    if pair is not None:
        yield pair
    yield from section_groups(document.text, others, sizes, parts_tables=True)


def _ends(pair: Group, level: int, passage: Passage) -> bool:
    """Return True if the passage is not part of the answer."""
    if passage.is_question:
        return pair.is_whole
    return passage.part.kind is BlockKind.HEADING and passage.part.level <= level
