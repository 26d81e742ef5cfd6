"""A knowledge base whose vectors are mapped from disk: recall, latency, memory, and a restart; without MongoDB.

    python -m benchmarks.vectors_on_disk [--short] [--chunks 1000000] [--dimensions 384] [--queries 100]
                                         [--directory DIRECTORY]

The vectors are made block by block, added as a load from the database adds them, and compared with the questions for
the expected answers; so the process never holds all of them. To bound its memory with the page cache, run it in a
control group (`systemd-run --scope -p MemoryMax=2G`, or a container with `--memory 2g`). `directory` needs 2.1 KB a
chunk of 384 dimensions. Each filter is asked twice: the first round finds few of its rows in the page cache.
"""

import argparse
import gc
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from analytiq import clock
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.retrieval.filters.selection import DocumentSet
from analytiq.storage.ids import new_id
from benchmarks import report
from benchmarks.vector_collections import CHUNKS_PER_DOCUMENT, Collection, made_up

BLOCK_ROWS = 50_000
SEED = 20_261_130
SHARES = (1.0, 0.1, 0.01)
LIMITS = (10, 100)
MAPPED_FROM_BYTES = 64 * 1024**2
DISK_BYTES = 1024**4


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions float32 (questions, dimensions), each document's rank in [0, 1), and the expected answers."""

    questions: NDArray[np.float32]
    ranks: NDArray[np.float64]
    best: dict[float, list[tuple[NDArray[np.float32], NDArray[np.int64]]]]
    """Share → for each question, the cosines and rows of its nearest so far."""

    def note(self, start: int, vectors: NDArray[np.float32]) -> None:
        """Compare a block of rows with the questions."""
        scores = vectors @ self.questions.T
        ranks = np.repeat(self.ranks[start // CHUNKS_PER_DOCUMENT :][: len(vectors) // CHUNKS_PER_DOCUMENT], 50)
        for share, best in self.best.items():
            rows = np.flatnonzero(ranks < share)
            for number, (cosines, numbers) in enumerate(best):
                both = np.concatenate([cosines, scores[rows, number]])
                places = np.concatenate([numbers, start + rows])
                kept = np.argsort(-both, kind="stable")[: max(LIMITS)]
                best[number] = (both[kept], places[kept])

    def documents_in(self, share: float) -> DocumentSet | None:
        """Return the documents that pass the filter; None for all."""
        if share == 1.0:
            return None
        return DocumentSet(frozenset(_document_id(number) for number in np.flatnonzero(self.ranks < share).tolist()))


def _document_id(number: int) -> str:
    return f"{number:024x}"


def blocks(rows: int, dimensions: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the same blocks at every run, each with the number of its first row: documents around common topics."""
    for start in range(0, rows, BLOCK_ROWS):
        yield start, _block(start, rows, dimensions, questions=1).vectors


def _block(start: int, rows: int, dimensions: int, *, questions: int) -> Collection:
    count = min(BLOCK_ROWS, rows - start)
    return made_up(count, dimensions, questions=questions, seed=SEED + start, topics_seed=SEED)


def asked_of(rows: int, dimensions: int, count: int) -> Asked:
    """Make questions near rows of blocks from all over the collection."""
    random = np.random.default_rng(SEED)
    starts = random.choice(np.arange(0, rows, BLOCK_ROWS), min(10, -(-rows // BLOCK_ROWS)), replace=False)
    each = -(-count // len(starts))
    parts = [_block(start, rows, dimensions, questions=each) for start in starts.tolist()]
    questions = np.concatenate([part.questions for part in parts])[:count]
    documents = rows // CHUNKS_PER_DOCUMENT
    nothing = (np.zeros(0, np.float32), np.zeros(0, np.int64))
    return Asked(
        questions, random.permutation(documents) / documents, {share: [nothing] * len(questions) for share in SHARES}
    )


def generations(start: int, vectors: NDArray[np.float32]) -> list[GenerationVectors]:
    """Return the documents of a block."""
    places = np.arange(CHUNKS_PER_DOCUMENT, dtype=np.int32)
    first = start // CHUNKS_PER_DOCUMENT
    return [
        GenerationVectors(f"{first + number:024x}", _document_id(first + number), places, places, places, part)
        for number, part in enumerate(vectors.reshape(-1, CHUNKS_PER_DOCUMENT, vectors.shape[1]))
    ]


def memory() -> dict[str, float]:
    """Return the process's memory in MB: what is its own, and what it has mapped of files in the page cache."""
    values: dict[str, float] = {}
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        name, value, *_ = line.replace(":", " ").split()
        values[name] = int(value) / 1024
    return {"own": values["Anonymous"], "mapped files": values["Rss"] - values["Anonymous"]}


def measure(view: View, asked: Asked) -> list[list[str]]:
    """Measure a row for each filter, number of results and round."""
    rows: list[list[str]] = []
    for share in SHARES:
        begin = perf_counter()
        selection = asked.documents_in(share)
        selected = view.selected_rows(selection)
        resolving = (perf_counter() - begin) * 1000
        for limit in LIMITS:
            for attempt in ("first", "second"):
                spent: list[float] = []
                processor: list[float] = []
                hits = total = 0
                for number, question in enumerate(asked.questions):
                    begin, begin_processor = perf_counter(), process_time()
                    found = view.nearest(question, limit=limit, selection=selection)
                    processor.append((process_time() - begin_processor) * 1000)
                    spent.append((perf_counter() - begin) * 1000)
                    expected = set(asked.best[share][number][1][:limit].tolist())
                    numbers = {int(row.document_id, 16) * CHUNKS_PER_DOCUMENT + row.chunk_index for row in found}
                    hits += len(numbers & expected)
                    total += len(expected)
                rows.append(
                    [
                        f"{view.rows if selected is None else len(selected):,}",
                        str(limit),
                        attempt,
                        f"{hits / total:.4f}",
                        f"{report.median(spent):.1f}",
                        f"{report.percentile(spent, 0.99):.1f}",
                        f"{report.median(processor):.1f}",
                        f"{resolving:.0f}",
                    ]
                )
    return rows


def _knowledge_base(dimensions: int) -> KnowledgeBase:
    now = clock.now()
    return KnowledgeBase(
        id=new_id(),
        organization_id=new_id(),
        name="Benchmark",
        description="",
        tag_ids=(),
        chunker_type="token",
        chunk_size=256,
        chunk_overlap=0,
        embedding_model="",
        embedding_dimensions=dimensions,
        coalesce_neighbors=0,
        status=KnowledgeBaseStatus.ACTIVE,
        vectors_uuid="",
        created_at=now,
        updated_at=now,
    )


def run(options: argparse.Namespace, root: Path) -> None:
    """Build, ask, change and restart."""
    report.print_heading(f"{options.chunks:,} chunks of {options.dimensions} dimensions mapped from disk")
    knowledge_base = _knowledge_base(options.dimensions)
    snapshots = Snapshots(root, max_bytes=DISK_BYTES, mapped_from_bytes=MAPPED_FROM_BYTES)
    asked = asked_of(options.chunks, options.dimensions, options.queries)
    matrix = VectorMatrix(options.dimensions, files=snapshots.files)
    matrix.expect(options.chunks)
    adding = 0.0
    for start, vectors in blocks(options.chunks, options.dimensions):
        asked.note(start, vectors)
        parts = generations(start, vectors)
        begin = perf_counter()
        matrix.add(parts)
        adding += perf_counter() - begin
    view = matrix.publish()
    gc.collect()
    held = memory()
    columns = ("rows", "results", "round", "recall", "p50, ms", "p99, ms", "CPU, ms", "filter to rows, ms")
    report.print_table(columns, measure(view, asked))
    after = memory()

    begin = perf_counter()
    place = np.zeros(1, np.int32)
    matrix.add([GenerationVectors("new", "f" * 24, place, place, place, asked.questions[:1])])
    view = matrix.publish()
    committed = (perf_counter() - begin) * 1000
    assert view.nearest(asked.questions[0], limit=1, selection=None)[0].generation_id == "new"

    begin = perf_counter()
    snapshots.write(knowledge_base, matrix.numbering, view, Epoch(kb_id=knowledge_base.id, epoch=1, commit_id=new_id()))
    saving = perf_counter() - begin
    counted = matrix.byte_size
    del matrix, view
    gc.collect()
    begin = perf_counter()
    assert snapshots.read(knowledge_base) is not None
    reading = perf_counter() - begin
    print()
    own, mapped = "own MB, loaded", "own MB, searched"
    columns = ("adding, s", own, mapped, "mapped MB", "counted MB", "commit, ms", "save, s", "restart, s")
    sizes = [f"{value:,.0f}" for value in (held["own"], after["own"], after["mapped files"], counted / 1024**2)]
    report.print_table(columns, [[f"{adding:.0f}", *sizes, f"{committed:.1f}", f"{saving:.2f}", f"{reading:.1f}"]])


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("Vectors mapped from disk.", repeats=1)
    parser.add_argument("--chunks", type=int, default=1_000_000, help="a multiple of 50")
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--directory", type=Path, help="where the files lie; default: a temporary directory")
    options = parser.parse_args(argv)
    if options.short:
        options.chunks, options.queries = 100_000, 20
    with tempfile.TemporaryDirectory(prefix="analytiq-disk-", dir=options.directory) as directory:
        run(options, Path(directory))


if __name__ == "__main__":
    main()
