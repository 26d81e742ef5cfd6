"""The local vector index compared with libraries: latency, throughput, recall, memory, loading.

    python -m benchmarks.vectors [--short] [--chunks 10000 100000 500000] [--dimensions 384] [--queries 200]
                                 [--peers .venv-benchmarks/bin/python] [--peer-chunks 10000 100000]

`numpy` is the product of matrix and question and the ten largest, in memory; a filter's rows are known beforehand and
copied out. `store` is the whole call of the local store at a known epoch. Both are asked alternately in one process, so
that other load affects both; the ratio is that of processor time, which other load disturbs less.
Throughput: eight concurrent callers. `make bench-peers` makes the environment of the other libraries and stores, which
run in processes of their own.
"""

import argparse
import asyncio
import json
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from analytiq import clock
from analytiq.models.index_entry import IndexEntry
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.vector import VectorOwner
from analytiq.retrieval.backends.local.vectors import replica
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.retrieval.filters.selection import ChunkFilter, DocumentSet
from analytiq.retrieval.filters.tree import BuiltInField, In
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.index_contents import IndexContentRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from benchmarks import report
from benchmarks.platform_under_test import Server, platform, running_server
from benchmarks.swapping import rows_of
from benchmarks.vector_collections import CHUNKS_PER_DOCUMENT, SHARES, TOP_K, Collection, made_up, recall
from benchmarks.vector_peers import PEERS

MEMORY_BYTES = 16 * 1024**3
COMMIT_DOCUMENTS = 200
CALLERS = 8
_PEER_ROWS_AT_MOST = {"qdrant local": 10_000, "chroma": 100_000}
"""Above this number, one run takes more than ten minutes here."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A knowledge base in MongoDB with the collection's vectors alone."""

    connection: MongoConnection
    knowledge_base: KnowledgeBase
    document_ids: list[str]

    async def epoch(self) -> Epoch:
        """Return the present epoch."""
        epoch = await EpochRepository(self.connection).read(self.knowledge_base.id)
        assert epoch is not None
        return epoch

    def filter_of(self, collection: Collection, name: str) -> ChunkFilter | None:
        """Return the filter as search would resolve it."""
        if name == "all":
            return None
        ids = [self.document_ids[int(number)] for number in collection.documents_in(name)]
        return ChunkFilter(In(BuiltInField.DOCUMENT_ID, tuple(ids)), DocumentSet(frozenset(ids)))


