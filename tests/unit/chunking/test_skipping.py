"""Chunks of a text without its flawed parts: exact offsets, nothing of a skipped range, and all other words."""

import random
from collections.abc import Sequence

import pytest

from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.context import ChunkContexts
from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.ingestion.chunking.skipping import chunks_of, outline_without
from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.chunk import Chunk
from analytiq.models.flaws import Flaw, FlawKind
from analytiq.models.text import DocumentText, PageSpan, ParsedPage, join_pages

CHUNKERS = ("auto", "code", "page", "qa", "recursive", "row", "section", "sentence", "token", "word")
WORDS = (
    "the",
    "pump",
    "moves",
    "water",
    "and",
    "each",
    "valve",
    "closes",
    "when",
    "pressure",
    "falls",
    "below",
    "two",
    "bar",
)


def page(number: int, generator: random.Random) -> ParsedPage:
    """A page of headings, paragraphs and a table, with flaws anywhere: also across blocks and within words."""
    text, blocks = "", list[Block]()
    for index in range(6):
        start = len(text)
        sentence = " ".join(generator.choices(WORDS, k=generator.randint(3, 60)))
        text += sentence
        kind = BlockKind.HEADING if index % 3 == 0 else BlockKind.TABLE if index == 4 else BlockKind.PARAGRAPH
        table = TableShape(("pump", "bar"), ((start + 5, len(text)),)) if kind is BlockKind.TABLE else None
        blocks.append(Block(kind, start, len(text), level=1 if kind is BlockKind.HEADING else 0, table=table))
        text += "\n\n"
    cuts = sorted(generator.sample(range(len(text)), 4))
    flaws = (Flaw(FlawKind.NOISE, cuts[0], cuts[1], "r"), Flaw(FlawKind.MACHINE_TEXT, cuts[2], cuts[3], "r"))
    return ParsedPage(number, text, blocks=tuple(blocks), flaws=flaws)


def cut(chunker: str, text: DocumentText, skipped: Sequence[FlawKind]) -> Sequence[Chunk]:
    return chunks_of(create_chunker(chunker, chunk_size=48, chunk_overlap=8, embed_texts=None), text, skipped)


@pytest.mark.parametrize("chunker", CHUNKERS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("skipped", [(FlawKind.NOISE,), (FlawKind.NOISE, FlawKind.MACHINE_TEXT)])
def test_chunks_cover_all_but_the_skipped_ranges(chunker: str, seed: int, skipped: Sequence[FlawKind]) -> None:
    generator = random.Random(seed)
    text = join_pages([page(number, generator) for number in range(1, 4)])
    left_out = {at for flaw in text.flaws if flaw.kind in skipped for at in range(flaw.start, flaw.end)}
    chunks = cut(chunker, text, skipped)
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert chunk.text == text.text[chunk.start : chunk.end]
        assert chunk.token_count == count_tokens(chunk.text) <= 48
    covered = {at for chunk in chunks for at in range(chunk.start, chunk.end)}
    assert not covered & left_out
    visible = {at for at, character in enumerate(text.text) if not character.isspace()}
    assert visible - left_out <= covered


def test_text_without_skipped_kinds_is_cut_as_ever() -> None:
    text = join_pages([page(1, random.Random(1))])
    assert cut("section", text, ()) == cut("section", text, (FlawKind.MISDECODED,))
    assert cut("section", text, ()) == create_chunker(
        "section", chunk_size=48, chunk_overlap=8, embed_texts=None
    ).chunk(text)


def test_text_that_is_skipped_as_a_whole_gives_no_chunk() -> None:
    text = DocumentText("(cid:7)(cid:9)", (PageSpan(1, 0, 14),), flaws=(Flaw(FlawKind.NOISE, 0, 14),))
    assert cut("recursive", text, (FlawKind.NOISE,)) == []


def test_skipped_headings_and_columns_are_in_no_context() -> None:
    heading, header, row = "Xq§ zz", "Ðð | Þþ", "4 | 5"
    text = f"{heading}\n\n{header}\n{row}\n\nA sound paragraph."
    start = len(heading) + 2
    table = TableShape(("Ðð", "Þþ"), ((start + len(header) + 1, start + len(header) + 1 + len(row)),))
    flaws = (Flaw(FlawKind.NOISE, 0, start + 2),)
    blocks = (
        Block(BlockKind.HEADING, 0, len(heading), level=1),
        Block(BlockKind.TABLE, start, start + len(header) + 1 + len(row), table=table),
    )
    document = DocumentText(text, (PageSpan(1, 0, len(text)),), blocks, flaws=flaws)
    at = text.index(row)
    for skipped, shown in (((), True), ((FlawKind.NOISE,), False)):
        contexts = ChunkContexts(outline_without(document, skipped), "pumps.txt")
        context = contexts.of(at, len(text), 40)
        assert (heading in context.text) is (heading in context.heading_path) is shown
        assert ("Ðð" in context.text) is shown
