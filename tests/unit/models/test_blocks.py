"""Blocks: sound ranges, their place in the whole text, and their stored shape."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from analytiq.ingestion.parsing.sanitize import sanitize_document
from analytiq.models.blocks import Block, BlockKind, TableShape, sound_blocks
from analytiq.models.boxes import Box
from analytiq.models.text import ParsedDocument, ParsedPage, join_pages
from analytiq.storage.repositories.stored_blocks import packed_blocks, unpacked_blocks


def paragraph(start: int, end: int) -> Block:
    return Block(BlockKind.PARAGRAPH, start, end)


def test_blocks_of_pages_are_ranges_of_the_whole_text() -> None:
    table = Block(BlockKind.TABLE, 0, 3, table=TableShape(("a",), ((2, 3),)))
    text = join_pages(
        [ParsedPage(1, "one", blocks=(paragraph(0, 3),)), ParsedPage(2, "a\n1", name="Sheet", blocks=(table,))],
        title="Both",
    )
    assert [text.text[block.start : block.end] for block in text.blocks] == ["one", "a\n1"]
    assert text.blocks[1].table == TableShape(("a",), ((7, 8),))
    assert (text.title, text.pages[1].name) == ("Both", "Sheet")


def test_unsound_blocks_of_a_hostile_parser_are_left_out() -> None:
    shape = TableShape((), ((0, 1),))
    hostile = [
        paragraph(-1, 2),
        paragraph(3, 3),
        paragraph(2, 4),
        paragraph(3, 5),  # overlaps the one before
        Block(BlockKind.TABLE, 5, 6),
        Block(BlockKind.TABLE, 5, 6, table=shape),  # its row lies outside
        replace(paragraph(5, 6), table=shape),
        paragraph(6, 11),
        paragraph(6, 10),
    ]
    assert list(sound_blocks(hostile, 10)) == [paragraph(2, 4), paragraph(6, 10)]


@given(st.lists(st.sampled_from(["word", "\r\n", "\r", "\x00", "\ud800", " ", "é"]), max_size=12))
def test_sanitizing_keeps_the_words_of_blocks(parts: list[str]) -> None:
    before = "".join(parts)
    raw = f"{before}needle\r\x07{before}thread"
    start, other = len(before), len(before) * 2 + 8
    page = ParsedPage(1, raw, blocks=(paragraph(start, start + 6), paragraph(other, other + 6)))
    clean = sanitize_document(ParsedDocument((page,))).pages[0]
    assert [clean.text[block.start : block.end] for block in clean.blocks] == ["needle", "thread"]


def test_stored_shape_gives_the_same_blocks() -> None:
    blocks = (
        Block(BlockKind.HEADING, 2, 10, level=1, box=Box(0.0, 0.125, 0.5, 1.0)),
        Block(BlockKind.TABLE, 12, 40, table=TableShape(("a", ""), ((14, 20), (21, 40)))),
        Block(BlockKind.CODE, 41, 60, language="python"),
        paragraph(60, 61),
    )
    assert unpacked_blocks(packed_blocks(blocks)) == blocks
    assert packed_blocks(()) is None
    assert unpacked_blocks(None) == ()
