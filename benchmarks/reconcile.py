"""A pass of the reconciler over many documents, healthy ones and with 1 % of them damaged.

    python -m benchmarks.reconcile [--short] [--documents N] [--quick]

Documents are rows inserted directly: each has a file of one chunk, a text, an index entry, a generation and one vector
in one knowledge base. `quick` and `full` are dry passes; `damaged` removes half a percent of the entries and gives as
many another text, and `repair` is the pass that requests the jobs. `periodic` is a quick pass of the leader that
reads what changed since the one before, `quick` one that reads every row, `full` one that also reads every vector, file
and text. `processor` is the share of the full pass that this process computed, and `memory` the growth of the process
over the passes: it holds a few batches at a time. With `--quick` there are no full passes.
"""

import asyncio
import os
from collections.abc import Sequence
from datetime import timedelta
from time import perf_counter
from typing import Any

import psutil
from bson import ObjectId
from pymongo.write_concern import WriteConcern

from analytiq import clock
from analytiq.jobs.scheduling.fences import NoFence
from analytiq.models.document import DocumentState
from analytiq.models.index_entry import GenerationState
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth
from analytiq.operations.reconcile.reconciler import PassOptions
from analytiq.operations.reconcile.report import Report
from benchmarks import report
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.platform_under_test import Platform, Server, platform, running_server

DIMENSIONS = 8
"""Passes read no embedding, so its size does not matter."""
CHUNKS = 1
INSERT_SIZE = 5000
MEBIBYTE = 2**20

Rows = dict[str, list[dict[str, Any]]]


def rows_of(target: Platform, base: KnowledgeBase, number: int) -> Rows:
    """Return all rows of one indexed document."""
    document_id, file_id, text_id, generation_id = (ObjectId() for _ in range(4))
    long_ago = clock.now() - timedelta(days=2)
    organization_id, text_hash = target.organization.id, f"{number:064x}"
    owner = {"organization_id": organization_id, "document_id": str(document_id)}
    pair = {**owner, "kb_id": base.id}
    times = {"created_at": long_ago, "updated_at": long_ago}
    vector = {
        **owner, "generation_id": str(generation_id), "chunk_hash": text_hash, "chunk_text": "x" * 200,
        "token_count": 40, "embedding": bytes(4 * DIMENSIONS), "start": 0, "end": 200, "first_page": 1, "last_page": 1,
    }  # fmt: skip
    return {
        "docs": [
            {
                "_id": document_id, "organization_id": organization_id, "document_name": f"document-{number}.txt",
                "identity": f"{number:064x}", "sha256": text_hash, "byte_size": 400, "content_type": "text/plain",
                "file_id": str(file_id), "state": DocumentState.EXTRACTED.value, "tag_ids": [target.tag.id],
                "metadata": {"number": number}, "text_id": str(text_id), "text_hash": text_hash, "page_count": 1,
                "character_count": 400, "rev": 1, **times,
            }
        ],
        "fs.files": [
            {
                "_id": file_id, "length": 400, "chunkSize": 261120, "uploadDate": long_ago, "filename": "x",
                "metadata": {**owner, "content_type": "text/plain", "sha256": text_hash},
            }
        ],
        "fs.chunks": [{"files_id": file_id, "n": 0, "data": b"x" * 400}],
        "document_texts": [
            {
                **owner, "_id": text_id, "state": "current", "character_count": 400, "segment_count": 0,
                "text": "x" * 400, "pages": [[1, 0, 400, "text"]], "created_at": long_ago,
            }
        ],
        "document_index": [
            {
                **pair, "generation_id": str(generation_id), "text_hash": text_hash,
                "configuration_hash": base.configuration_hash, "chunk_count": CHUNKS, "indexed_at": long_ago,
                "context_hash": base.context_hash_of(f"document-{number}.txt", {"number": number}),
            }
        ],
        "generations": [
            {
                **pair, "_id": generation_id, "state": GenerationState.CURRENT.value, "chunk_count": CHUNKS,
                "lease_token": "", **times,
            }
        ],
        f"kb_vectors_{base.id}": [{**vector, "chunk_index": index} for index in range(CHUNKS)],
    }  # fmt: skip


async def fill(target: Platform, base: KnowledgeBase, documents: int) -> None:
    """Insert indexed documents."""
    database = target.services.connection.database
    for first in range(0, documents, INSERT_SIZE):
        batches: Rows = {}
        for number in range(first, min(documents, first + INSERT_SIZE)):
            for collection, rows in rows_of(target, base, number).items():
                batches.setdefault(collection, []).extend(rows)
        for collection, rows in batches.items():
            unacknowledged = database[collection].with_options(write_concern=WriteConcern(w=1))
            await unacknowledged.insert_many(rows, ordered=False)
    await target.services.ingestion.life_cycle.settle(target.organization.id, base.id)


