"""Pages of results: what they show together, their total and `has_more` agree, whatever is left out."""

from typing import Any

import pytest

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.pipeline.request import Mode, SearchResponse
from tests.integration.tenant import Tenant, prose

ALIKE = 60
DIFFERENT = 7


@pytest.fixture
async def repetitive(tenant: Tenant) -> KnowledgeBase:
    """A knowledge base of many chunks that repeat one, and a few that do not."""
    kb = await tenant.knowledge_base()
    await tenant.document("log.txt", "\n".join([prose("whales", 1)] * ALIKE))
    await tenant.document("book.txt", prose("whales", DIFFERENT, first=100))
    return kb


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"deduplicate": True},
        {"mode": Mode.VECTOR, "deduplicate": True},
        {"mode": Mode.VECTOR, "score_threshold": 0.6},
        {"mode": Mode.LEXICAL},
        {"mode": Mode.LEXICAL, "deduplicate": True},
        {"deduplicate": True, "score_threshold": 0.5},
    ],
)
async def test_pages_show_as_many_results_as_their_total_says(
    tenant: Tenant, repetitive: KnowledgeBase, options: dict[str, Any]
) -> None:
    shown = 0
    while True:
        page = await _page(tenant, repetitive, shown, options)
        assert page.results
        shown += len(page.results)
        assert page.has_more == (shown < page.total_count)
        if not page.has_more:
            break
    assert (page.total_count, page.total_count_is_at_least) == (shown, False)
    assert page.searched_chunk_count == ALIKE + DIFFERENT
    beyond = await _page(tenant, repetitive, shown, options)
    assert (beyond.results, beyond.has_more, beyond.total_count) == ((), False, shown)


async def test_near_duplicates_are_not_in_the_total(tenant: Tenant, repetitive: KnowledgeBase) -> None:
    page = await _page(tenant, repetitive, 0, {"deduplicate": True})
    assert (page.total_count, page.has_more) == (DIFFERENT + 1, True)


async def _page(tenant: Tenant, kb: KnowledgeBase, skip: int, options: dict[str, Any]) -> SearchResponse:
    return await tenant.search(kb.id, "whales in the year 1000", top_k=5, skip=skip, **options)
