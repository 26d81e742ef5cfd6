"""The queue and the commits, with many workers, many jobs, and load.

    python -m benchmarks.queue [--short]

`commits` counts commits a second of staged documents of two chunks, by workers (slots of one process) on one knowledge
base and spread over 16; meanwhile `deletion` is the latency of deleting a document that is in 20 knowledge bases;
then the same from several processes at once.
`claims` is the latency of claiming one job by the number of waiting ones, in up to 2,000 partitions.
`latency` is the time from an upload's call to the first search that finds it, on an idle system and behind a queue of
documents of another knowledge base.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

from analytiq import clock
from analytiq.models.document import Document
from analytiq.models.job import JobKind, JobState
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.upload import DuplicatePolicy
from analytiq.retrieval.pipeline.request import SearchRequest
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.jobs import JobRepository
from benchmarks import report
from benchmarks.committers import commit_in_processes
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.platform_under_test import Platform, Server, platform, running_server, working
from benchmarks.swapping import CHUNKS, DIMENSIONS, Swapping, commit_all, random_vectors, rows_of, staged

MOST_LANES = 2000
INSERT_SIZE = 10_000
POLL_SECONDS = 0.005


async def measure_commits(server: Server, *, documents: int) -> list[list[str]]:
    """Measure commits a second, and the latency of concurrent deletions."""
    rows: list[list[str]] = []
    for knowledge_bases in (1, 16):
        for workers in (1, 4, 16):
            async with platform(server, f"commits_{knowledge_bases}_{workers}") as target:
                bases = [await target.create_knowledge_base(model=MODEL) for _ in range(max(20, knowledge_bases))]
                targets = [Swapping(target, base) for base in bases[:knowledge_bases]]
                items = await staged(targets, documents)
                doomed = await in_every(target, bases[:20], count=5)
                began = perf_counter()
                committing = asyncio.create_task(commit_all(items, workers))
                deletions = await delete_slowly(target, doomed, committing)
                seconds = await committing
                elapsed = perf_counter() - began
                rows.append(
                    [
                        str(knowledge_bases), str(workers), f"{documents / elapsed:.0f}",
                        f"{report.median(seconds) * 1000:.0f}", f"{report.percentile(seconds, 0.95) * 1000:.0f}",
                        f"{report.median(deletions) * 1000:.0f}", f"{max(deletions) * 1000:.0f}",
                    ]
                )  # fmt: skip
    return rows


async def in_every(target: Platform, bases: Sequence[KnowledgeBase], *, count: int) -> list[Document]:
    """Create documents that are indexed in each of the knowledge bases."""
    matrix = random_vectors(CHUNKS, DIMENSIONS, seed=2)
    found: list[Document] = []
    for _ in range(count):
        document = await Swapping(target, bases[0]).index(f"{new_id()}.txt", {}, matrix)
        for base in bases[1:]:
            swapping = Swapping(target, base)
            running = await swapping.claim_sync(document)
            await swapping.commit(running, document, await swapping.stage(running, document, rows_of(matrix)))
        found.append(document)
    return found


async def delete_slowly(target: Platform, doomed: list[Document], beside: "asyncio.Task[Any]") -> list[float]:
    """Delete one document after another during other work; return the seconds of each call."""
    seconds: list[float] = []
    for document in doomed:
        began = perf_counter()
        await target.services.ingestion.documents.delete(document.organization_id, document.id)
        seconds.append(perf_counter() - began)
        await asyncio.wait([beside], timeout=0.05)
    return seconds


async def measure_claims(server: Server, sizes: Sequence[int]) -> list[list[str]]:
    """Measure the latency of a claim by the number of waiting jobs."""
    rows: list[list[str]] = []
    for size in sizes:
        async with platform(server, f"claims_{size}") as target:
            jobs = target.services.repositories.jobs
            lanes = min(MOST_LANES, max(1, size // 500))
            await fill(target, size, lanes)
            in_lane = await claim_many(jobs, [f"o:kb{number % lanes}:sync" for number in range(200)])
            anywhere = await claim_many(jobs, [None] * 200)
            began = perf_counter()
            found = await jobs.all_lanes()
            elapsed = perf_counter() - began
            rows.append(
                [
                    f"{size:,}", str(lanes), f"{report.median(in_lane) * 1000:.1f}",
                    f"{report.percentile(in_lane, 0.95) * 1000:.1f}", f"{report.median(anywhere) * 1000:.1f}",
                    f"{elapsed * 1000:.0f} for {len(found)}",
                ]
            )  # fmt: skip
    return rows


async def fill(target: Platform, size: int, lanes: int) -> None:
    """Insert waiting jobs."""
    collection = target.services.connection.database["jobs"]
    now = clock.now()
    for first in range(0, size, INSERT_SIZE):
        await collection.insert_many(
            [
                {
                    "_id": f"sync:kb{number % lanes}:d{number}",
                    "kind": JobKind.SYNC.value,
                    "organization_id": "o",
                    "lane": f"o:kb{number % lanes}:sync",
                    "subject": {"kb_id": f"kb{number % lanes}", "document_id": f"d{number}", "generation_id": None},
                    "state": JobState.AVAILABLE.value,
                    "priority": 10,
                    "run_at": now,
                    "wanted": 1,
                    "attempt": 0,
                    "created_at": now,
                    "updated_at": now,
                }
                for number in range(first, min(size, first + INSERT_SIZE))
            ],
            ordered=False,
        )


async def claim_many(jobs: JobRepository, lanes: Sequence[str | None]) -> list[float]:
    """Claim a job of each partition; return the seconds of each claim."""
    seconds: list[float] = []
    for lane in lanes:
        began = perf_counter()
        job = await jobs.claim([JobKind.SYNC], worker="b", lease_token=new_id(), lease_seconds=600, lane=lane)
        seconds.append(perf_counter() - began)
        if job is None:
            raise SystemExit("no job was to be had, so nothing is measured")
    return seconds


async def once(content: bytes) -> AsyncGenerator[bytes]:
    """Yield a file in one block."""
    yield content


async def upload(target: Platform, name: str, text: str, tag_id: str) -> str:
    """Upload one document; return its id."""
    staged_file = await target.services.ingestion.uploads.stage(
        target.organization.id, document_name=name, content_type="text/plain", source=once(text.encode())
    )
    result = await target.services.ingestion.uploads.commit(
        staged_file, tag_ids=[tag_id], metadata=None, policy=DuplicatePolicy.CREATE
    )
    return result.document.id


async def seconds_until_found(target: Platform, base: KnowledgeBase, tag_id: str, number: int) -> float:
    """Measure the seconds from the call of an upload to the first search that finds the document."""
    began = perf_counter()
    document_id = await upload(target, f"one-{number}.txt", f"The unique word is w{number}.", tag_id)
    while True:
        request = SearchRequest(f"unique word w{number}", top_k=100)
        answer = await target.services.retrieval.search.search(target.organization, base.id, request)
        if any(result.document_id == document_id for result in answer.results):
            return perf_counter() - began
        await asyncio.sleep(POLL_SECONDS)


async def measure_latency(server: Server, *, backlog: int, count: int) -> list[list[str]]:
    """Measure the latency of one small document on an idle system and behind a backlog of another knowledge base."""
    rows: list[list[str]] = []
    async with platform(server, "latency") as target:
        services, organization = target.services, target.organization
        big = target.tag
        small = await services.ingestion.tags.create(organization.id, name="small", color="#000000", description="")
        await target.create_knowledge_base(model=MODEL)
        wanted = Platform(services, organization, small, target.clock)
        base = await wanted.create_knowledge_base(model=MODEL)
        async with working(services):
            await target.until_idle()
            await seconds_until_found(target, base, small.id, 9999)  # the first one loads the chunker
            idle = [await seconds_until_found(target, base, small.id, number) for number in range(count)]
            for number in range(backlog):
                await upload(target, f"big-{number}.txt", f"Document {number} of many. " * 50, big.id)
            before = sum((await services.repositories.jobs.counts()).values())
            loaded = [await seconds_until_found(target, base, small.id, 1000 + number) for number in range(count)]
            after = sum((await services.repositories.jobs.counts()).values())
            await target.until_idle()
    for name, values, queue in (("idle", idle, "0"), ("loaded", loaded, f"{before} to {after}")):
        rows.append(
            [name, queue, f"{report.median(values) * 1000:.0f}", f"{report.percentile(values, 0.95) * 1000:.0f}"]
        )
    return rows


async def measure_processes(server: Server, *, documents: int) -> list[list[str]]:
    """Measure the commits a second of several processes, each with four tasks."""
    rows: list[list[str]] = []
    for knowledge_bases in (1, 16):
        for processes in (1, 2, 4):
            async with platform(server, f"processes_{knowledge_bases}_{processes}") as target:
                bases = [await target.create_knowledge_base(model=MODEL) for _ in range(knowledge_bases)]
                elapsed, seconds = await commit_in_processes(
                    server, target, [base.id for base in bases], processes=processes, tasks=4, documents=documents
                )
            rows.append(
                [
                    str(knowledge_bases), str(processes), f"{len(seconds) / elapsed:.0f}",
                    f"{report.median(seconds) * 1000:.0f}", f"{report.percentile(seconds, 0.95) * 1000:.0f}",
                ]
            )  # fmt: skip
    return rows


@asynccontextmanager
async def _server() -> AsyncGenerator[Server]:
    with every_model_is(HashEmbedder(DIMENSIONS)):
        async with running_server() as server:
            yield server


async def run(*, short: bool) -> None:
    """Measure and print."""
    report.print_heading("The queue and the commits")
    async with _server() as server:
        print("commits")
        report.print_table(
            ["KBs", "workers", "commits/s", "p50 ms", "p95 ms", "deletion p50 ms", "deletion max ms"],
            await measure_commits(server, documents=200 if short else 600),
        )
        print("\ncommits of several processes, four tasks each")
        report.print_table(
            ["KBs", "processes", "commits/s", "p50 ms", "p95 ms"],
            await measure_processes(server, documents=200 if short else 800),
        )
        print("\nlatency from upload to searchable")
        report.print_table(
            ["system", "jobs waiting", "p50 ms", "p95 ms"],
            await measure_latency(server, backlog=100 if short else 1000, count=10 if short else 20),
        )
        print("\nclaims")
        report.print_table(
            ["waiting jobs", "lanes", "in a lane p50 ms", "p95 ms", "in any lane p50 ms", "look at all lanes ms"],
            await measure_claims(server, [1000, 50_000] if short else [1000, 100_000, 1_000_000]),
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = report.arguments(__doc__ or "", repeats=1)
    asyncio.run(run(short=parser.parse_args(argv).short))


if __name__ == "__main__":
    main()