async def damage(target: Platform, documents: int) -> None:
    """Remove every 200th entry, and give the next one another text."""
    database = target.services.connection.database
    cursor = database["docs"].find({}, {"_id": 1}).sort("_id", 1)
    ids = [str(row["_id"]) async for row in cursor]
    lost, changed = ids[::200], ids[1::200]
    for first in range(0, len(lost), INSERT_SIZE):
        chosen = slice(first, first + INSERT_SIZE)
        await database["document_index"].delete_many({"document_id": {"$in": lost[chosen]}})
        await database["document_index"].update_many(
            {"document_id": {"$in": changed[chosen]}}, {"$set": {"text_hash": "another"}}
        )
    assert len(ids) == documents


async def timed(target: Platform, *, depth: Depth, is_dry: bool, reads_changes: bool = False) -> tuple[float, Report]:
    """Run a pass; return its seconds and its report."""
    began = perf_counter()
    options = PassOptions(depth=depth, is_dry=is_dry, reads_changes=reads_changes)
    found = await target.services.operations.reconciler.reconcile(options, NoFence())
    return perf_counter() - began, found


async def measure(server: Server, documents: int, repeats: int, *, with_full: bool) -> list[str]:
    """Measure a row of the table."""
    process = psutil.Process(os.getpid())
    async with platform(server, f"reconcile_{documents}") as target:
        base = await target.create_knowledge_base(model=MODEL)
        await target.services.jobs.new_runner().run_until_idle()
        await target.services.ingestion.life_cycle.settle_noted()
        await fill(target, base, documents)
        memory = process.memory_info().rss
        quick = [await timed(target, depth=Depth.QUICK, is_dry=True) for _ in range(repeats)]
        changes = [await timed(target, depth=Depth.QUICK, is_dry=True, reads_changes=True) for _ in range(repeats)]
        assert all(found.entries == 0 for _, found in changes)
        before = sum(process.cpu_times()[:2])
        full = [await timed(target, depth=Depth.FULL, is_dry=True) for _ in range(repeats if with_full else 0)]
        processor = (sum(process.cpu_times()[:2]) - before) / repeats
        assert all(not found.counts() for _, found in (*quick, *changes, *full)), (
            quick[0][1].counts() | full[0][1].counts()
        )
        await damage(target, documents)
        damaged, found = await timed(target, depth=Depth.QUICK, is_dry=True)
        assert found.counts()["outdated"] == documents // 200
        repair, found = await timed(target, depth=Depth.QUICK, is_dry=False)
        grown = (process.memory_info().rss - memory) / MEBIBYTE
    of_quick = report.median([seconds for seconds, _ in quick])
    of_changes = report.median([seconds for seconds, _ in changes])
    of_full = report.median([seconds for seconds, _ in full]) if full else 0.0
    timings = [figure for seconds in (of_changes, of_quick, of_full) for figure in _of(seconds, documents)]
    return [
        f"{documents:,}", *timings, f"{processor / of_full:.0%}" if full else "",
        f"{damaged:.2f}", f"{repair:.2f}", f"{found.repairs:,}", f"{grown:.0f}",
    ]  # fmt: skip


def _of(seconds: float, documents: int) -> tuple[str, str]:
    """Format a pass's seconds, and its milliseconds per 1,000 documents."""
    return (f"{seconds:.2f}", f"{seconds / documents * 1e6:.1f}") if seconds else ("", "")


async def run(sizes: Sequence[int], repeats: int, *, with_full: bool) -> None:
    """Measure and print."""
    report.print_heading("Passes of the reconciler")
    with every_model_is(HashEmbedder(DIMENSIONS)):
        async with running_server() as server:
            report.print_table(
                [
                    "documents", "periodic s", "ms per 1,000", "quick s", "ms per 1,000", "full s", "ms per 1,000",
                    "processor", "damaged, dry s", "repair s",
                    "jobs asked for", "memory MiB",
                ],
                [await measure(server, size, repeats, with_full=with_full) for size in sizes],
            )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = report.arguments(__doc__ or "", repeats=1)
    parser.add_argument("--documents", type=int, action="append", help="instead of the usual sizes; may be repeated")
    parser.add_argument("--quick", action="store_true", help="no full passes")
    options = parser.parse_args(argv)
    sizes = options.documents or ([2_000, 10_000] if options.short else [10_000, 100_000, 1_000_000])
    asyncio.run(run(sizes, options.repeats, with_full=not options.quick))


if __name__ == "__main__":
    main()
