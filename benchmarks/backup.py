"""Backup and restore: MB/s, memory, and the effect of a backup on concurrent searches.

    python -m benchmarks.backup [--short] [--mebibytes N] [--dimensions D]

Each document has a file, half of which is incompressible, a text, and 200 chunks. `backup` and `restore` are
processes of their own, `analytiq backup` and `analytiq restore`, whose start (about 1 s) counts; memory is the peak
of such a process. Files, texts, vectors and cache are counted before compression.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from analytiq.models.document import Document, DocumentState
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.text import DocumentText, PageSpan, TextSource
from analytiq.operations.backup.files import verify_file
from analytiq.retrieval.pipeline.request import SearchRequest
from analytiq.settings import child_environment
from analytiq.storage.files import FileStore
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.texts import TextRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from benchmarks import report
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.platform_under_test import Platform, Server, platform, running_server
from benchmarks.swapping import CHUNK_TEXT, Swapping, random_vectors

MEBIBYTE = 1024 * 1024
CHUNKS_PER_DOCUMENT = 200
FILE_BYTES = MEBIBYTE
BLOCK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Run:
    """A finished command: its duration and peak memory."""

    seconds: float
    mebibytes: float
    printed: str


async def build(target: Platform, kb: KnowledgeBase, documents: int, dimensions: int) -> None:
    """Create documents with files, texts and vectors."""
    swapping = Swapping(target, kb)
    connection = target.services.connection
    texts, files = TextRepository(connection), FileStore(connection)
    for number in range(documents):
        matrix = random_vectors(CHUNKS_PER_DOCUMENT, dimensions, seed=number)
        document = await swapping.index(f"document {number}", {}, matrix)
        await add_file(target, files, document)
        text = CHUNK_TEXT * CHUNKS_PER_DOCUMENT
        pages = (PageSpan(1, 0, len(text), TextSource.EMBEDDED),)
        text_id, text_hash = await texts.stage(document.organization_id, document.id, DocumentText(text, pages))
        changes = {"text_id": text_id, "text_hash": text_hash, "state": DocumentState.EXTRACTED.value}
        await connection.database["docs"].update_one({"_id": object_id(document.id)}, {"$set": changes})
        await connection.database["document_texts"].update_one(
            {"_id": object_id(text_id)}, {"$set": {"state": "current"}}
        )


async def add_file(target: Platform, files: FileStore, document: Document) -> None:
    """Add a file of FILE_BYTES."""

    async def source() -> AsyncIterator[bytes]:
        for _ in range(FILE_BYTES // BLOCK_BYTES):
            yield os.urandom(BLOCK_BYTES // 2) + (CHUNK_TEXT * 100).encode()[: BLOCK_BYTES // 2]

    stored = await files.write(document.file_id, source(), FILE_BYTES)

    async def commit(session: Session) -> None:
        await files.insert_files_row(
            session,
            file_id=document.file_id,
            filename=document.document_name,
            stored=stored,
            organization_id=document.organization_id,
            document_id=document.id,
            content_type="application/octet-stream",
        )

    await run_in_transaction(target.services.connection, commit)


async def command(server: Server, database: str, *arguments: str) -> Run:
    """Run `analytiq` on the benchmark's database."""
    environment = child_environment(
        {"MONGODB_URI": server.uri.get_secret_value(), "ANALYTIQ_MONGO__DATABASE": database}
    )
    begun = perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MEASURED, *arguments),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, wrong = await process.communicate()
    seconds = perf_counter() - begun
    if process.returncode:
        raise SystemExit(wrong.decode())
    *_, memory = wrong.decode().split()
    return Run(seconds, int(memory) / 1024, printed.decode())


MEASURED = """
import sys
from pathlib import Path
from analytiq.cli.main import app
try:
    app(args=sys.argv[1:])
finally:
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
"""
# Not getrusage: its maximum is that of the parent before the program was loaded.


async def searches(target: Platform, kb: KnowledgeBase, *, until: Callable[[], bool]) -> list[float]:
    """Return the milliseconds of consecutive searches, at least twenty."""
    found: list[float] = []
    while len(found) < 20 or not until():
        begun = perf_counter()
        await target.services.retrieval.search.search(
            target.organization, kb.id, SearchRequest("what is asked", top_k=10)
        )
        found.append((perf_counter() - begun) * 1000)
        await asyncio.sleep(0.02)
    return found


async def beside(work: Awaitable[Run], target: Platform, kb: KnowledgeBase) -> tuple[Run, list[float]]:
    """Run the command with concurrent searches; return both measurements."""
    task = asyncio.ensure_future(work)
    found = await searches(target, kb, until=task.done)
    return await task, found


async def measure(server: Server, options: argparse.Namespace) -> None:
    documents = max(1, options.mebibytes * MEBIBYTE // per_document(options.dimensions))
    with every_model_is(HashEmbedder(options.dimensions)), tempfile.TemporaryDirectory() as folder:
        async with platform(server, "backup") as target:
            kb = await target.create_knowledge_base(model=MODEL)
            await build(target, kb, documents, options.dimensions)
            quiet = await searches(target, kb, until=lambda: True)
            quiet = await searches(target, kb, until=lambda: True)
            path = Path(folder) / "archive"
            made, busy = await beside(command(server, "backup", "backup", "--to", str(path)), target, kb)
            begun = perf_counter()
            contents = await verify_file(path)
            verifying = perf_counter() - begun
            raw = sum(total.byte_size for total in contents.trailer.totals) / MEBIBYTE
            rows = sum(total.rows for total in contents.trailer.totals)
            assert contents.trailer.warnings == ()
            restored, while_restoring = await beside(
                command(server, "backup", "restore", str(path), "--as-new"), target, kb
            )
            stored = path.stat().st_size / MEBIBYTE
        report.print_table(
            ("step", "MiB", "rows", "seconds", "MiB/s", "memory MiB", "search p50 / p95 ms beside it"),
            [
                ("nothing", "", "", "", "", "", latency(quiet)),
                step("backup", raw, rows, made.seconds, f"{made.mebibytes:.0f}", latency(busy)),
                step("verify", raw, rows, verifying, "", ""),
                step("restore", raw, rows, restored.seconds, f"{restored.mebibytes:.0f}", latency(while_restoring)),
            ],
        )
        print(f"\nThe archive has {stored:.0f} MiB, {stored / raw:.0%} of the rows; {documents} documents.")


def step(name: str, raw: float, rows: int, seconds: float, memory: str, searching: str) -> tuple[str, ...]:
    return name, f"{raw:.0f}", f"{rows:,}", f"{seconds:.1f}", f"{raw / seconds:.0f}", memory, searching


def latency(found: list[float]) -> str:
    return f"{report.median(found):.1f} / {report.percentile(found, 0.95):.1f}"


def per_document(dimensions: int) -> int:
    """Return the bytes of a document, its text and its vectors."""
    return FILE_BYTES + CHUNKS_PER_DOCUMENT * (2 * len(CHUNK_TEXT) + 4 * dimensions + 400)


def main(given: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = report.arguments(__doc__ or "", repeats=1)
    parser.add_argument("--mebibytes", type=int, default=1024, help="how much there is to back up")
    parser.add_argument("--dimensions", type=int, default=1536, help="of the vectors")
    options = parser.parse_args(given)
    if options.short:
        options.mebibytes = min(options.mebibytes, 64)
    asyncio.run(run(options))


async def run(options: argparse.Namespace) -> None:
    async with running_server() as server:
        report.print_heading("Backup and restore")
        await measure(server, options)


if __name__ == "__main__":
    main()