async def write(connection: MongoConnection, collection: Collection) -> Stored:
    """Index the collection, many documents in a commit."""
    rows, dimensions = collection.vectors.shape
    vectors, entries = VectorRepository(connection), IndexEntryRepository(connection)
    epochs = EpochRepository(connection)
    now, kb_id = clock.now(), new_id()
    knowledge_base = KnowledgeBase(
        id=kb_id,
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
        vectors_uuid=await vectors.create_collection(kb_id),
        created_at=now,
        updated_at=now,
    )

    async def create(session: Session) -> None:
        await epochs.create(session, kb_id, new_id())

    await run_in_transaction(connection, create)
    document_ids = [new_id() for _ in range(rows // CHUNKS_PER_DOCUMENT)]
    for first in range(0, len(document_ids), COMMIT_DOCUMENTS):
        commit: list[IndexEntry] = []
        for number in range(first, min(first + COMMIT_DOCUMENTS, len(document_ids))):
            part = collection.vectors[number * CHUNKS_PER_DOCUMENT : (number + 1) * CHUNKS_PER_DOCUMENT]
            entry = _entry(knowledge_base, document_ids[number])
            owner = VectorOwner(
                organization_id=entry.organization_id,
                kb_id=kb_id,
                vectors_uuid=knowledge_base.vectors_uuid,
                document_id=entry.document_id,
                generation_id=entry.generation_id,
                metadata_snapshot={},
                indexed_at=now,
            )
            await vectors.stage(owner, rows_of(part))
            commit.append(entry)

        async def put(session: Session, commit: list[IndexEntry] = commit) -> None:
            for entry in commit:
                await entries.put(session, entry)
            last = commit[-1].generation_id
            await epochs.advance(session, kb_id, commit_id=new_id(), added=last, removed=None)

        await run_in_transaction(connection, put)
    return Stored(connection, knowledge_base, document_ids)


def _entry(knowledge_base: KnowledgeBase, document_id: str) -> IndexEntry:
    return IndexEntry(
        organization_id=knowledge_base.organization_id,
        kb_id=knowledge_base.id,
        document_id=document_id,
        generation_id=new_id(),
        text_hash="",
        configuration_hash="",
        chunk_count=CHUNKS_PER_DOCUMENT,
        indexed_at=clock.now(),
    )


@asynccontextmanager
async def loaded_store(stored: Stored, root: Path) -> AsyncGenerator[tuple[LocalVectorStore, float]]:
    """Yield a store that has just loaded the knowledge base, and the seconds taken; at the end it writes a snapshot."""
    store = LocalVectorStore(
        IndexContentRepository(stored.connection),
        memory_bytes=MEMORY_BYTES,
        load_wait_seconds=600.0,
        snapshots=Snapshots(root, max_bytes=MEMORY_BYTES),
    )
    epoch = await stored.epoch()
    begin = perf_counter()
    await store.count(stored.knowledge_base, epoch, chunk_filter=None)
    seconds = perf_counter() - begin
    try:
        yield store, seconds
        while writing := _upkeep_of(store, stored.knowledge_base.id, "snapshot"):
            await writing
    finally:
        await store.close()


async def until_graph_is_built(store: LocalVectorStore, kb_id: str) -> float:
    """Return the seconds until all graphs are built; 0 without a graph."""
    begin = perf_counter()
    while building := _upkeep_of(store, kb_id, "graph"):
        await building
    return perf_counter() - begin


def _upkeep_of(store: LocalVectorStore, kb_id: str, task: str) -> asyncio.Task[None] | None:
    """Return a running task of a replica: no answer tells when it is done."""
    loaded = store._replicas[kb_id]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return loaded._upkeep.get(task)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


@dataclass(slots=True)
class Timings:
    """Milliseconds of one filter, question by question, in wall and processor time; the rows found."""

    numpy: list[float]
    numpy_processor: list[float]
    store: list[float]
    store_processor: list[float]
    found: list[set[int]]


async def measure_filter(store: LocalVectorStore, stored: Stored, collection: Collection, name: str) -> Timings:
    """Ask numpy and the store alternately."""
    epoch, wanted, rows = await stored.epoch(), stored.filter_of(collection, name), collection.rows_in(name)
    number_of = {document_id: number for number, document_id in enumerate(stored.document_ids)}
    timings = Timings([], [], [], [], [])

    def plain(question: NDArray[np.float32]) -> None:
        gathered = collection.vectors if name == "all" else np.take(collection.vectors, rows, axis=0)
        scores = gathered @ question
        count = min(TOP_K, len(scores))
        best = np.argpartition(-scores, count - 1)[:count]
        best[np.argsort(-scores[best])]

    for question in collection.questions:
        begin, begin_processor = perf_counter(), process_time()
        plain(question)
        middle, middle_processor = perf_counter(), process_time()
        hits = await store.search(stored.knowledge_base, epoch, question, limit=TOP_K, chunk_filter=wanted)
        timings.store.append((perf_counter() - middle) * 1000)
        timings.store_processor.append((process_time() - middle_processor) * 1000)
        timings.numpy.append((middle - begin) * 1000)
        timings.numpy_processor.append((middle_processor - begin_processor) * 1000)
        timings.found.append({number_of[hit.document_id] * CHUNKS_PER_DOCUMENT + hit.chunk_index for hit in hits})
    return timings


async def throughput(store: LocalVectorStore, stored: Stored, collection: Collection, name: str) -> float:
    """Measure searches a second with CALLERS callers."""
    epoch, wanted = await stored.epoch(), stored.filter_of(collection, name)
    questions = iter([*collection.questions, *collection.questions])

    async def caller() -> None:
        for question in questions:
            await store.search(stored.knowledge_base, epoch, question, limit=TOP_K, chunk_filter=wanted)

    begin = perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return 2 * len(collection.questions) / (perf_counter() - begin)


async def measure_size(server: Server, collection: Collection, root: Path) -> tuple[list[list[str]], list[str]]:
    """Measure the latency rows of one size, and the row of its memory."""
    count = f"{len(collection.vectors):,}"
    rows: list[list[str]] = []
    async with platform(server, "vectors") as target:
        stored = await write(target.services.connection, collection)
        before = psutil.Process().memory_info().rss
        async with loaded_store(stored, root) as (store, load_seconds):
            graph_seconds = await until_graph_is_built(store, stored.knowledge_base.id)
            resident = psutil.Process().memory_info().rss - before
            for name in SHARES:
                timings = await measure_filter(store, stored, collection, name)
                found = recall(timings.found, collection.nearest(name))
                per_second = await throughput(store, stored, collection, name)
                processor = [report.median(spent) for spent in (timings.numpy_processor, timings.store_processor)]
                ratio = processor[1] / processor[0]
                cells = [_cell(timings.numpy), _cell(timings.store), *(f"{spent:.2f}" for spent in processor)]
                rows.append([count, name, *cells, f"{ratio:.2f}", f"{found:.4f}", f"{per_second:.0f}"])
            held = store.byte_size
        async with loaded_store(stored, root) as (store, resume_seconds):
            pass
    million = 1e6 / len(collection.vectors)
    sizes = [f"{size * million / 1e6:,.0f}" for size in (held, resident)]
    return rows, [count, f"{load_seconds:.2f}", f"{resume_seconds:.2f}", f"{graph_seconds:.1f}", *sizes]


def measure_peers(python: Path, collection: Collection, chosen: Sequence[str]) -> list[list[str]]:
    """Measure a row for each installed peer."""
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="analytiq-peers-") as directory:
        file = Path(directory) / "collection.npz"
        np.savez(file, vectors=collection.vectors, questions=collection.questions, ranks=collection.ranks)
        for name in chosen:
            if len(collection.vectors) > _PEER_ROWS_AT_MOST.get(name, 10**9):
                continue
            with tempfile.TemporaryDirectory(dir=directory) as own:
                answer = _ask_peer(python, name, file, Path(own))
            if answer is not None:
                rows.append([f"{len(collection.vectors):,}", name, *_peer_cells(answer, len(collection.vectors))])
    return rows


def _ask_peer(python: Path, name: str, file: Path, directory: Path) -> dict[str, Any] | None:
    done = subprocess.run(
        [str(python), "-m", "benchmarks.vector_peers", name, str(file), str(directory)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
        env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "HOME": str(directory)},
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        print(f"{name} failed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    answer: dict[str, Any] = json.loads(lines[-1])
    if "missing" in answer:
        print(f"{name} is not installed there: {answer['missing']}")
        return None
    return answer


def _peer_cells(answer: dict[str, Any], rows: int) -> list[str]:
    cells: list[str] = []
    for name in SHARES:
        measured = answer["filters"].get(name)
        if measured is None:
            cells.append("")
            continue
        ratio = report.median(measured["processor_ms"]) / report.median(measured["numpy_processor_ms"])
        note = "" if measured["recall"] > 0.9995 else f" ({measured['recall']:.3f})"
        cells.append(f"{report.median(measured['ms']):.2f} = {ratio:.2f}x{note}")
    return [*cells, f"{answer['build_s']:.1f}", f"{answer['bytes'] / rows * 1e6 / 1e6:,.0f}"]


def _cell(values: Sequence[float]) -> str:
    return f"{report.median(values):.2f} / {report.percentile(values, 0.95):.2f}"


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    replica.SNAPSHOT_SECONDS = 0.0
    async with running_server() as server:
        async with platform(server, "version") as target:
            version = target.services.connection.server_version
        title = f"Local vector store, {options.dimensions} dimensions, {options.queries} questions, ms as p50 / p95"
        report.print_heading(title, mongod=version)
        latency: list[list[str]] = []
        holding: list[list[str]] = []
        for chunks in options.chunks:
            collection = made_up(chunks, options.dimensions, questions=options.queries)
            with tempfile.TemporaryDirectory(prefix="analytiq-snapshots-") as directory:
                rows, row = await measure_size(server, collection, Path(directory))
            latency += rows
            holding.append(row)
        processor = ("numpy, CPU ms", "store, CPU ms", "store to numpy")
        columns = ("chunks", "filter", "numpy", "store", *processor, "recall@10", "searches/s, 8 callers")
        report.print_table(columns, latency)
        print()
        columns = (
            "chunks",
            "load in s",
            "from snapshot in s",
            "graph in s",
            "MB a million, counted",
            "MB a million, RSS",
        )
        report.print_table(columns, holding)
    if options.peers:
        print()
        rows: list[list[str]] = []
        for chunks in options.peer_chunks:
            collection = made_up(chunks, options.dimensions, questions=options.queries)
            rows += measure_peers(options.peers, collection, options.peer_names)
        report.print_table(("chunks", "peer", *SHARES, "build in s", "MB a million, RSS"), rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("The local vector store beside other libraries.", repeats=1)
    parser.add_argument("--chunks", type=int, nargs="*", default=[10_000, 100_000, 500_000])
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--peers", type=Path, help="the Python of an environment made by `make bench-peers`")
    parser.add_argument("--peer-chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--peer-names", nargs="+", default=list(PEERS), choices=list(PEERS))
    options = parser.parse_args(argv)
    if options.short:
        options.chunks, options.peer_chunks, options.queries = [10_000], [10_000], 50
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
