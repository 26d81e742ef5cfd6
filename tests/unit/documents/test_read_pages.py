"""Pages with the words of a vision model: offsets of all blocks stay exact."""

from dataclasses import replace

import pytest

from analytiq.ingestion.extraction.read_pages import described_page, read_page
from analytiq.ingestion.parsing.table_lines import RowLine, header_line
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind
from analytiq.models.flaws import Flaw, FlawKind
from analytiq.models.pictures import Figure
from analytiq.models.text import ParsedPage, TextSource


def page_of(*figures: Figure) -> ParsedPage:
    builder = TextBuilder()
    builder.heading("Results", 2)
    builder.paragraph("Before.")
    builder.table([header_line(["Name", "Price"]), RowLine("Name: Bolt; Price: 3"), RowLine("Name: Nut; Price: 1")])
    builder.code("x = 1", language="python")
    page = builder.page(4, name="Slide")
    return ParsedPage(page.page_number, page.text, page.source, page.name, page.blocks, figures=figures)


def words(page: ParsedPage) -> list[tuple[BlockKind, str]]:
    return [(block.kind, page.text[block.start : block.end]) for block in page.blocks]


@pytest.mark.parametrize("position", range(len(page_of().text) + 3))
def test_description_at_any_position_changes_no_other_block(position: int) -> None:
    page = page_of(Figure("a", position))
    described = described_page(page, {"a": "A chart of prices."})
    assert (BlockKind.IMAGE, "A chart of prices.") in words(described)
    assert [block for block in words(described) if block[0] is not BlockKind.IMAGE] == words(page)
    rows = [described.text[start:end] for block in described.blocks if block.table for start, end in block.table.rows]
    assert rows == ["Name: Bolt; Price: 3", "Name: Nut; Price: 1"]
    assert described.figures == ()


def test_description_stands_behind_the_block_before_it() -> None:
    page = page_of(Figure("a", page_of().blocks[1].end))
    assert "Before.\n\nA chart.\n\nName" in described_page(page, {"a": "A chart."}).text


def test_figures_without_a_description_leave_the_page_as_it_is() -> None:
    page = page_of(Figure("a", 0), Figure("b", 5))
    described = described_page(page, {"a": "", "c": "Another."})
    assert (described.text, described.blocks) == (page.text, page.blocks)


@pytest.mark.parametrize("position", range(len(page_of().text) + 1))
def test_flaws_keep_their_words(position: int) -> None:
    page = page_of(Figure("a", position))
    block = page.blocks[1]
    flawed = replace(page, flaws=(Flaw(FlawKind.NOISE, block.start, block.end),))
    described = described_page(flawed, {"a": "A chart of prices."})
    (flaw,) = described.flaws
    assert described.text[flaw.start : flaw.end] == page.text[block.start : block.end]


def test_several_figures_at_one_place_keep_their_order() -> None:
    page = ParsedPage(1, "", figures=(Figure("a", 0), Figure("b", 0)))
    assert described_page(page, {"a": "First.", "b": "Second."}).text == "First.\n\nSecond."


def test_page_read_by_the_model_has_its_paragraphs_as_blocks_and_keeps_its_figures() -> None:
    page = ParsedPage(7, "l1lI |", TextSource.OCR, "Scan", figures=(Figure("a", 3),), scan="s")
    read = read_page(page, "Dear Anna,\n\nthank you\x00 for\nyour letter.\n \nBob")
    assert [text for _, text in words(read)] == ["Dear Anna,", "thank you for\nyour letter.", "Bob"]
    assert (read.page_number, read.name, read.source) == (7, "Scan", TextSource.VISION)
    assert read.figures == (Figure("a", len(read.text)),)
