"""Repeated retrieval and refusals of a search: the numbers that docs/guarantees.md names."""

from datetime import UTC, datetime
from typing import cast

import pytest

from analytiq.errors import TransientError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.organization import Organization
from analytiq.retrieval.backends.base import IndexReader
from analytiq.retrieval.pipeline.context import Scope, SearchContext
from analytiq.retrieval.pipeline.plan import plan
from analytiq.retrieval.pipeline.refill import Refill
from analytiq.retrieval.pipeline.request import SearchRequest
from analytiq.settings import SearchSettings

NOW = datetime(2026, 11, 29, tzinfo=UTC)
READER = cast("IndexReader", None)
KNOWLEDGE_BASE = KnowledgeBase(
    id="kb", organization_id="org", name="Contracts", description="", tag_ids=(), chunker_type="recursive",
    chunk_size=512, chunk_overlap=0, embedding_model="m", embedding_dimensions=4, coalesce_neighbors=0,
    status=KnowledgeBaseStatus.ACTIVE, vectors_uuid="", created_at=NOW, updated_at=NOW,
)  # fmt: skip


def rounds(refill: Refill, *, epochs: int, is_outdated: bool = False) -> int:
    """Count the times that the search retrieves, while the index version moves `epochs` times."""
    organization = Organization(id="org", name="Org", created_at=NOW)
    context = SearchContext(organization, SearchRequest("q"), plan(SearchRequest("q"), SearchSettings()), ["kb"])
    context.is_outdated = is_outdated
    for number in range(1, 100):
        epoch = Epoch(kb_id="kb", epoch=min(number, epochs), commit_id="")
        context.scopes = [Scope(KNOWLEDGE_BASE, epoch, None, READER)]
        if not refill.is_stale(context):
            return number
    raise AssertionError


def test_document_that_is_replaced_without_end_is_refused_after_ten_rounds_and_never_left_out() -> None:
    assert rounds(Refill(100), epochs=9, is_outdated=True) == 10
    with pytest.raises(TransientError, match=r"^'Contracts' is being re-indexed faster") as refused:
        rounds(Refill(100), epochs=10, is_outdated=True)
    assert refused.value.retry_after == 0.5


def test_entry_that_names_another_generation_at_the_same_index_version_is_left_to_the_reconciler() -> None:
    assert rounds(Refill(100), epochs=1, is_outdated=True) == 2
