"""Judgements of invariants on what was read; alone, since each case would take a damaged database."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from analytiq.models.document import DocumentState
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import BATCH
from analytiq.operations.reconcile.invariants.epoch import judge_epoch
from analytiq.operations.reconcile.invariants.files import unnamed_files
from analytiq.operations.reconcile.invariants.index_entries import judge_entries
from analytiq.operations.reconcile.invariants.lost_parts import judge_parts
from analytiq.operations.reconcile.invariants.statistics import judge_counts
from analytiq.operations.reconcile.invariants.texts import unnamed_texts
from analytiq.operations.reconcile.invariants.vector_collection import judge_collection
from analytiq.operations.reconcile.invariants.vectors import find_suspects, judge_vectors
from analytiq.operations.reconcile.lost_rows import MANY, are_rows_lost
from analytiq.operations.reconcile.reading_ahead import read_ahead
from analytiq.operations.reconcile.report import EXAMPLES, Drift, Report
from analytiq.storage.file_survey import FileOwner
from analytiq.storage.repositories.document_survey import DocumentPointers
from analytiq.storage.repositories.index_entries import HOLLOW, NamedGeneration
from analytiq.storage.repositories.texts import StagedText
from analytiq.storage.repositories.vector_survey import CollectionState, Extent

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KB = KnowledgeBase(
    id="k", organization_id="o", name="KB", description="", tag_ids=("t",), chunker_type="token", chunk_size=16,
    chunk_overlap=0, embedding_model="m", embedding_dimensions=4, coalesce_neighbors=0,
    status=KnowledgeBaseStatus.ACTIVE, document_count=2, chunk_count=10, vectors_uuid="u", created_at=NOW,
    updated_at=NOW,
)  # fmt: skip
ENTRY = IndexEntry(
    organization_id="o", kb_id="k", document_id="d", generation_id="g", text_hash="h",
    configuration_hash=KB.configuration_hash, chunk_count=5, indexed_at=NOW,
)  # fmt: skip
GENERATION = Generation(
    id="g", organization_id="o", kb_id="k", document_id="d", state=GenerationState.CURRENT, chunk_count=5,
    lease_token="", created_at=NOW, updated_at=NOW,
)  # fmt: skip
WHOLE = Extent(5, 0, 4)


def kinds(drift: list[Drift]) -> list[DriftKind]:
    return [item.kind for item in drift]


@pytest.mark.parametrize(
    ("hashes", "entries", "found"),
    [
        ({"d": "h"}, {"d": ENTRY}, []),
        ({"d": "h"}, {}, [DriftKind.MISSING]),
        ({}, {"d": ENTRY}, [DriftKind.STALE]),
        ({"d": "another"}, {"d": ENTRY}, [DriftKind.OUTDATED]),
        ({"d": "h"}, {"d": ENTRY.model_copy(update={"configuration_hash": "old"})}, [DriftKind.OUTDATED]),
        ({"d": "h"}, {"d": ENTRY.model_copy(update={"configuration_hash": HOLLOW})}, [DriftKind.OUTDATED]),
    ],
)
def test_pair_is_judged_by_membership_text_and_configuration(
    hashes: dict[str, str], entries: dict[str, IndexEntry], found: list[DriftKind]
) -> None:
    assert kinds(judge_entries(KB, hashes, entries)) == found


@pytest.mark.parametrize(
    ("generation", "extent", "found"),
    [
        (GENERATION, WHOLE, []),
        (GENERATION, None, [DriftKind.HOLLOW]),
        (GENERATION, Extent(4, 0, 4), [DriftKind.HOLLOW]),
        (GENERATION, Extent(5, 1, 5), [DriftKind.HOLLOW]),
        (GENERATION, Extent(6, 0, 4), [DriftKind.HOLLOW]),
        (None, WHOLE, [DriftKind.UNREGISTERED]),
        (None, None, [DriftKind.HOLLOW]),
        (GENERATION.model_copy(update={"state": GenerationState.PURGING}), WHOLE, [DriftKind.HOLLOW]),
    ],
)
def test_entry_is_judged_by_its_generation_and_vectors(
    generation: Generation | None, extent: Extent | None, found: list[DriftKind]
) -> None:
    named = {"g": generation} if generation else {}
    extents = {"g": extent} if extent else {}
    assert kinds(judge_vectors([ENTRY], named, [], extents)) == found


@pytest.mark.parametrize(("last", "found"), [(2**25, []), (2**24, [DriftKind.HOLLOW]), (4, [DriftKind.HOLLOW])])
def test_entry_of_several_index_types_is_whole_with_the_chunks_of_all(last: int, found: list[DriftKind]) -> None:
    entry = ENTRY.model_copy(update={"chunk_counts": {"paragraph": 3, "section": 1, "website": 1}})
    assert kinds(judge_vectors([entry], {"g": GENERATION}, [], {"g": Extent(5, 0, last)})) == found


def test_entry_that_is_marked_already_is_told_by_its_pair_alone() -> None:
    marked = ENTRY.model_copy(update={"configuration_hash": HOLLOW})
    assert judge_vectors([marked], {"g": GENERATION}, [], {}) == []


def test_entry_of_a_text_without_chunks_needs_no_vectors() -> None:
    entry = ENTRY.model_copy(update={"chunk_count": 0})
    generation = GENERATION.model_copy(update={"chunk_count": 0})
    assert judge_vectors([entry], {"g": generation}, [], {}) == []
    assert kinds(judge_vectors([entry], {"g": generation}, [], {"g": WHOLE})) == [DriftKind.HOLLOW]


def test_current_generation_that_no_entry_names_is_unindexed() -> None:
    other = GENERATION.model_copy(update={"id": "other"})
    found = judge_vectors([ENTRY], {"g": GENERATION}, [GENERATION, other], {"g": WHOLE})
    assert [(item.kind, item.generation_id) for item in found] == [(DriftKind.UNINDEXED, "other")]
    assert kinds(judge_vectors([], {}, [GENERATION], {})) == [DriftKind.UNINDEXED]


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (CollectionState("u", has_indexes=True), []),
        (CollectionState(None, has_indexes=False), [DriftKind.LOST_COLLECTION]),
        (CollectionState("another", has_indexes=True), [DriftKind.LOST_COLLECTION]),
        (CollectionState("u", has_indexes=False), [DriftKind.LOST_INDEX]),
    ],
)
def test_collection_is_the_one_that_writers_name(state: CollectionState, found: list[DriftKind]) -> None:
    assert kinds(judge_collection(KB, state)) == found


@pytest.mark.parametrize(("epoch", "latest", "is_lost"), [(None, 0, True), (3, 4, True), (4, 4, False), (5, 0, False)])
def test_epoch_is_at_least_its_log(epoch: int | None, latest: int, is_lost: bool) -> None:
    row = None if epoch is None else Epoch(kb_id="k", epoch=epoch, commit_id="c")
    assert kinds(judge_epoch(KB, row, latest)) == [DriftKind.LOST_EPOCH] * is_lost


def test_counts_are_those_of_the_entries() -> None:
    assert judge_counts(KB, 2, 10) == []
    assert kinds(judge_counts(KB, 2, 11)) == [DriftKind.UNCOUNTED]


def test_text_of_a_document_whose_file_is_lost_is_not_asked_for_again() -> None:
    document = DocumentPointers("o", "d", "f", "t", DocumentState.EXTRACTED, 4)
    assert judge_parts([document], {"f"}, {"t"}) == []
    assert kinds(judge_parts([document], {"f"}, set())) == [DriftKind.LOST_TEXT]
    assert kinds(judge_parts([document], set(), set())) == [DriftKind.LOST_FILE]
    assert judge_parts([replace(document, text_id=None)], {"f"}, set()) == []


@pytest.mark.parametrize(
    ("gone", "named", "documents", "is_lost"),
    [
        (1, 0, 0, True),  # the rows of all documents
        (1, 1, 1, False),
        (MANY - 1, 0, BATCH, False),  # a few, in a part of the files that shows no others
        (MANY, MANY, MANY, True),
        (MANY, MANY + 1, BATCH, False),
    ],
)
def test_rows_are_lost_where_many_things_have_no_document(gone: int, named: int, documents: int, is_lost: bool) -> None:
    assert are_rows_lost(gone=gone, named=named, documents=documents) is is_lost


def test_file_or_text_is_its_documents_or_nobodys() -> None:
    documents = {"d": DocumentPointers("o", "d", "f", "t", DocumentState.EXTRACTED, 4)}
    files = [FileOwner("f", "o", "d"), FileOwner("old", "o", "d"), FileOwner("x", "o", "gone"), FileOwner("y", "", "")]
    assert [item.target_id for item in unnamed_files(files, documents)] == ["old", "x"]
    texts = [StagedText("o", "d", "t"), StagedText("o", "d", "old"), StagedText("o", "gone", "x")]
    assert [item.target_id for item in unnamed_texts(texts, documents)] == ["old", "x"]


def test_report_counts_everything_and_names_the_first_of_each_kind() -> None:
    report = Report(of_organization={})
    report.add(Drift(DriftKind.MISSING, "o", "k", str(number)) for number in range(EXAMPLES + 5))
    report.add([Drift(DriftKind.HALF_CREATED, "", "k")])
    assert report.counts() == {"missing": EXAMPLES + 5, "half_created": 1}
    assert len(report.drift) == EXAMPLES + 1
    assert report.of_organization is not None
    assert {name: own.counts() for name, own in report.of_organization.items()} == {"o": {"missing": EXAMPLES + 5}}


@pytest.mark.parametrize(
    ("entry", "current", "extent", "is_suspect"),
    [
        (NamedGeneration("d", "g", 2), [("d", "g")], Extent(2, 0, 1), False),
        (NamedGeneration("d", "g", 0), [("d", "g")], None, False),
        (NamedGeneration("d", "g", 2), [("d", "g")], Extent(1, 0, 0), True),
        (NamedGeneration("d", "g", 2), [("d", "g")], Extent(2, 1, 2), True),
        (NamedGeneration("d", "g", 2), [], Extent(2, 0, 1), True),
        (NamedGeneration("d", "g", 2), [("d", "g"), ("d", "other")], Extent(2, 0, 1), True),
        (NamedGeneration("d", "g", None), [("d", "g")], Extent(2, 0, 1), True),
    ],
    ids=["whole", "no chunks", "one lost", "first lost", "no row", "two current", "several types"],
)
def test_only_an_entry_with_its_own_whole_generation_is_above_suspicion(
    entry: NamedGeneration, current: list[tuple[str, str]], extent: Extent | None, *, is_suspect: bool
) -> None:
    extents = {} if extent is None else {"g": extent}
    suspects, vectors = find_suspects([entry], current, extents)
    assert suspects == (["d"] if is_suspect else [])
    assert is_suspect or vectors == entry.chunk_count


async def test_batches_are_read_ahead_in_order_and_not_after_their_reader_has_gone() -> None:
    begun: list[str] = []

    async def read(after: str) -> str:
        begun.append(after)
        return after + "x"

    def end_of(batch: str) -> str | None:
        return batch if len(batch) < 3 else None

    assert [batch async for batch in read_ahead(read, end_of, after="")] == ["x", "xx", "xxx"]
    batches = read_ahead(read, end_of, after="")
    assert await anext(batches) == "x"
    assert begun[-1] == "x"
    await batches.aclose()
    assert begun == ["", "x", "xx", "", "x"]
