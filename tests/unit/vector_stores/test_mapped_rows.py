"""Rows that are mapped from disk: found as those in memory are, whatever is added, removed, taken back or rewritten."""

import gc
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors import matrix as matrix_module
from analytiq.retrieval.backends.local.vectors import segments
from analytiq.retrieval.backends.local.vectors import view as view_module
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.segment_file import SegmentFiles
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.retrieval.filters.selection import DocumentSet, Outside, Selection
from tests.examples import examples

DIMENSIONS = 128
DOCUMENT_ROWS = 25
ROWS = 20_000


def generation(number: int, vectors: NDArray[np.float32]) -> GenerationVectors:
    places = np.arange(len(vectors), dtype=np.int32)
    return GenerationVectors(f"g{number}", f"d{number}", places, places + 1, places + 2, vectors)


def clustered(count: int, seed: int) -> NDArray[np.float32]:
    """Documents around themes, away from the origin, as a model of embeddings puts them."""
    random = np.random.default_rng(seed)
    spectrum = (1 / np.sqrt(1 + np.arange(DIMENSIONS) / 4)).astype(np.float32)
    themes = np.random.default_rng(0).standard_normal((80, DIMENSIONS)).astype(np.float32) * spectrum + 0.5
    documents = themes[random.integers(80, size=count // DOCUMENT_ROWS)]
    documents += 0.6 * random.standard_normal(documents.shape).astype(np.float32) * spectrum
    rows = np.repeat(documents, DOCUMENT_ROWS, axis=0)
    rows += 0.6 * random.standard_normal(rows.shape).astype(np.float32) * spectrum
    return rows.astype(np.float32)


def filled(files: SegmentFiles | None, rows: NDArray[np.float32]) -> tuple[VectorMatrix, View]:
    matrix = VectorMatrix(DIMENSIONS, files=files)
    matrix.expect(len(rows))
    matrix.add(
        [generation(number, rows[number * DOCUMENT_ROWS :][:DOCUMENT_ROWS]) for number in range(len(rows) // 25)]
    )
    return matrix, matrix.publish()


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 1500 * 4 * DIMENSIONS)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[View, View]:
    """The same rows mapped from disk and in memory."""
    rows = clustered(ROWS, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SEGMENT_BYTES", 1500 * 4 * DIMENSIONS)
        files = SegmentFiles(tmp_path_factory.mktemp("rows"), max_bytes=2**30, from_bytes=1000)
        return filled(files, rows)[1], filled(None, rows)[1]


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01])
def test_recall_under_filters(both: tuple[View, View], monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    # So few that they are a small share of the rows, as they are of five million.
    monkeypatch.setattr(view_module, "SKETCHED_ROWS", 500)
    monkeypatch.setattr(view_module, "READ_ROWS", 64)
    view, plain = both
    assert sum(part.segment.is_on_disk for part in view.parts) >= len(view.parts) - 1 > 10
    selection: Selection | None = None
    if share < 1:
        documents = np.random.default_rng(5).permutation(ROWS // DOCUMENT_ROWS)[: int(share * ROWS / DOCUMENT_ROWS)]
        selection = DocumentSet(frozenset(f"d{number}" for number in documents.tolist()))
    hits = 0
    queries = clustered(1000, seed=2)[::25]
    for query in queries:
        found = view.nearest(query, limit=10, selection=selection)
        assert [row.cosine for row in found] == sorted((row.cosine for row in found), reverse=True)
        hits += len(set(found) & set(plain.nearest(query, limit=10, selection=selection)))
    assert hits / len(queries) / 10 >= 0.97


steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
        st.tuples(st.just("take out"), st.lists(st.integers(0, 9), max_size=3)),
        st.tuples(st.just("take back"), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
        st.tuples(st.just("rewrite"), st.lists(st.integers(0, 9), max_size=3)),
    ),
    max_size=14,
)


@examples(40)
@given(steps=steps, from_bytes=st.sampled_from([0, 2000, 10_000]), max_bytes=st.sampled_from([3000, 2**30]))
def test_any_history_is_found_as_in_memory(steps: list[tuple[str, list[int]]], from_bytes: int, max_bytes: int) -> None:
    """The expected answer is that of a matrix in memory, which its own tests compare with a plain scan."""
    random = np.random.default_rng(len(steps))
    names = iter(range(10_000))
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix_module, "SMALLEST_ROWS", 8)
        patch.setattr(segments, "SMALLEST_ROWS", 8)
        patch.setattr(segments, "SEGMENT_BYTES", 0)
        files = SegmentFiles(Path(directory), max_bytes=max_bytes, from_bytes=from_bytes)
        mapped, plain = VectorMatrix(8, files=files), VectorMatrix(8)
        current: dict[int, str] = {}
        views: list[tuple[View, View]] = []

        def change(documents: list[int]) -> list[str]:
            """Add generations of documents to both; return those that they replace."""
            fresh = {document: f"g{next(names)}" for document in documents}
            for document, name in fresh.items():
                vectors = random.standard_normal((int(random.integers(1, 20)), 8)).astype(np.float32)
                places = np.arange(len(vectors), dtype=np.int32)
                for one in (mapped, plain):
                    one.add([GenerationVectors(name, f"d{document}", places, places, places, vectors)])
            replaced = [current[document] for document in fresh if document in current]
            current.update(fresh)
            return replaced

        for kind, documents in steps:
            if kind == "take back":
                before = dict(current)
                change(documents)
                current = before
                mapped.discard()
                plain.discard()
            elif kind == "rewrite":
                copied = mapped.view()
                smaller = mapped.compacted(copied)
                assert smaller is not None
                gone = change(documents)
                mapped.publish(gone)
                smaller.catch_up(mapped, copied)
                plain.publish(gone)
                mapped = smaller
            else:
                gone = (
                    change(documents)
                    if kind == "put"
                    else [current.pop(document) for document in set(documents) & set(current)]
                )
                mapped.publish(gone)
                plain.publish(gone)
            views.append((mapped.view(), plain.view()))
        some = DocumentSet(frozenset(["d1", "d2", "d7"]))
        for view, expected in views:
            for selection in (None, some, Outside(some)):
                query = random.standard_normal(8).astype(np.float32)
                found = view.nearest(query, limit=1000, selection=selection)
                assert found == expected.nearest(query, limit=1000, selection=selection)
                chunks = [(row.generation_id, row.chunk_index) for row in found]
                assert view.cosines(query, chunks) == {
                    chunk: row.cosine for chunk, row in zip(chunks, found, strict=True)
                }


@pytest.mark.usefixtures("small_segments")
def test_memory_holds_a_small_part_and_files_go_with_their_last_view(tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path, max_bytes=2**30, from_bytes=10**6)
    matrix, view = filled(files, clustered(10_000, seed=1))
    plain = filled(None, clustered(10_000, seed=1))[0]
    assert matrix.byte_size < plain.byte_size / 3
    assert files.byte_size == sum(path.stat().st_size for path in tmp_path.glob("process-*/*.rows")) > 0
    matrix.publish([f"g{number}" for number in range(300)])
    smaller = matrix.compacted(matrix.view())
    assert smaller is not None
    query = clustered(25, seed=2)[0]
    before = view.nearest(query, limit=20, selection=None)
    del matrix, plain
    gc.collect()
    assert view.nearest(query, limit=20, selection=None) == before
    del view, smaller
    gc.collect()
    assert (files.byte_size, list(tmp_path.glob("process-*/*.rows"))) == (0, [])


@pytest.mark.usefixtures("small_segments")
def test_rows_stay_in_memory_without_room_on_disk(tmp_path: Path) -> None:
    rows = clustered(10_000, seed=1)
    files = SegmentFiles(tmp_path, max_bytes=2 * 1500 * (5 * DIMENSIONS + 100), from_bytes=1000)
    view = filled(files, rows)[1]
    assert sum(part.segment.is_on_disk for part in view.parts) in (1, 2)
    query = clustered(25, seed=2)[0]
    assert view.nearest(query, limit=9, selection=None) == filled(None, rows)[1].nearest(query, limit=9, selection=None)


def test_rewriting_stops_when_it_is_no_longer_wanted(tmp_path: Path) -> None:
    matrix, view = filled(SegmentFiles(tmp_path, max_bytes=2**30, from_bytes=1000), clustered(1000, seed=1))
    assert matrix.compacted(view, is_wanted=lambda: False) is None


def test_files_of_a_process_that_was_killed_are_removed_and_those_of_a_running_one_are_not(tmp_path: Path) -> None:
    code = (
        "import os, sys, numpy as np; from pathlib import Path;"
        "from analytiq.retrieval.backends.local.vectors.segment_file import SegmentFiles;"
        f"file = SegmentFiles(Path({str(tmp_path)!r}), max_bytes=2**20, from_bytes=0).put([np.zeros(99)]);"
        "print('written', flush=True); sys.stdin.read(); os._exit(9)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"written\n"
        (theirs,) = tmp_path.glob("process-*")
        own = SegmentFiles(tmp_path, max_bytes=2**20, from_bytes=0)
        file = own.put([np.zeros(9)])
        assert theirs.exists()
        other.stdin.close()
        other.wait()
    later = SegmentFiles(tmp_path, max_bytes=2**20, from_bytes=0)
    later.remove_ended()
    assert not theirs.exists()
    kept = later.put([np.ones(9)])
    assert file is not None
    assert kept is not None
    assert len(list(tmp_path.glob("process-*"))) == 2
    for files in (own, later):
        files.close()
    assert list(tmp_path.glob("process-*")) == []
    assert np.frombuffer(kept.content, np.float64).tolist() == [1.0] * 9
