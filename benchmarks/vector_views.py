"""The local vector index's search alone, without MongoDB, event loop and threads: the basis of its thresholds.

    python -m benchmarks.vector_views [--short] [--chunks 10000 100000] [--queries 100] [--graph]

Processor milliseconds a question, which other load disturbs least. `numpy`: the product of matrix and question and
the ten largest; a filter's rows are known and copied out. `same filter`: its rows are known from the previous
question, as within one search; `new filter`: they are found first. `--graph` builds the HNSW graph and asks it for the
hundred rows that a hybrid search requests of each retriever.
"""

import argparse
from collections.abc import Callable, Sequence
from time import process_time

import numpy as np
from numpy.typing import NDArray

from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors.graph import Graph
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.quantization import question_of
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.retrieval.filters.selection import DocumentSet
from benchmarks import report
from benchmarks.vector_collections import CHUNKS_PER_DOCUMENT, SHARES, TOP_K, Collection, made_up

DOCUMENTS_AT_ONCE = 500
HYBRID_DEPTH = 100
CANDIDATES = (256, 512, 1024, 2048)


def view_of(collection: Collection) -> View:
    """Return the collection as a knowledge base that has just been loaded; document number n is n in hexadecimal."""
    rows, dimensions = collection.vectors.shape
    matrix = VectorMatrix(dimensions)
    matrix.expect(rows)
    places = np.arange(CHUNKS_PER_DOCUMENT, dtype=np.int32)
    for first in range(0, rows // CHUNKS_PER_DOCUMENT, DOCUMENTS_AT_ONCE):
        numbers = range(first, min(first + DOCUMENTS_AT_ONCE, rows // CHUNKS_PER_DOCUMENT))
        parts = [collection.vectors[number * CHUNKS_PER_DOCUMENT :][:CHUNKS_PER_DOCUMENT] for number in numbers]
        matrix.add(
            [
                GenerationVectors(f"g{number}", f"{number:024x}", places, places + 1, places + 1, part)
                for number, part in zip(numbers, parts, strict=True)
            ]
        )
    return matrix.publish()


def spent(work: Callable[[NDArray[np.float32]], object], questions: Sequence[NDArray[np.float32]]) -> float:
    """Return the median of the processor milliseconds."""
    found: list[float] = []
    for question in questions:
        begin = process_time()
        work(question)
        found.append((process_time() - begin) * 1000)
    return report.median(found)


def measure_filters(view: View, collection: Collection) -> list[list[str]]:
    """Measure a row for each filter."""
    rows: list[list[str]] = []
    questions = list(collection.questions)
    for name in SHARES:
        ids = frozenset(f"{int(number):024x}" for number in collection.documents_in(name))
        numbers = collection.rows_in(name)
        same = None if name == "all" else DocumentSet(ids)

        def plain(question: NDArray[np.float32], numbers: NDArray[np.int64] = numbers, name: str = name) -> None:
            gathered = collection.vectors if name == "all" else np.take(collection.vectors, numbers, axis=0)
            scores = gathered @ question
            count = min(TOP_K, len(scores))
            np.argpartition(-scores, count - 1)[:count]

        def asked(question: NDArray[np.float32], same: DocumentSet | None = same) -> None:
            view.nearest(question, limit=TOP_K, selection=same)

        def asked_anew(question: NDArray[np.float32], ids: frozenset[str] = ids, name: str = name) -> None:
            view.nearest(question, limit=TOP_K, selection=None if name == "all" else DocumentSet(ids))

        numpy_ms, same_ms, new_ms = (spent(work, questions) for work in (plain, asked, asked_anew))
        rows.append(
            [f"{view.rows:,}", name, f"{numpy_ms:.3f}", f"{same_ms:.3f}", f"{new_ms:.3f}", f"{same_ms / numpy_ms:.2f}"]
        )
    return rows


def measure_graph(view: View, collection: Collection) -> list[list[str]]:
    """Measure the scan for a hundred rows, then the graph with more and more candidates."""
    questions = list(collection.questions)
    wanted = [
        [int(row.document_id, 16) * CHUNKS_PER_DOCUMENT + row.chunk_index for row in found]
        for found in (view.nearest(question, limit=HYBRID_DEPTH, selection=None) for question in questions)
    ]
    scan_ms = spent(lambda question: view.nearest(question, limit=HYBRID_DEPTH, selection=None), questions)
    rows = [[f"{view.rows:,}", "scan", f"{scan_ms:.2f}", "1.000", "1.000"]]
    graph = Graph(view.dimensions)
    graph.extend(view.parts)
    for count in CANDIDATES:

        def best(question: NDArray[np.float32], count: int = count) -> list[int]:
            asked = question_of(question)
            candidates = np.sort(graph.candidates(asked, count))
            scores = view.score(asked, candidates)
            return candidates[np.argsort(-scores, kind="stable")[:HYBRID_DEPTH]].tolist()

        found = [best(question) for question in questions]
        shares = [
            sum(len(set(one) & set(other[:depth])) for one, other in zip(found, wanted, strict=True))
            / (depth * len(questions))
            for depth in (TOP_K, HYBRID_DEPTH)
        ]
        rows.append(
            [
                f"{view.rows:,}",
                f"graph, {count}",
                f"{spent(best, questions):.2f}",
                *(f"{share:.3f}" for share in shares),
            ]
        )
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options, measure and print."""
    parser = report.arguments("The local vector store's reading alone.", repeats=1)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--graph", action="store_true", help="build the graph: a minute for 500,000 rows, or ten")
    options: argparse.Namespace = parser.parse_args(argv)
    if options.short:
        options.chunks, options.queries = [10_000], 50
    report.print_heading(f"Reading vectors, 384 dimensions, {options.queries} questions, processor milliseconds")
    filters: list[list[str]] = []
    graphs: list[list[str]] = []
    for chunks in options.chunks:
        collection = made_up(chunks, 384, questions=options.queries)
        view = view_of(collection)
        filters += measure_filters(view, collection)
        graphs += measure_graph(view, collection) if options.graph else []
    report.print_table(("chunks", "filter", "numpy", "same filter", "new filter", "same to numpy"), filters)
    if graphs:
        print()
        report.print_table(("chunks", "100 by", "ms", "recall of the best 10", "recall of 100"), graphs)


if __name__ == "__main__":
    main()
