"""Offsets: chunks, highlights and citations are slices of the text that is served, whatever its pages hold."""

import re
from collections.abc import Sequence
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytiq.assistants.chat.citing import cited
from analytiq.composition import Services
from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.models.chunk import Chunk
from analytiq.models.shown_passage import ShownPassage
from analytiq.models.text import DocumentText, PageLocator, ParsedPage, join_pages
from analytiq.retrieval.pipeline.highlight import highlights
from analytiq.storage.ids import new_id
from analytiq.storage.repositories import texts
from analytiq.storage.repositories.texts import TextRepository

WORDS = (
    "total",
    "Hayes",
    "item27x",
    "🐳🐳",
    "Größe",
    "e\u0301té",
    "１２,５",
    "鯨は哺乳類",
    "—",
    "…",
    "x\ty",
    "\n",
    "\n\n",
)
pages_of_words = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.sampled_from(["", " ", "\n"]),
    min_size=1,
    max_size=12,
)


async def served(repository: TextRepository, text: DocumentText) -> str:
    """Store a text; returns the plain text as a download has it."""
    organization_id = new_id()
    text_id, _ = await repository.stage(organization_id, new_id(), text)
    return "".join([piece async for piece in await repository.stream(organization_id, text_id)])


def check_slices(plain: str, pages: Sequence[ParsedPage], text: DocumentText, chunk: Chunk) -> None:
    assert plain[chunk.start : chunk.end] == chunk.text
    first, last = PageLocator(text.pages).between(chunk.start, chunk.end)
    touched = [span.page_number for span in text.pages if span.start < chunk.end and chunk.start < span.end]
    assert (first, last) == (touched[0], touched[-1])
    for start, end in highlights("total Größe 🐳🐳 鯨は", chunk.text):
        assert plain[chunk.start + start : chunk.start + end] == chunk.text[start:end]
    passage = ShownPassage(
        number=1, kb_id="", document_id="", source="", chunk_index=0, first_page=first, last_page=last,
        start=chunk.start, end=chunk.end, relevance=1, content=chunk.text,
    )  # fmt: skip
    [citation] = cited("The total of item27x [1].", [passage])
    quote = plain[chunk.start + citation.start : chunk.start + citation.end]
    assert quote == chunk.text[citation.start : citation.end]
    assert any(quote in page.text for page in pages) or len(touched) > 1


@given(
    pages=pages_of_words, chunker=st.sampled_from(["recursive", "sentence", "token", "word"]), size=st.integers(4, 40)
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
async def test_chunks_highlights_and_citations_are_slices_of_the_plain_text(
    services: Services, monkeypatch: pytest.MonkeyPatch, pages: list[str], chunker: str, size: int
) -> None:
    monkeypatch.setattr(texts, "HEAD_CHARACTERS", 40)
    monkeypatch.setattr(texts, "SEGMENT_CHARACTERS", 17)
    parsed = [ParsedPage(number, text) for number, text in enumerate(pages, start=1)]
    text = join_pages(parsed)
    plain = await served(TextRepository(services.connection), text)
    assert [plain[span.start : span.end] for span in text.pages] == pages
    cutter = create_chunker(chunker, chunk_size=size, chunk_overlap=2, embed_texts=_no_vectors)
    for chunk in cutter.chunk(text):
        check_slices(plain, parsed, text, chunk)


def _no_vectors(_: Sequence[str]) -> NoReturn:
    raise AssertionError("these chunkers compare no sentences")


async def test_text_in_segments_is_served_whole_and_in_pieces(services: Services) -> None:
    pages = [ParsedPage(number, f"page {number} 🐳 " * 4000) for number in range(1, 31)]
    text = join_pages(pages)
    repository = TextRepository(services.connection)
    plain = await served(repository, text)
    assert plain == text.text
    assert re.findall(r"page (\d+)", plain[text.pages[26].start :])[0] == "27"
