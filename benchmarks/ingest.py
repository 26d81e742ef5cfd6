"""Ingestion: the whole path from upload to searchable, and its overhead.

    python -m benchmarks.ingest [--short] [--corpus corpus.jsonl] [--documents N] [--repeats N] [--no-model]

Two tables. In the first the embedder costs nothing, and the platform is compared with a floor of plain Python and
MongoDB (`benchmarks.floor`): first ingestion, the same files again (`on_duplicate: return`), and again with
one file in a hundred changed (`on_duplicate: replace`). In the second the local model embeds, and the whole
path is compared with the model alone on the same chunks.

Other frameworks are run beside it by `benchmarks.ingest_peers`.
"""

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from analytiq.errors import AnalytiqError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers.local import LOCAL_MODEL, LocalEmbedder
from analytiq.ingestion.upload.request import UploadRequest
from analytiq.models.upload import DuplicatePolicy
from analytiq.standalone.machine import read_machine
from benchmarks import report
from benchmarks.corpus import TextFile, append_sentence, write_corpus
from benchmarks.floor import Floor
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.platform_under_test import Platform, Server, platform, running_server, working
from benchmarks.processor_time import ProcessorClock, ProcessorSeconds, Spent

DIMENSIONS = 384
UPLOADS_AT_ONCE = 4
FILES_A_CALL = 32
PHASES = ("first", "unchanged", "1 % changed")


@dataclass(frozen=True, slots=True)
class Phase:
    """One ingestion of the whole corpus."""

    spent: Spent
    documents: int
    embedded: int
    stale: int


async def upload(target: Platform, files: Sequence[TextFile], policy: DuplicatePolicy) -> None:
    """Upload files in batches, a few concurrently, as `analytiq ingest` and a client with several connections do."""
    uploads = target.services.ingestion.uploads
    remaining = iter([files[start : start + FILES_A_CALL] for start in range(0, len(files), FILES_A_CALL)])

    async def lane() -> None:
        for batch in remaining:
            # The files of a request share it, as behind HTTP.
            estimate = target.services.ingestion.storage.estimate(target.organization.id)
            requests = [
                UploadRequest(
                    staged=await uploads.stage(
                        target.organization.id,
                        document_name=file.name,
                        content_type="text/plain",
                        source=_blocks(file.content),
                        estimate=estimate,
                    ),
                    tag_ids=[target.tag.id],
                    metadata={},
                    policy=policy,
                    is_bulk=True,
                )
                for file in batch
            ]
            for result in await uploads.commit_all(requests):
                if isinstance(result, AnalytiqError):
                    raise result

    await asyncio.gather(*(lane() for _ in range(UPLOADS_AT_ONCE)))


