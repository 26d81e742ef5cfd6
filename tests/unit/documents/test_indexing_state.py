"""States of a document in a knowledge base, judged from the rows that were read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from analytiq.ingestion.documents.indexing_state import IndexingState, states
from analytiq.models.document import Document, DocumentState, Failure
from analytiq.models.index_entry import IndexEntry
from analytiq.models.job import Job, JobKind, JobState, JobSubject, Progress
from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus

NOW = datetime(2025, 1, 1, tzinfo=UTC)
FAILURE = Failure(code="provider_refused", detail="the key is wrong", at=NOW)


def knowledge_base(kb_id: str = "k", name: str = "n") -> KnowledgeBase:
    return KnowledgeBase(
        id=kb_id, organization_id="o", name=name, description="", tag_ids=("t",), chunker_type="recursive",
        chunk_size=512, chunk_overlap=0, embedding_model="m", embedding_dimensions=3, coalesce_neighbors=0,
        status=KnowledgeBaseStatus.ACTIVE, vectors_uuid="u", created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def document(**changes: Any) -> Document:
    values: dict[str, Any] = {
        "id": "d", "organization_id": "o", "document_name": "n", "identity": "i", "sha256": "s", "byte_size": 1,
        "content_type": "text/plain", "file_id": "f", "state": DocumentState.EXTRACTED, "tag_ids": ("t",),
        "text_id": "text", "text_hash": "hash", "page_count": 1, "character_count": 9,
        "created_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    return Document(**values | changes)


def entry(text_hash: str = "hash", kb_id: str = "k") -> IndexEntry:
    return IndexEntry(
        organization_id="o", kb_id=kb_id, document_id="d", generation_id="g", text_hash=text_hash,
        configuration_hash=knowledge_base().configuration_hash, chunk_count=4, indexed_at=NOW,
    )  # fmt: skip


def job(state: JobState = JobState.AVAILABLE, **changes: Any) -> Job:
    values: dict[str, Any] = {
        "id": "sync:k:d", "kind": JobKind.SYNC, "organization_id": "o", "lane": "l",
        "subject": JobSubject(kb_id="k", document_id="d"), "state": state, "priority": 0, "run_at": NOW,
        "wanted": 1, "created_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    return Job(**values | changes)


@pytest.mark.parametrize(
    ("now", "indexed", "work", "state", "is_searchable", "reason"),
    [
        (document(), entry(), None, IndexingState.INDEXED, True, None),
        (document(state=DocumentState.UPLOADED), None, None, IndexingState.WAITING, False, "not extracted yet"),
        (document(state=DocumentState.EXTRACTING), entry(), None, IndexingState.WAITING, True, "not extracted yet"),
        (document(state=DocumentState.FAILED, error=FAILURE), None, None, IndexingState.FAILED, False, "key is wrong"),
        (document(state=DocumentState.FAILED, error=FAILURE), entry(), None, IndexingState.FAILED, True, "key is"),
        (document(character_count=0), None, None, IndexingState.EMPTY, False, "no extractable text"),
        (document(), None, None, IndexingState.WAITING, False, "about to be enqueued"),
        (document(), None, job(), IndexingState.WAITING, False, "waits in the queue"),
        (document(), entry("old"), job(), IndexingState.WAITING, True, "waits in the queue"),
        (document(), None, job(error=FAILURE), IndexingState.WAITING, False, "is repeated: the key is wrong"),
        (document(), None, job(JobState.RUNNING), IndexingState.INDEXING, False, None),
        (document(), None, job(JobState.DEAD, error=FAILURE), IndexingState.FAILED, False, "the key is wrong"),
        (document(), entry(), job(JobState.DEAD, error=FAILURE), IndexingState.INDEXED, True, None),
    ],
)
def test_state_says_whether_it_is_found_and_why_not(
    now: Document,
    indexed: IndexEntry | None,
    work: Job | None,
    state: IndexingState,
    is_searchable: bool,
    reason: str | None,
) -> None:
    (found,) = states(now, [knowledge_base()], [indexed] if indexed else [], [work] if work else [])
    assert (found.state, found.is_searchable) == (state, is_searchable)
    assert (found.reason is None) is (reason is None)
    assert reason is None or (found.reason is not None and reason in found.reason)
    assert found.chunk_count == (4 if indexed else 0)


def test_progress_is_that_of_the_running_job_only() -> None:
    progress = Progress(done=1, total=2, unit="chunks")
    for state in JobState:
        (found,) = states(document(), [knowledge_base()], [], [job(state, progress=progress)])
        assert found.progress == (progress if state is JobState.RUNNING else None)


def test_error_of_an_earlier_attempt_is_not_shown_once_it_is_indexed() -> None:
    (found,) = states(document(), [knowledge_base()], [entry()], [job(error=FAILURE)])
    assert found.error is None


def test_each_knowledge_base_is_judged_by_its_own_entry_and_job_in_order_of_name() -> None:
    bases = [knowledge_base("k", "second"), knowledge_base("k2", "first")]
    other_kind = job(JobState.DEAD, kind=JobKind.EXTRACT, subject=JobSubject(document_id="d"), error=FAILURE)
    found = states(document(), bases, [entry(kb_id="k2")], [job(), other_kind])
    assert [(item.kb_name, item.state) for item in found] == [
        ("first", IndexingState.INDEXED),
        ("second", IndexingState.WAITING),
    ]
