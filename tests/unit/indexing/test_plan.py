"""Plans for a pair, from the truth that was read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from analytiq.ingestion.documents.indexing_state import IndexingState, states
from analytiq.ingestion.indexing.plan import Index, Nothing, Remove, Retire, plan
from analytiq.models.document import Document, DocumentState
from analytiq.models.flaws import FlawCount, FlawKind
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus
from analytiq.operations.reconcile.invariants.index_entries import judge_entries

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def knowledge_base(**changes: Any) -> KnowledgeBase:
    values: dict[str, Any] = {
        "id": "k", "organization_id": "o", "name": "n", "description": "", "tag_ids": ("t1", "t2"),
        "chunker_type": "recursive", "chunk_size": 512, "chunk_overlap": 0, "embedding_model": "m",
        "embedding_dimensions": 3, "coalesce_neighbors": 0, "status": KnowledgeBaseStatus.ACTIVE,
        "vectors_uuid": "u", "created_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    return KnowledgeBase(**values | changes)


def document(**changes: Any) -> Document:
    values: dict[str, Any] = {
        "id": "d", "organization_id": "o", "document_name": "n", "identity": "i", "sha256": "s", "byte_size": 1,
        "content_type": "text/plain", "file_id": "f", "state": DocumentState.EXTRACTED, "tag_ids": ("t2", "t3"),
        "text_id": "text", "text_hash": "hash", "page_count": 1, "character_count": 9,
        "created_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    return Document(**values | changes)


def entry(**changes: Any) -> IndexEntry:
    values: dict[str, Any] = {
        "organization_id": "o", "kb_id": "k", "document_id": "d", "generation_id": "g", "text_hash": "hash",
        "configuration_hash": knowledge_base().configuration_hash, "chunk_count": 1, "indexed_at": NOW,
    }  # fmt: skip
    return IndexEntry(**values | changes)


def test_member_without_an_entry_is_indexed() -> None:
    assert plan(knowledge_base(), document(), None) == Index("text", "hash")


def test_member_with_the_right_entry_is_left_alone() -> None:
    assert isinstance(plan(knowledge_base(), document(), entry()), Nothing)


@pytest.mark.parametrize(
    ("kb_changes", "document_changes"),
    [
        ({}, {"text_hash": "another"}),
        ({"chunk_size": 100}, {}),
        ({"chunk_overlap": 7}, {}),
        ({"chunker_type": "token"}, {}),
        ({"embedding_model": "another"}, {}),
        ({"embedding_dimensions": 4}, {}),
    ],
)
def test_entry_of_another_text_or_configuration_is_made_anew(
    kb_changes: dict[str, Any], document_changes: dict[str, Any]
) -> None:
    assert isinstance(plan(knowledge_base(**kb_changes), document(**document_changes), entry()), Index)


NOISY = (FlawCount(kind=FlawKind.NOISE, word_count=7, page_count=1),)


@pytest.mark.parametrize(
    ("flaws", "chosen", "left_out", "is_right"),
    [
        (NOISY, (), (), True),
        (NOISY, (FlawKind.NOISE,), (), False),
        (NOISY, (FlawKind.NOISE, FlawKind.MISDECODED), (FlawKind.NOISE,), True),
        (NOISY, (), (FlawKind.NOISE,), False),
        (NOISY, (FlawKind.MISDECODED,), (), True),
        ((), tuple(FlawKind), (), True),
    ],
)
def test_entry_is_right_while_it_leaves_out_the_chosen_flaws_that_the_text_has(
    flaws: tuple[FlawCount, ...], chosen: tuple[FlawKind, ...], left_out: tuple[FlawKind, ...], is_right: bool
) -> None:
    planned = plan(knowledge_base(), document(flaws=flaws), entry(skipped_flaws=left_out), skipped=chosen)
    assert isinstance(planned, Nothing) is is_right
    (state,) = states(document(flaws=flaws), [knowledge_base()], [entry(skipped_flaws=left_out)], [], chosen)
    assert (state.state is IndexingState.INDEXED) is is_right
    assert state.skipped_word_count == (7 if left_out else 0)
    row = document(flaws=flaws)
    drift = judge_entries(knowledge_base(), {"d": "hash"}, {"d": entry(skipped_flaws=left_out)}, {"d": row}, chosen)
    assert (drift == []) is is_right


@pytest.mark.parametrize("changes", [{"name": "x"}, {"coalesce_neighbors": 3}, {"tag_ids": ("t3",)}])
def test_what_does_not_shape_the_vectors_makes_nothing_anew(changes: dict[str, Any]) -> None:
    assert isinstance(plan(knowledge_base(**changes), document(), entry()), Nothing)


@pytest.mark.parametrize(
    "outsider",
    [
        None,
        document(tag_ids=()),
        document(tag_ids=("t3",)),
        document(text_id=None, text_hash=None),
        document(character_count=0),
    ],
)
def test_outsider_is_taken_out_and_never_put_in(outsider: Document | None) -> None:
    removal = plan(knowledge_base(), outsider, entry())
    assert isinstance(removal, Remove)
    assert removal.entry == entry()
    assert isinstance(plan(knowledge_base(), outsider, None), Nothing)


def test_old_text_stays_indexed_while_a_newer_one_is_extracted_or_has_failed() -> None:
    for state in DocumentState:
        assert isinstance(plan(knowledge_base(), document(state=state), entry()), Nothing)


def test_deleted_knowledge_base_needs_nothing() -> None:
    for present in (None, document()):
        for indexed in (None, entry()):
            assert isinstance(plan(None, present, indexed), Nothing)


def current(generation_id: str) -> Generation:
    return Generation(
        id=generation_id, organization_id="o", kb_id="k", document_id="d", state=GenerationState.CURRENT,
        chunk_count=1, lease_token="t", created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def test_generation_that_no_entry_names_is_retired_where_nothing_else_is_to_be_done() -> None:
    named, other = current("g"), current("other")
    beside = plan(knowledge_base(), document(), entry(), [named, other])
    alone = plan(knowledge_base(), None, None, [other])
    assert (beside, alone) == (
        Retire((other,), "it is indexed already"),
        Retire((other,), "the document is gone"),
    )
    assert isinstance(plan(knowledge_base(), document(), entry(), [named]), Nothing)
    assert isinstance(plan(None, None, None, [other]), Nothing)