async def _blocks(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def measure_platform(server: Server, files: Sequence[TextFile], change: Callable[[], None]) -> list[Phase]:
    """Measure the three phases through the library, with workers in the same process."""
    embedder = HashEmbedder(DIMENSIONS)
    phases: list[Phase] = []
    with every_model_is(embedder):
        async with platform(server, "ingest") as target:
            knowledge_base = await target.create_knowledge_base(model=MODEL)
            await warm_up(target)
            for policy in (DuplicatePolicy.RETURN, DuplicatePolicy.RETURN, DuplicatePolicy.REPLACE):
                if policy is DuplicatePolicy.REPLACE:
                    change()
                embedder.embedded = 0
                begin = target.clock.now()
                async with working(target.services):
                    await upload(target, files, policy)
                    await target.until_idle()
                spent = target.clock.since(begin)
                stale = await stale_vectors(target, knowledge_base.id)
                phases.append(Phase(spent, len(files), embedder.embedded, stale))
    return phases


async def warm_up(target: Platform) -> None:
    """Ingest one document: imports and the start of the parsing server happen once in a process."""
    with tempfile.TemporaryDirectory(prefix="analytiq-benchmark-") as directory:
        file = TextFile(Path(directory) / "warm-up.txt")
        file.path.write_text("A first document. " * 100, encoding="utf-8")
        async with working(target.services):
            await upload(target, [file], DuplicatePolicy.RETURN)
            await target.until_idle()


async def stale_vectors(target: Platform, kb_id: str) -> int:
    """Count vectors of the knowledge base outside of current generations."""
    database = target.services.connection.database
    current = await database["document_index"].distinct("generation_id", {"kb_id": kb_id})
    return await database[f"kb_vectors_{kb_id}"].count_documents({"generation_id": {"$nin": current}})


def measure_floor(server: Server, files: Sequence[TextFile], change: Callable[[], None]) -> list[Phase]:
    """Measure the three phases in plain Python."""
    embedder = HashEmbedder(DIMENSIONS)
    clock = ProcessorClock(server.pid)
    phases: list[Phase] = []
    with MongoClient[dict[str, Any]](server.uri.get_secret_value()) as client:
        floor = Floor(client, "ingest_floor", embedder)
        for phase in PHASES:
            if phase == PHASES[2]:
                change()
            embedder.embedded = 0
            begin = clock.now()
            floor.ingest(files)
            spent = clock.since(begin)
            phases.append(Phase(spent, len(files), embedder.embedded, floor.stale_chunks(files)))
        client.drop_database("ingest_floor")
    return phases


async def compare_with_floor(server: Server, options: argparse.Namespace) -> None:
    """Print the table of the platform and the floor."""
    ours: list[list[Phase]] = []
    floors: list[list[Phase]] = []
    for _ in range(options.repeats):
        for measured, measure in ((floors, measure_floor), (ours, measure_platform)):
            with tempfile.TemporaryDirectory(prefix="analytiq-benchmark-") as directory:
                files = write_corpus(Path(directory), options.documents, options.corpus)
                changed = files[:: max(1, len(files) // max(1, len(files) // 100))]

                def change(changed: list[TextFile] = changed) -> None:
                    append_sentence(changed)

                if measure is measure_floor:
                    measured.append(await asyncio.to_thread(measure_floor, server, files, change))
                else:
                    measured.append(await measure_platform(server, files, change))
    rows: list[list[str]] = []
    for index, name in enumerate(PHASES):
        floor = [run[index] for run in floors]
        mine = [run[index] for run in ours]
        ratio = _total(mine) / _total(floor)
        rows.append(_row(f"platform, {name}", mine, f"{ratio:.1f}x"))
        rows.append(_row(f"floor, {name}", floor, "1"))
    print(f"Zero-cost embedder, {options.documents} files, n = {options.repeats}")
    report.print_table(
        ("pipeline", "documents/s", "CPU-s", "client + parsers + mongod", "CPU to floor", "embedded", "stale"), rows
    )


def _total(phases: Sequence[Phase]) -> float:
    return report.median([phase.spent.processor.total for phase in phases])


def _row(name: str, phases: Sequence[Phase], ratio: str) -> list[str]:
    parts = [
        report.median([part(phase.spent.processor) for phase in phases]) for part in (_client, _parsers, _database)
    ]
    rate = report.median([phase.documents / phase.spent.wall_seconds for phase in phases])
    return [
        name,
        f"{rate:.0f}",
        f"{_total(phases):.2f}",
        " + ".join(f"{part:.2f}" for part in parts),
        ratio,
        str(max(phase.embedded for phase in phases)),
        str(max(phase.stale for phase in phases)),
    ]


def _client(seconds: ProcessorSeconds) -> float:
    return seconds.client


def _parsers(seconds: ProcessorSeconds) -> float:
    return seconds.parsers


def _database(seconds: ProcessorSeconds) -> float:
    return seconds.database


async def compare_with_model(server: Server, options: argparse.Namespace) -> None:
    """Print the table of the whole path and the local model alone."""
    whole: list[Spent] = []
    alone: list[Spent] = []
    chunk_count = 0
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory(prefix="analytiq-benchmark-") as directory:
            files = write_corpus(Path(directory), options.model_documents, options.corpus)
            async with platform(server, "ingest_model", model_threads=options.threads) as target:
                knowledge_base = await target.create_knowledge_base(model=LOCAL_MODEL)
                await warm_up(target)
                begin = target.clock.now()
                async with working(target.services):
                    await upload(target, files, DuplicatePolicy.RETURN)
                    await target.until_idle()
                whole.append(target.clock.since(begin))
                chunks = target.services.connection.database[f"kb_vectors_{knowledge_base.id}"]
                texts = [str(row["chunk_text"]) async for row in chunks.find({}, {"chunk_text": 1})]
                chunk_count = len(texts)
                alone.append(await _model_alone(target.clock, texts, options.threads))
    rows = [
        _model_row("upload to searchable", whole, options.model_documents, chunk_count, alone),
        _model_row("the model alone, same chunks", alone, options.model_documents, chunk_count, alone),
    ]
    print(
        f"\nLocal model, {options.model_documents} files, {chunk_count} chunks, {options.threads} model threads,"
        f" n = {options.repeats}"
    )
    report.print_table(("path", "documents/s", "chunks/s", "wall to model", "CPU-s", "CPU to model"), rows)


async def _model_alone(clock: ProcessorClock, texts: Sequence[str], threads: int) -> Spent:
    embedder = LocalEmbedder(LOCAL_MODEL, threads)
    await embedder.embed(["loads the model"], input_type=InputType.DOCUMENT)
    begin = clock.now()
    for start in range(0, len(texts), embedder.batch_size):
        await embedder.embed(texts[start : start + embedder.batch_size], input_type=InputType.DOCUMENT)
    spent = clock.since(begin)
    embedder.close()
    return spent


def _model_row(name: str, runs: Sequence[Spent], documents: int, chunks: int, alone: Sequence[Spent]) -> list[str]:
    wall = report.median([run.wall_seconds for run in runs])
    processor = report.median([run.processor.total for run in runs])
    return [
        name,
        f"{documents / wall:.1f}",
        f"{chunks / wall:.1f}",
        f"{wall / report.median([run.wall_seconds for run in alone]):.2f}x",
        f"{processor:.2f}",
        f"{processor / report.median([run.processor.total for run in alone]):.2f}x",
    ]


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server:
        async with platform(server, "version") as target:
            version = target.services.connection.server_version
        report.print_heading("Ingestion", mongod=version)
        await compare_with_floor(server, options)
        if not options.no_model:
            await compare_with_model(server, options)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("Ingestion against its floor, and against the embedding model.", repeats=3)
    parser.add_argument("--corpus", type=Path, default=None, help="BEIR corpus.jsonl; without it made-up texts")
    parser.add_argument("--documents", type=int, default=2000, help="files of the first table")
    parser.add_argument("--model-documents", type=int, default=300, help="files of the second table")
    parser.add_argument("--threads", type=int, default=read_machine().cores, help="of the local model, in both paths")
    parser.add_argument("--no-model", action="store_true", help="leave the second table out")
    options = parser.parse_args(argv)
    if options.short:
        options.documents, options.model_documents, options.repeats = 200, 40, 1
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
