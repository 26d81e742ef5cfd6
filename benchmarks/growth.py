"""Slowdowns as a knowledge base grows.

    python -m benchmarks.growth [--short] [--documents 1000 5000 20000]

One knowledge base of documents of two chunks, 384 dimensions. `commit`: of a staged document, one after another.
`count`: updating its statistics. `claim`: of a job, with one waiting job a document. `pass`: of the
reconciler, without findings. `search`: the library's whole call, with the query's vector in the cache; `load`:
the first search, which loads the vectors into memory.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from bson import ObjectId

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.pipeline.request import SearchRequest
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.vectors import collection_name, to_bindata
from benchmarks import report
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.platform_under_test import Platform, Server, platform, running_server
from benchmarks.queue import claim_many, fill
from benchmarks.swapping import CHUNKS, Swapping, commit_all, random_vectors, staged

DIMENSIONS = 384
COMMITS = 50
QUERIES = 50
CLAIMS = 200
INSERT_SIZE = 2000
STORE_BYTES = 4 * 1024**3

Row = dict[str, Any]


async def _milliseconds(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def build(target: Platform, base: KnowledgeBase, documents: int) -> None:
    """Index one document by the library, and copy its rows up to the wanted number."""
    swapping = Swapping(target, base)
    await swapping.index("document 0", {}, random_vectors(CHUNKS, DIMENSIONS, seed=1))
    database = target.services.connection.database
    names = ("docs", "document_index", "generations", collection_name(base.id))
    templates = {name: [row async for row in database[name].find({})] for name in names}
    for first in range(1, documents, INSERT_SIZE):
        count = min(INSERT_SIZE, documents - first)
        matrix = random_vectors(count * CHUNKS, DIMENSIONS, seed=first)
        copies = [_copies(templates, matrix[CHUNKS * index :][:CHUNKS]) for index in range(count)]
        for name in names:
            await database[name].insert_many([row for copied in copies for row in copied[name]], ordered=False)
    await database["kb_epochs"].update_one({"_id": ObjectId(base.id)}, {"$set": {"epoch": documents}})
    await target.services.ingestion.life_cycle.settle(base.organization_id, base.id)


def _copies(templates: dict[str, list[Row]], vectors: Any) -> dict[str, list[Row]]:
    """Return the rows of one more document, with ids and vectors of its own."""
    document_id, generation_id = new_id(), new_id()
    of_document: Row = {"document_name": document_id, "identity": document_id, "sha256": document_id}
    of_document |= {"text_hash": document_id, "text_id": new_id(), "file_id": new_id()}
    copied: dict[str, list[Row]] = {}
    for name, rows in templates.items():
        copied[name] = []
        for index, row in enumerate(rows):
            changes: Row = {"_id": ObjectId(), "document_id": document_id, "generation_id": generation_id}
            if name == "docs":
                changes = {"_id": ObjectId(document_id), **of_document}
            elif name == "generations":
                changes = {"_id": ObjectId(generation_id), "document_id": document_id}
            elif name == "document_index":
                changes["text_hash"] = document_id
            else:
                changes["embedding"] = to_bindata(vectors[index])
            copied[name].append(row | changes)
    return copied


async def measure_size(server: Server, documents: int) -> list[str]:
    """Measure a row of the table."""
    async with platform(server, f"growth_{documents}", local_store_bytes=STORE_BYTES) as target:
        base = await target.create_knowledge_base(model=MODEL)
        await target.services.jobs.new_runner().run_until_idle()
        await build(target, base, documents)
        commits = await commit_all(await staged([Swapping(target, base)], COMMITS, dimensions=DIMENSIONS), 1)
        counting = await _milliseconds(target.services.ingestion.life_cycle.settle(base.organization_id, base.id))
        load = await _milliseconds(_search(target, base, "the first question"))
        questions = [f"What is known about subject {number}?" for number in range(QUERIES)]
        for question in questions:  # fills the cache of queries
            await _search(target, base, question)
        searches = [await _milliseconds(_search(target, base, question)) for question in questions]
        passes = [await _pass(target) for _ in range(3)]
        await fill(target, documents, 1)
        claims = await claim_many(target.services.repositories.jobs, ["o:kb0:sync"] * min(CLAIMS, documents))
    return [
        f"{documents:,}", f"{report.median(commits) * 1000:.1f}", f"{counting:.1f}",
        f"{report.median(claims) * 1000:.1f}", f"{report.median(passes):.0f}", f"{report.median(searches):.1f}",
        f"{load:.0f}",
    ]  # fmt: skip


async def _search(target: Platform, base: KnowledgeBase, question: str) -> None:
    answer = await target.services.retrieval.search.search(
        target.organization, base.id, SearchRequest(question, top_k=10)
    )
    if len(answer.results) != 10:
        raise SystemExit(f"{len(answer.results)} results of 10; what was measured is worth nothing")


async def _pass(target: Platform) -> float:
    """Measure the milliseconds of a pass of the reconciler over a healthy system."""
    began = time.perf_counter()
    found = await target.services.operations.reconciler.run_pass()
    elapsed = (time.perf_counter() - began) * 1000
    if found.drift:
        raise SystemExit(f"the system is not healthy ({found.counts()}), so the pass measures its repair")
    return elapsed


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    with every_model_is(HashEmbedder(DIMENSIONS)):
        async with running_server() as server:
            report.print_heading("Growth, p50 in milliseconds")
            rows = [await measure_size(server, documents) for documents in options.documents]
        report.print_table(["documents", "commit", "count", "claim", "pass", "search", "load"], rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("What becomes slower as a knowledge base grows.", repeats=1)
    parser.add_argument("--documents", type=int, nargs="+", default=[1000, 5000, 20_000])
    options = parser.parse_args(argv)
    if options.short:
        options.documents = [200, 2000]
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
