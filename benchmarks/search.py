"""Search latency by size of the knowledge base, unfiltered and filtered, compared with a plain matrix product.

    python -m benchmarks.search [--short] [--chunks 1000 10000 50000] [--queries N] [--dimensions D]

`product` is numpy's `matrix @ query` and the ten largest, in memory: no exact search can be faster.
`store` is the local vector index alone. `search` is the library's whole call: knowledge base, filter, cached query
embedding, epoch, store, check against the documents, passages. Its query vectors are in the cache.
"""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.selection import ChunkFilter, DocumentSet
from analytiq.retrieval.filters.tree import BuiltInField, Filter, In
from analytiq.retrieval.pipeline.request import SearchRequest
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.index_contents import IndexContentRepository
from benchmarks import report
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.platform_under_test import Platform, Server, platform, running_server
from benchmarks.swapping import Swapping, random_vectors

CHUNKS_PER_DOCUMENT = 50
TOP_K = 10
STORE_BYTES = 4 * 1024**3
SHARES = {"all": 100, "10 %": 10, "1 %": 1}
"""Name of a filter → percentage of the documents that pass it."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """An indexed knowledge base with its vectors in memory, and the documents of each filter."""

    target: Platform
    knowledge_base: KnowledgeBase
    matrix: NDArray[np.float32]
    members: dict[str, list[str]]
    rows: dict[str, NDArray[np.int64]]


async def build(target: Platform, chunks: int, dimensions: int) -> Corpus:
    """Index generated documents of 50 chunks each; number n of them is in percentile n % 100."""
    knowledge_base = await target.create_knowledge_base(model=MODEL)
    swapping = Swapping(target, knowledge_base)
    matrix = random_vectors(chunks, dimensions, seed=3)
    count = max(1, chunks // CHUNKS_PER_DOCUMENT)
    members: dict[str, list[str]] = {name: [] for name in SHARES}
    rows: dict[str, list[int]] = {name: [] for name in SHARES}
    for number in range(count):
        first = number * CHUNKS_PER_DOCUMENT
        part = matrix[first : first + CHUNKS_PER_DOCUMENT]
        percentile = number * 100 // count
        document = await swapping.index(f"document {number}", {"percentile": percentile}, part)
        for name, percent in SHARES.items():
            if percentile < percent:
                members[name].append(document.id)
                rows[name].extend(range(first, first + len(part)))
    return Corpus(target, knowledge_base, matrix, members, {name: np.asarray(found) for name, found in rows.items()})


async def measure_load(corpus: Corpus) -> float:
    """Measure the seconds to load a searchable replica."""
    epoch = await EpochRepository(corpus.target.services.connection).read(corpus.knowledge_base.id)
    assert epoch is not None
    store = _store(corpus)
    begin = perf_counter()
    found = await store.count(corpus.knowledge_base, epoch, chunk_filter=None)
    seconds = perf_counter() - begin
    if found != len(corpus.matrix):
        raise SystemExit(f"the store has {found} of {len(corpus.matrix)} chunks; what it measures is worth nothing")
    return seconds


def _store(corpus: Corpus) -> LocalVectorStore:
    contents = IndexContentRepository(corpus.target.services.connection)
    return LocalVectorStore(contents, memory_bytes=STORE_BYTES, load_wait_seconds=600.0)


def measure_product(corpus: Corpus, name: str, queries: Sequence[NDArray[np.float32]]) -> list[float]:
    """Measure the milliseconds of the bare product; a filter's rows are gathered beforehand."""
    matrix = corpus.matrix if name == "all" else np.ascontiguousarray(corpus.matrix[corpus.rows[name]])

    def nearest(query: NDArray[np.float32]) -> None:
        scores = matrix @ query
        count = min(TOP_K, len(scores))
        best = np.argpartition(-scores, count - 1)[:count]
        best[np.argsort(-scores[best])]

    return [_milliseconds(lambda query=query: nearest(query)) for query in queries]


def _milliseconds(work: Callable[[], None]) -> float:
    begin = perf_counter()
    work()
    return (perf_counter() - begin) * 1000


async def measure_store(corpus: Corpus, name: str, queries: Sequence[NDArray[np.float32]]) -> list[float]:
    """Measure the milliseconds of the local vector index."""
    epoch = await EpochRepository(corpus.target.services.connection).read(corpus.knowledge_base.id)
    assert epoch is not None
    store = _store(corpus)
    members = DocumentSet(frozenset(corpus.members[name]))
    wanted = None if name == "all" else ChunkFilter(In(BuiltInField.DOCUMENT_ID, tuple(corpus.members[name])), members)
    await store.count(corpus.knowledge_base, epoch, chunk_filter=None)
    spent: list[float] = []
    for query in queries:
        begin = perf_counter()
        await store.search(corpus.knowledge_base, epoch, query, limit=TOP_K, chunk_filter=wanted)
        spent.append((perf_counter() - begin) * 1000)
    return spent


async def measure_search(corpus: Corpus, name: str, questions: Sequence[str]) -> list[float]:
    """Measure the milliseconds of the library's call."""
    target = corpus.target
    wanted: Filter = parse_filter({} if name == "all" else {"percentile": {"$lt": SHARES[name]}})
    spent: list[float] = []
    for measured in (False, True):  # the first round fills the query cache
        for question in questions:
            request = SearchRequest(question, top_k=TOP_K, filter=wanted, deduplicate=False)
            begin = perf_counter()
            answer = await target.services.retrieval.search.search(
                target.organization, corpus.knowledge_base.id, request
            )
            if measured:
                spent.append((perf_counter() - begin) * 1000)
            if len(answer.results) != min(TOP_K, len(corpus.rows[name])):
                raise SystemExit(f"{len(answer.results)} results of {TOP_K}; what it measures is worth nothing")
    return spent


async def measure_size(server: Server, chunks: int, dimensions: int, query_count: int) -> list[list[str]]:
    """Measure the rows of one size."""
    embedder = HashEmbedder(dimensions)
    questions = [f"What is known about subject {number}?" for number in range(query_count)]
    queries = list(embedder.embed_now(questions))
    rows: list[list[str]] = []
    with every_model_is(embedder):
        async with platform(server, "search", local_store_bytes=STORE_BYTES) as target:
            corpus = await build(target, chunks, dimensions)
            load = report.median([await measure_load(corpus) for _ in range(3)])
            for name in SHARES:
                product = measure_product(corpus, name, queries)
                store = await measure_store(corpus, name, queries)
                search = await measure_search(corpus, name, questions)
                ratio = report.median(search) / report.median(product)
                cells = [_cell(values) for values in (product, store, search)]
                rows.append([f"{chunks:,}", name, *cells, f"{ratio:.1f}x", f"{load:.2f}" if name == "all" else ""])
    return rows


def _cell(values: Sequence[float]) -> str:
    return f"{report.median(values):.2f} / {report.percentile(values, 0.95):.2f}"


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server:
        async with platform(server, "version") as target:
            version = target.services.connection.server_version
        title = f"Search, {options.dimensions} dimensions, p50 / p95 in milliseconds, n = {options.queries} queries"
        report.print_heading(title, mongod=version)
        rows: list[list[str]] = []
        for chunks in options.chunks:
            rows += await measure_size(server, chunks, options.dimensions, options.queries)
        header = ("chunks", "filter", "product", "store", "search", "search to product", "load in s (n = 3)")
        report.print_table(header, rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("Search latency beside a plain product.", repeats=1)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1000, 10_000, 50_000])
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args(argv)
    if options.short:
        options.chunks, options.queries = [1000, 5000], 50
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
