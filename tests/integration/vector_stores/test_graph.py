"""The graph over rows that look like a real collection's: clusters, and many near duplicates."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors import view as view_module
from analytiq.retrieval.backends.local.vectors.graph import Graph
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.quantization import question_of
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.retrieval.filters.selection import AllOf, DocumentSet, Outside, Selection

ROWS, DIMENSIONS, CHUNKS = 60_000, 96, 20
DOCUMENTS = ROWS // CHUNKS
QUESTIONS = 60


def clustered(count: int, seed: int) -> NDArray[np.float32]:
    """Clusters of clusters of a spectrum that falls off; every twentieth is nearly the one before it."""
    random = np.random.default_rng(seed)
    spectrum = (1 / np.sqrt(1 + np.arange(DIMENSIONS))).astype(np.float32)
    topics = np.random.default_rng(0).standard_normal((60, DIMENSIONS)).astype(np.float32) * spectrum
    themes = topics[random.integers(60, size=count // 50)]
    themes += 0.5 * random.standard_normal(themes.shape).astype(np.float32) * spectrum
    rows = themes[random.integers(len(themes), size=count)]
    rows += 0.4 * random.standard_normal(rows.shape).astype(np.float32) * spectrum
    rows[1::20] = rows[0::20] + 0.001 * random.standard_normal(rows[0::20].shape).astype(np.float32)
    return rows.astype(np.float32)


class Collection:
    """The rows, the view over them, and the plain answer."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        with np.errstate(invalid="ignore"):
            self.rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.matrix = VectorMatrix(DIMENSIONS)
        self.matrix.expect(len(rows))
        self.matrix.add([self.generation(number) for number in range(len(rows) // CHUNKS)])
        self.view = self.matrix.publish()

    def generation(self, number: int) -> GenerationVectors:
        places = np.arange(CHUNKS, dtype=np.int32)
        vectors = self.rows[number * CHUNKS : (number + 1) * CHUNKS]
        return GenerationVectors(f"g{number}", f"d{number}", places, places + 1, places + 1, vectors)

    def nearest(self, query: NDArray[np.float32], limit: int, documents: NDArray[np.int64] | None) -> set[int]:
        scores = self.rows @ (query / np.linalg.norm(query))
        if documents is not None:
            is_wanted = np.zeros(len(scores), dtype=np.bool_)
            for document in documents:
                is_wanted[document * CHUNKS : (document + 1) * CHUNKS] = True
            scores[~is_wanted] = -np.inf
        return set(np.argsort(-scores)[:limit].tolist())


@pytest.fixture(scope="module")
def collection() -> Collection:
    made = Collection(clustered(ROWS, seed=1))
    graph = Graph(DIMENSIONS)
    graph.extend(made.view.parts)
    made.view = replace(made.view, graph=graph)
    return made


def questions() -> NDArray[np.float32]:
    return clustered(3000, seed=2)[:: 3000 // QUESTIONS]


def found(view: View, query: NDArray[np.float32], selection: Selection | None, limit: int = 10) -> set[int]:
    rows = view.nearest(query, limit=limit, selection=selection)
    return {int(row.document_id[1:]) * CHUNKS + row.chunk_index for row in rows}


class Counts:
    """Counts how often the graph answered, and how often a scan was needed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.graph, self.answered = 0, 0
        by_graph = view_module.View._by_graph

        def counting(view: View, *arguments: object) -> object:
            answer = by_graph(view, *arguments)  # type: ignore[arg-type]
            self.graph += 1
            self.answered += answer is not None
            return answer

        monkeypatch.setattr(view_module.View, "_by_graph", counting)


@pytest.mark.parametrize("percent", [100, 50, 10, 1, 0.1])
@pytest.mark.parametrize("has_graph", [True, False], ids=["graph", "scan"])
def test_recall_at_ten(
    collection: Collection, percent: float, has_graph: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(3)
    chosen = random.choice(DOCUMENTS, max(1, int(DOCUMENTS * percent / 100)), replace=False)
    documents = None if percent == 100 else chosen
    selection = None if documents is None else DocumentSet(frozenset(f"d{number}" for number in documents))
    view = collection.view if has_graph else replace(collection.view, graph=None)
    counts = Counts(monkeypatch)
    hits = total = 0
    for query in questions():
        wanted = collection.nearest(query, 10, documents)
        hits += len(wanted & found(view, query, selection))
        total += len(wanted)
    if not has_graph:
        assert hits == total
    assert hits / total >= 0.99
    if percent == 100:
        assert counts.answered == (counts.graph if has_graph else 0)


def test_hundred_that_a_hybrid_search_asks_for_are_answered_by_the_graph(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = Counts(monkeypatch)
    best = everything = 0
    for query in questions():
        answer = found(collection.view, query, None, limit=100)
        best += len(collection.nearest(query, 10, None) & answer)
        everything += len(collection.nearest(query, 100, None) & answer)
    assert counts.answered > 0.8 * counts.graph
    assert best / (10 * counts.graph) >= 0.99
    assert everything / (100 * counts.graph) >= 0.98


def test_filter_that_holds_none_of_the_nearest_is_answered_by_a_scan(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine tenths of the rows pass it, and yet none that the graph comes upon."""
    counts = Counts(monkeypatch)
    for query in questions()[:10]:
        near = {f"d{row // CHUNKS}" for row in collection.nearest(query, ROWS // 10, None)}
        far = np.asarray([number for number in range(DOCUMENTS) if f"d{number}" not in near])
        selection = AllOf((Outside(DocumentSet(frozenset(near))),))
        assert found(collection.view, query, selection) == collection.nearest(query, 10, far)
    assert counts.graph == 10
    assert counts.answered == 0


def test_rows_behind_the_graph_and_dead_rows_in_it_count_as_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Collection(clustered(8000, seed=4))
    graph = Graph(DIMENSIONS)
    graph.extend(made.view.parts)
    made.matrix.graph = graph
    later = Collection(clustered(1000, seed=5))
    added = [replace(later.generation(number), generation_id=f"n{number}") for number in range(50)]
    made.matrix.add([replace(item, document_id=f"d{400 + number}") for number, item in enumerate(added)])
    gone = [f"g{number}" for number in range(0, 400, 3)]
    view = made.matrix.publish(gone)
    made.rows = np.concatenate([made.rows, later.rows])
    alive = np.asarray([number for number in range(450) if f"g{number}" not in gone or number >= 400])
    counts = Counts(monkeypatch)
    hits = sum(len(made.nearest(query, 10, alive) & found(view, query, None)) for query in questions())
    assert hits >= 0.99 * 10 * QUESTIONS
    assert counts.answered == QUESTIONS
    assert view.graph is graph


def test_searches_while_rows_are_added_find_only_rows_that_are_in(collection: Collection) -> None:
    graph = Graph(DIMENSIONS)
    parts = collection.view.parts[:1]
    few = [replace(part, rows=min(part.rows, 4000)) for part in parts]
    graph.extend([replace(part, rows=500) for part in few])
    failures: list[str] = []
    is_over = threading.Event()

    def search(seed: int) -> None:
        for asked, query in enumerate(np.random.default_rng(seed).permutation(questions())):
            rows = graph.candidates(question_of(query), 64)
            if len(rows) != 64 or len(set(rows.tolist())) != 64 or rows.max() >= 4000:
                failures.append(str(rows))
            if is_over.is_set() and asked > 20:
                return

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    graph.extend(few)
    is_over.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert graph.rows == 4000


def test_graph_that_has_lost_its_way_is_not_believed(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers with the rows that are farthest, as one does that does not get out of a wrong cluster."""
    assert collection.view.graph is not None
    counts = Counts(monkeypatch)
    for query in questions()[:10]:
        far = np.argsort(collection.rows @ query)[:256]
        monkeypatch.setattr(collection.view.graph, "candidates", lambda *_, far=far: far)
        assert found(collection.view, query, None) == collection.nearest(query, 10, None)
    assert counts.graph == 10
    assert counts.answered == 0


def test_sample_has_every_32nd_row_however_the_rows_came(collection: Collection) -> None:
    graph = Graph(DIMENSIONS)
    part = collection.view.parts[0]
    for rows in (1, 31, 32, 33, 500, 1000):
        graph.extend([replace(part, rows=rows)])
        expected = list(range(0, rows, 32))
        query = questions()[0]
        assert graph.sampled(question_of(query), -2.0).tolist() == expected
        assert graph.rows == rows
        assert sorted(graph.candidates(question_of(query), 2000).tolist()) == list(range(rows))
    pieces = [replace(part, rows=700), replace(part, start=700, rows=400)]
    graph = Graph(DIMENSIONS)
    graph.extend(pieces)
    assert graph.sampled(question_of(questions()[0]), -2.0).tolist() == list(range(0, 1100, 32))
    assert sorted(graph.candidates(question_of(questions()[0]), 2000).tolist()) == list(range(1100))


def test_graph_that_is_cancelled_stops_growing(collection: Collection) -> None:
    graph = Graph(DIMENSIONS)
    graph.cancel()
    graph.extend(collection.view.parts)
    assert graph.rows == 0


def test_pages_of_a_search_fit_together(collection: Collection) -> None:
    query = questions()[0]
    long = collection.view.nearest(query, limit=12, selection=None)
    for limit in (1, 5, 10):
        assert collection.view.nearest(query, limit=limit, selection=None) == long[:limit]


def test_zeros_do_not_disturb_the_graph() -> None:
    made = Collection(np.concatenate([np.zeros((CHUNKS, DIMENSIONS), np.float32), clustered(2000, seed=6)]) + 0)
    assert np.isnan(made.rows[0]).all()
    graph = Graph(DIMENSIONS)
    graph.extend(made.view.parts)
    view = replace(made.view, graph=graph)
    made.rows = np.nan_to_num(made.rows)
    for query in questions()[:5]:
        assert len(found(view, query, None) & made.nearest(query, 10, None)) >= 9
