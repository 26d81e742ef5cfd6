"""Pages with the words of a vision model: descriptions of figures, and readings of scans. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from analytiq.ingestion.parsing.sanitize import sanitize_text
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import Block, BlockKind, sound_blocks
from analytiq.models.flaws import Flaw
from analytiq.models.text import ParsedPage, TextSource

_BETWEEN = "\n\n"
_EMPTY_LINES = re.compile(r"\n\s*\n")


def read_page(page: ParsedPage, text: str) -> ParsedPage:
    """Return a page with the text that the model has read, a paragraph a block; its figures stand behind the text."""
    builder = TextBuilder()
    for paragraph in _EMPTY_LINES.split(text):
        builder.paragraph(paragraph)
    read = builder.page(page.page_number, name=page.name, source=TextSource.VISION)
    return replace(read, figures=tuple(replace(figure, position=len(read.text)) for figure in page.figures))


def described_page(page: ParsedPage, descriptions: Mapping[str, str]) -> ParsedPage:
    """Return a page with a block for each figure that has a description, at its place between the other blocks."""
    blocks = list(sound_blocks(page.blocks, len(page.text)))
    parts: list[str] = []
    written: list[Block] = []
    added: list[tuple[int, int]] = []
    cut = length = following = 0
    for figure in sorted(page.figures, key=lambda figure: figure.position):
        description = sanitize_text(descriptions.get(figure.picture, "")).strip()
        if not description:
            continue
        position = min(max(figure.position, cut), len(page.text))
        while following < len(blocks) and blocks[following].start < position:
            block = blocks[following]
            # The parser read hostile input, and may name a position within a block.
            position = max(position, block.end)
            written.append(block.moved(length - cut))
            following += 1
        parts.append(page.text[cut:position])
        length += position - cut
        before = _BETWEEN if length else ""
        after = _BETWEEN if position < len(page.text) and not page.text.startswith("\n", position) else ""
        written.append(Block(BlockKind.IMAGE, length + len(before), length + len(before) + len(description)))
        parts.append(f"{before}{description}{after}")
        added.append((position, len(parts[-1])))
        length += len(parts[-1])
        cut = position
    parts.append(page.text[cut:])
    written += (block.moved(length - cut) for block in blocks[following:])
    flaws = tuple(_moved_flaw(flaw, added) for flaw in page.flaws)
    return replace(page, text="".join(parts), blocks=tuple(written), flaws=flaws, figures=())


def _moved_flaw(flaw: Flaw, added: Sequence[tuple[int, int]]) -> Flaw:
    """Return a flaw of the same words; a description in the middle of it becomes a part of it."""
    start = flaw.start + sum(length for position, length in added if position <= flaw.start)
    end = flaw.end + sum(length for position, length in added if position < flaw.end)
    return replace(flaw, start=start, end=max(start, end))
