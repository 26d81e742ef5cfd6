"""Changes that are searched before the index has them: whatever was merged when, the answers are one index's."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.backends.local.keywords.bm25 import kept_lengths, statistics_of
from analytiq.retrieval.backends.local.keywords.index import WordIndex, searched
from analytiq.retrieval.backends.local.keywords.layers import Batch, Layers
from analytiq.retrieval.backends.local.keywords.view import View
from analytiq.retrieval.filters.selection import DocumentSet, Outside, PageComparison, Selection
from analytiq.retrieval.filters.tree import Comparator
from analytiq.storage.repositories.index_contents import ChunkText
from tests.examples import examples
from tests.unit.lexical.words import STATE, chunk, view_of

WORDS = ("whale", "whales", "sea", "AX-42", "10 %", "Haus", "die", "the", "猫がいる", "1,234.50")
QUESTIONS = ("whale", "sea whale sea", "AX-42", "10 % of the whales", "the", "猫", "Haus die", "1234.5 sea", "42 zebra")
WORDS_A_CHUNK = 12

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=WORDS_A_CHUNK)
contexts = st.lists(st.sampled_from(WORDS), max_size=4)
selections: st.SearchStrategy[Selection | None] = st.sampled_from(
    [
        None,
        DocumentSet(frozenset({"d1", "d3", "d5"})),
        Outside(DocumentSet(frozenset({"d2"}))),
        PageComparison(Comparator.GREATER, 1),
    ]
)


class Collection:
    """Layers, and the chunks that they should have."""

    def __init__(self) -> None:
        index = WordIndex.created(None)
        index.commit(STATE)
        self.layers = Layers(index, index.view().base)
        self.view = index.view()
        self.chunks: dict[str, list[ChunkText]] = {}
        self.batch: Batch | None = None
        self._count = 0

    def change(self, document_id: str, added: Sequence[tuple[list[str], list[str]]]) -> None:
        """Replace a document by these texts with contexts; none remove it."""
        self._count += 1
        generation_id = f"{document_id}, {self._count}"
        former = self.chunks.pop(document_id, [])
        chunks = [
            replace(
                chunk(document_id, " ".join(text), index=place, pages=(place + 1, place + 1)),
                generation_id=generation_id,
                context=" ".join(context),
            )
            for place, (text, context) in enumerate(added)
        ]
        if chunks:
            self.chunks[document_id] = chunks
        self.layers.add(chunks, {})
        self.view = self.layers.publish({one.generation_id for one in former})

    def fail(self, texts: Sequence[tuple[list[str], list[str]]]) -> None:
        """Add chunks of a change that is given up."""
        self.layers.add([chunk("failed", " ".join(text)) for text, _ in texts], {})
        self.layers.discard()

    def merge(self) -> None:
        """Begin a merge, or end the one that has begun."""
        if self.batch is None:
            self.batch = self.layers.seal(STATE)
        else:
            self.view = self.layers.merged(self.layers.write(self.batch))
            self.batch = None

    @property
    def rebuilt(self) -> View:
        """One index of all chunks, made at once."""
        return view_of([one for chunks in self.chunks.values() for one in chunks])


def by_place(hits: Sequence[KeywordHit]) -> dict[tuple[str, int], float]:
    return {(hit.document_id, hit.chunk_index): hit.score for hit in hits}


documents = st.sampled_from([f"d{number}" for number in range(8)])
changes = st.tuples(documents, st.lists(st.tuples(texts, contexts), max_size=3))
steps = st.lists(st.one_of(changes, changes, st.sampled_from(["merge", "fail"])), max_size=16)


def run(collection: Collection, history: Sequence[object]) -> None:
    for step in history:
        if step == "merge":
            collection.merge()
        elif step == "fail":
            collection.fail([(["whale", "sea"], [])])
        else:
            document_id, added = step  # type: ignore[misc]
            collection.change(document_id, added)


@given(history=steps, question=st.sampled_from(QUESTIONS), selection=selections)
@examples(30)
def test_fresh_rows_have_the_scores_and_the_order_of_an_index_of_them(
    history: list[object], question: str, selection: Selection | None
) -> None:
    collection = Collection()
    run(collection, [step for step in history if step != "merge"])
    expected = searched(collection.rebuilt, question, limit=50, selection=selection)
    hits = searched(collection.view, question, limit=50, selection=selection)
    assert by_place(hits) == pytest.approx(by_place(expected), abs=3e-5)
    assert_same_order(hits, expected)
    assert collection.view.chunk_count == sum(map(len, collection.chunks.values()))


@given(history=steps, question=st.sampled_from(QUESTIONS), selection=selections)
@examples(30)
def test_whatever_is_merged_when_the_same_chunks_are_found(
    history: list[object], question: str, selection: Selection | None
) -> None:
    collection = Collection()
    run(collection, history)
    expected = searched(collection.rebuilt, question, limit=50, selection=selection)
    hits = searched(collection.view, question, limit=50, selection=selection)
    assert set(by_place(hits)) == set(by_place(expected))
    assert {hit.generation_id for hit in hits} == {hit.generation_id for hit in expected}
    assert collection.view.chunk_count == sum(map(len, collection.chunks.values()))
    for limit in (1, 3):
        assert searched(collection.view, question, limit=limit, selection=selection) == hits[:limit]


@given(seed=st.integers(0, 2**32), merged=st.integers(150, 199))
@examples(8)
def test_merged_and_fresh_rows_of_one_length_rank_as_in_one_index(seed: int, merged: int) -> None:
    """Mean lengths differ by the row of the state alone, which has one term: one row of a hundred and fifty."""
    source, collection = random.Random(seed), Collection()
    for number in range(200):
        collection.change(f"d{number:03}", [([f"w{source.randint(0, 30)}" for _ in range(20)], [])])
        if number == merged:
            collection.merge()
            collection.merge()
    question = " ".join(f"w{source.randint(0, 35)}" for _ in range(4))
    expected = searched(collection.rebuilt, question, limit=200, selection=None)
    hits = searched(collection.view, question, limit=200, selection=None)
    assert by_place(hits) == pytest.approx(by_place(expected), rel=0.002)
    assert_same_order(hits, expected, tolerance=0.02)


def assert_same_order(hits: Sequence[KeywordHit], expected: Sequence[KeywordHit], tolerance: float = 3e-5) -> None:
    """Compare orders; chunks whose scores differ by rounding alone may be exchanged."""
    scores = by_place(expected)
    places = [(hit.document_id, hit.chunk_index) for hit in hits]
    for place, wanted in zip(places, expected, strict=True):
        assert scores[place] == pytest.approx(wanted.score, abs=tolerance)


def test_lengths_are_kept_as_the_library_keeps_them() -> None:
    index = WordIndex.created(None)
    lengths = [*range(1, 70), 87, 88, 100, 144, 150, 152, 500, 1000, 3000]
    index.add([chunk(f"d{length}", "whale " * length) for length in lengths], {})
    index.commit(STATE)
    base = index.view().base
    statistics = statistics_of(base.schema, base.searcher)
    assert statistics.rows == len(lengths) + 1
    assert statistics.terms["words"] == pytest.approx(sum(lengths) + 1)
    kept = kept_lengths(np.asarray(lengths))
    assert list(kept[:40]) == lengths[:40]
    collection = Collection()
    for length in lengths:
        collection.change(f"d{length}", [(["whale"] * length, [])])
    expected = searched(index.view(), "whale", limit=200, selection=None)
    assert by_place(searched(collection.view, "whale", limit=200, selection=None)) == pytest.approx(
        by_place(expected), abs=2e-5
    )


def test_view_stays_as_it_is_while_layers_change_and_are_merged() -> None:
    collection = Collection()
    collection.change("d1", [(["whale"], [])])
    before = collection.view
    collection.change("d1", [])
    collection.change("d2", [(["whale"], [])])
    collection.merge()
    collection.change("d2", [])
    collection.merge()
    assert set(by_place(searched(before, "whale", limit=9, selection=None))) == {("d1", 0)}
    assert searched(collection.view, "whale", limit=9, selection=None) == []


def test_removed_rows_of_the_index_do_not_crowd_out_others() -> None:
    collection = Collection()
    for number in range(100):
        collection.change(f"d{number:02}", [(["whale"] * (20 if number < 90 else 1), [])])
    collection.merge()
    collection.merge()
    for number in range(90):
        collection.change(f"d{number:02}", [])
    hits = searched(collection.view, "whale", limit=10, selection=None)
    assert [hit.document_id for hit in hits] == [f"d{number}" for number in range(90, 100)]
