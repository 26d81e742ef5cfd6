"""Many knowledge bases in one system: the cost of each, since each has a collection of its own.

    python -m benchmarks.knowledge_bases [--short] [--counts 200 2000]

`create`: creating them, 20 concurrently. `activate`: their first memberships, which find no document. `pass`: a pass of
the reconciler without findings. `join`: from the upload of a document of two chunks that is a member of all to
the end of the last job; `leave`: from its deletion. Jobs run in this process, in 8 slots. Memory and descriptors are
mongod's, once all are created and filled.
"""

import argparse
import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from time import perf_counter

import psutil

from analytiq.models.upload import DuplicatePolicy
from benchmarks import report
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.platform_under_test import Platform, Server, platform, running_server, working

DIMENSIONS = 384
AT_ONCE = 20
SLOTS = 8
TEXT = "A document that belongs to every knowledge base there is, by its one tag. " * 20


async def seconds(work: Awaitable[object]) -> float:
    """Measure the duration of work."""
    began = perf_counter()
    await work
    return perf_counter() - began


async def create(target: Platform, count: int) -> None:
    """Create the knowledge bases."""
    for start in range(0, count, AT_ONCE):
        size = min(AT_ONCE, count - start)
        await asyncio.gather(*(target.create_knowledge_base(model=MODEL) for _ in range(size)))


async def work_off(target: Platform) -> None:
    """Run every job."""
    async with working(target.services, slots=SLOTS):
        await target.until_idle()


async def join(target: Platform) -> str:
    """Upload a document and wait until it is indexed everywhere; return its id."""

    async def content() -> AsyncGenerator[bytes]:
        yield TEXT.encode()

    staged = await target.services.ingestion.uploads.stage(
        target.organization.id, document_name="everywhere.txt", content_type="text/plain", source=content()
    )
    result = await target.services.ingestion.uploads.commit(
        staged, tag_ids=[target.tag.id], metadata=None, policy=DuplicatePolicy.RETURN
    )
    await work_off(target)
    return result.document.id


async def leave(target: Platform, document_id: str) -> None:
    """Delete the document and wait until its data is removed."""
    await target.services.ingestion.documents.delete(target.organization.id, document_id)
    await work_off(target)


async def measure(server: Server, count: int) -> list[str]:
    """Measure a row of the table."""
    mongod = psutil.Process(server.pid)
    async with platform(server, f"knowledge_bases_{count}") as target:
        created = await seconds(create(target, count))
        activated = await seconds(work_off(target))
        began = perf_counter()
        document_id = await join(target)
        joined = perf_counter() - began
        await require_everywhere(target, count)
        looked = await seconds(target.services.operations.reconciler.run_pass())
        memory, descriptors = mongod.memory_info().rss / 1024**2, mongod.num_fds()
        left = await seconds(leave(target, document_id))
    return [
        f"{count:,}", f"{created:.0f}", f"{activated:.0f}", f"{looked:.1f}", f"{joined:.0f}", f"{left:.0f}",
        f"{memory:.0f}", f"{descriptors:,}",
    ]  # fmt: skip


async def require_everywhere(target: Platform, count: int) -> None:
    """Require that the document is in all of them, without which the measurement is worthless."""
    found = await target.services.connection.database["document_index"].count_documents({})
    if found != count:
        raise SystemExit(f"the document is indexed in {found} of {count} knowledge bases")


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    with every_model_is(HashEmbedder(DIMENSIONS)):
        async with running_server() as server:
            report.print_heading("Many knowledge bases, n = 1")
            mongod = psutil.Process(server.pid)
            empty = ["0", "", "", "", "", "", f"{mongod.memory_info().rss / 1024**2:.0f}", f"{mongod.num_fds():,}"]
            rows = [empty, *[await measure(server, count) for count in options.counts]]
        report.print_table(
            ["KBs", "create s", "activate s", "pass s", "join s", "leave s", "mongod MB", "descriptors"], rows
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("Many knowledge bases in one system.", repeats=1)
    parser.add_argument("--counts", type=int, nargs="+", default=[200, 2000])
    options = parser.parse_args(argv)
    if options.short:
        options.counts = [100]
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
