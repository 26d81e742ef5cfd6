"""Search results in the form sent to a model: bounded, and numbered for citations. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from analytiq.inference.llm.quoting import one_line
from analytiq.inference.tokens import count_tokens, prefix_end, without_surrogates
from analytiq.models.index_types import IndexType
from analytiq.models.shown_passage import ShownPassage
from analytiq.retrieval.pipeline.details import LABEL
from analytiq.retrieval.pipeline.request import SearchResult

FRAME_TOKENS = 40
"""Tokens around a passage's text."""
LEAST_PASSAGE_TOKENS = 50
"""Shortest cut passage; a passage that would be cut shorter is omitted."""
ChunkKey = tuple[str, str, IndexType, int]
"""Knowledge base, document, index type and chunk index: a chunk keeps its number throughout a conversation."""
_Content = TypeVar("_Content", SearchResult, ShownPassage)


def numbers_of(passages: Iterable[ShownPassage]) -> dict[ChunkKey, int]:
    """Return the numbers already assigned to chunks."""
    return {(item.kb_id, item.document_id, item.index_type, item.chunk_index): item.number for item in passages}


def numbered(results: Iterable[SearchResult], numbers: dict[ChunkKey, int]) -> list[ShownPassage]:
    """Return the results as passages; add the numbers of new ones to `numbers`."""
    return [_passage(result, numbers) for result in results]


def fit_tokens(results: Sequence[SearchResult], max_tokens: int) -> list[SearchResult]:
    """Return the first results that fit into `max_tokens` together; the last one may be cut."""
    kept: list[SearchResult] = []
    left = max_tokens
    for result in results:
        content = without_surrogates(result.content)
        room = left - FRAME_TOKENS
        tokens = count_tokens(content)
        if tokens > room:
            if room < LEAST_PASSAGE_TOKENS:
                break
            content = content[: prefix_end(content, 0, len(content), room)]
            tokens = room
        left -= tokens + FRAME_TOKENS
        kept.append(replace(result, content=content, end=result.start + len(content)))
    return kept


def fit_characters(items: Sequence[_Content], most: int) -> list[_Content]:
    """Return the first items that fit into `most` characters together, uncut; always at least one."""
    kept: list[_Content] = []
    left = most
    for item in items:
        left -= len(item.content)
        if kept and left < 0:
            break
        kept.append(item)
    return kept


def page_range(passage: ShownPassage, *, dash: str = "-") -> str:
    """Return the passage's pages, such as `3` or `3-4`."""
    first, last = passage.first_page, passage.last_page
    return str(first) if first == last else f"{first}{dash}{last}"


def label_of(passage: ShownPassage) -> str | None:
    """Return the label of the passage's document in one line; None if it has none, or one that is no text."""
    label = passage.metadata.get(LABEL)
    return one_line(label) or None if isinstance(label, str) else None


def _passage(result: SearchResult, numbers: dict[ChunkKey, int]) -> ShownPassage:
    key = (result.kb_id, result.document_id, result.index_type, result.chunk_index)
    return ShownPassage(
        number=numbers.setdefault(key, max(numbers.values(), default=0) + 1),
        kb_id=result.kb_id,
        document_id=result.document_id,
        source=result.source,
        chunk_index=result.chunk_index,
        index_type=result.index_type,
        first_page=result.first_page,
        last_page=result.last_page,
        start=result.start,
        end=result.end,
        relevance=result.relevance,
        content=result.content,
        text_hash=result.text_hash,
        heading_path=result.heading_path,
        page_name=result.page_name,
        chunk_id=result.chunk_id,
        rank=result.rank,
        token_count=result.token_count,
        source_url=result.source_url,
        tags=result.tags,
        metadata=dict(result.metadata),
    )
