"""Search results as a run keeps them: numbered to be cited, and bounded in tokens."""

from collections.abc import Sequence

from analytiq.inference.tokens import count_tokens, prefix_end, without_surrogates
from analytiq.models.prompt_run import RunPassage, RunStep
from analytiq.retrieval.search.request import SearchResult

FRAME_TOKENS = 40
"""Of what stands around a passage's text."""
LEAST_PASSAGE_TOKENS = 50
"""A passage that would be cut to fewer is left out."""


def numbers_of(steps: Sequence[RunStep]) -> dict[tuple[str, int], int]:
    """(document id, chunk index) → the number that the run's passages have so far."""
    return {(item.document_id, item.chunk_index): item.number for step in steps for item in step.passages}


def bounded(
    results: Sequence[SearchResult], *, max_tokens: int, numbers: dict[tuple[str, int], int]
) -> tuple[tuple[RunPassage, ...], int]:
    """The best results that fit into so many tokens, and how many were left out; the last may be cut.

    Args:
        results: best first.
        max_tokens: of all together.
        numbers: as `numbers_of`; new passages are added to it, counted on.
    """
    kept: list[RunPassage] = []
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
        kept.append(_passage(result, content, numbers))
    return tuple(kept), len(results) - len(kept)


def _passage(result: SearchResult, content: str, numbers: dict[tuple[str, int], int]) -> RunPassage:
    key = (result.document_id, result.chunk_index)
    number = numbers.setdefault(key, max(numbers.values(), default=0) + 1)
    return RunPassage(
        number=number,
        kb_id=result.kb_id,
        document_id=result.document_id,
        source=result.source,
        chunk_index=result.chunk_index,
        first_page=result.first_page,
        last_page=result.last_page,
        start=result.start,
        end=result.start + len(content),
        relevance=result.relevance,
        content=content,
        text_hash=result.text_hash,
    )
