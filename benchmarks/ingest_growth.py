"""The cost of a document from the first tenth of a large knowledge base to the last.

    python -m benchmarks.ingest_growth [--short] [--documents 1000000] [--slices 10]

Documents of one chunk are uploaded as bulk into one knowledge base with an embedder that costs nothing, by a worker in
the same process. A row of the table is a slice of the documents: processor milliseconds a document of this process and
of mongod, the memory of both when the slice is searchable, and the bytes a document of all collections with their
indexes. A flat column is the aim. The last line compares the last slice with the second.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from analytiq.models.upload import DuplicatePolicy
from benchmarks import report
from benchmarks.corpus import TextFile
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.ingest import upload, warm_up
from benchmarks.made_up_texts import texts
from benchmarks.platform_under_test import Platform, Server, platform, running_server, working
from benchmarks.processor_time import Spent

DIMENSIONS = 384
WAVE = 1000
"""Documents uploaded before the queue is empty again: the backlog is the same in every slice."""
WORDS = 60
CHUNK_SIZE = 512
"""Tokens: more than a document has."""
MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of the documents. Memory in bytes; `stored`: bytes of the whole database after it."""

    documents: int
    client_seconds: float
    database_seconds: float
    wall_seconds: float
    client_memory: int
    database_memory: int
    stored: int

    @property
    def milliseconds_each(self) -> float:
        """Processor milliseconds a document."""
        return (self.client_seconds + self.database_seconds) / self.documents * 1000


async def ingest_slice(target: Platform, server: Server, first: int, count: int) -> Slice:
    """Ingest documents `first` to `first + count`, and measure; writing their files is not counted."""
    waves: list[Spent] = []
    for start in range(first, first + count, WAVE):
        with tempfile.TemporaryDirectory(prefix="analytiq-benchmark-") as directory:
            files = write_notes(Path(directory), start, min(WAVE, first + count - start))
            begin = target.clock.now()
            await upload(target, files, DuplicatePolicy.RETURN)
            await target.until_idle()
            waves.append(target.clock.since(begin))
    statistics = await target.services.connection.database.command("dbStats")
    return Slice(
        documents=count,
        client_seconds=sum(wave.processor.client + wave.processor.parsers for wave in waves),
        database_seconds=sum(wave.processor.database for wave in waves),
        wall_seconds=sum(wave.wall_seconds for wave in waves),
        client_memory=psutil.Process().memory_info().rss,
        database_memory=psutil.Process(server.pid).memory_info().rss,
        stored=int(statistics["storageSize"]) + int(statistics["indexSize"]),
    )


def write_notes(directory: Path, first: int, count: int) -> list[TextFile]:
    """Write texts of one chunk, each different from every other."""
    files: list[TextFile] = []
    for number, text in enumerate(texts(count, seed=first + 1), start=first):
        file = TextFile(directory / f"note-{number:08}.txt")
        file.path.write_text(f"Note {number}. {' '.join(text.split()[:WORDS])}", encoding="utf-8")
        files.append(file)
    return files


def row_of(slices: Sequence[Slice], index: int) -> list[str]:
    """Return a row of the table."""
    one = slices[index]
    before = slices[index - 1].stored if index else 0
    return [
        f"{sum(each.documents for each in slices[: index + 1]):,}",
        f"{one.milliseconds_each:.2f}",
        f"{one.client_seconds / one.documents * 1000:.2f} + {one.database_seconds / one.documents * 1000:.2f}",
        f"{one.documents / one.wall_seconds:.0f}",
        f"{one.client_memory / MEBIBYTE:.0f}",
        f"{one.database_memory / MEBIBYTE:.0f}",
        f"{(one.stored - before) / one.documents:,.0f}",
    ]


async def measure(server: Server, documents: int, slices: int) -> list[Slice]:
    """Ingest all slices; each is told on standard error as it ends."""
    measured: list[Slice] = []
    with every_model_is(HashEmbedder(DIMENSIONS)):
        async with platform(server, "ingest_growth", is_limited=False) as target:
            knowledge_base = await target.create_knowledge_base(model=MODEL, chunk_size=CHUNK_SIZE)
            await warm_up(target)
            async with working(target.services):
                for index in range(slices):
                    first, last = documents * index // slices, documents * (index + 1) // slices
                    measured.append(await ingest_slice(target, server, first, last - first))
                    print(" | ".join(row_of(measured, index)), file=sys.stderr, flush=True)
            chunks = await target.services.connection.database[f"kb_vectors_{knowledge_base.id}"].count_documents({})
            assert documents < chunks < documents + 10, f"{chunks} chunks of {documents} documents"
    return measured


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server:
        report.print_heading("Ingestion by the size of a knowledge base")
        slices = await measure(server, options.documents, options.slices)
    report.print_table(
        ("documents", "CPU ms each", "client + mongod", "documents/s", "client MiB", "mongod MiB", "bytes each"),
        [row_of(slices, index) for index in range(len(slices))],
    )
    # The first slice fills caches and creates files: the second is the fair beginning.
    first, last = slices[min(1, len(slices) - 1)].milliseconds_each, slices[-1].milliseconds_each
    print(f"Last slice to second: {last / first:.2f}x")


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("The cost of a document by the size of its knowledge base.", repeats=1)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--slices", type=int, default=10)
    options = parser.parse_args(argv)
    if options.short:
        options.documents = 2000
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
