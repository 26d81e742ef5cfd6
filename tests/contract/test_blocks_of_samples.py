"""The blocks of every sample: ranges of its text, in order, with rows inside their tables."""

from pathlib import Path

import pytest

from analytiq.errors import PermanentError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.sandbox import parse_in_child
from analytiq.models.blocks import BlockKind
from analytiq.models.text import join_pages
from analytiq.storage.repositories.stored_blocks import packed_blocks, unpacked_blocks

DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"


@pytest.mark.parametrize("name", sorted(str(path.relative_to(DOCUMENTS)) for path in DOCUMENTS.glob("*/*")))
async def test_blocks_are_ranges_of_the_whole_text(name: str) -> None:
    path = DOCUMENTS / name
    try:
        parsed = await parse_in_child(
            path, content_type=detect_content_type(path), options=ParseOptions(), limits=ParseLimits()
        )
    except PermanentError:
        return  # another contract says why
    whole = join_pages(parsed.pages, title=parsed.title)
    # Nothing was unsound, or it would have been left out.
    assert len(whole.blocks) == sum(len(page.blocks) for page in parsed.pages)
    by_page = iter(whole.blocks)
    for page, span in zip(parsed.pages, whole.pages, strict=True):
        for own in page.blocks:
            block = next(by_page)
            assert span.start <= block.start < block.end <= span.end
            text = whole.text[block.start : block.end]
            assert text == page.text[own.start : own.end]
            # Code keeps its indentation, and a table its first cell however empty.
            assert text.strip() == text or block.kind in {BlockKind.CODE, BlockKind.TABLE}
            if block.table is not None and own.table is not None:
                rows = [whole.text[start:end] for start, end in block.table.rows]
                assert rows == [page.text[start:end] for start, end in own.table.rows]
    stored = unpacked_blocks(packed_blocks(whole.blocks))
    assert [(block.kind, block.start, block.end) for block in stored] == [
        (block.kind, block.start, block.end) for block in whole.blocks
    ]
