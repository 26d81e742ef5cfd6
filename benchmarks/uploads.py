"""Uploads: processor time a file, by the number of files that one transaction takes.

    python -m benchmarks.uploads [--short] [--documents N] [--repeats N]

Through the library, without HTTP and without workers: staging, placement and the transaction. The second table has
clients that send one file each at the same time, whose files group commit brings together.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from analytiq.ingestion.upload.request import UploadRequest
from analytiq.models.upload import DuplicatePolicy
from benchmarks import report
from benchmarks.made_up_texts import texts
from benchmarks.platform_under_test import Platform, Server, platform, running_server
from benchmarks.processor_time import ProcessorClock, Spent

DOCUMENTS = 1024
SHORT = 256
FILES_A_CALL = (1, 4, 16, 64)
CLIENTS = (1, 4, 16)

Send = Callable[[Platform, Sequence[bytes]], Awaitable[None]]


async def _blocks(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def send(target: Platform, numbered: Sequence[tuple[int, bytes]]) -> None:
    """Send files in one call."""
    uploads = target.services.ingestion.uploads
    estimate = target.services.ingestion.storage.estimate(target.organization.id)
    requests = [
        UploadRequest(
            staged=await uploads.stage(
                target.organization.id,
                document_name=f"{number}.txt",
                content_type="text/plain",
                source=_blocks(content),
                estimate=estimate,
            ),
            tag_ids=[target.tag.id],
            metadata=None,
            policy=DuplicatePolicy.RETURN,
        )
        for number, content in numbered
    ]
    for result in await uploads.commit_all(requests):
        if isinstance(result, Exception):
            raise result


def in_calls_of(files: int) -> Send:
    """Return a client that sends this number of files a call, one call after the other."""

    async def run(target: Platform, contents: Sequence[bytes]) -> None:
        numbered = list(enumerate(contents))
        for start in range(0, len(numbered), files):
            await send(target, numbered[start : start + files])

    return run


def from_clients(clients: int) -> Send:
    """Return clients that send one file a call, at the same time."""

    async def run(target: Platform, contents: Sequence[bytes]) -> None:
        remaining = iter(enumerate(contents))

        async def client() -> None:
            for each in remaining:
                await send(target, [each])

        await asyncio.gather(*(client() for _ in range(clients)))

    return run


async def measure(server: Server, run: Send, contents: Sequence[bytes], repeats: int) -> list[str]:
    """Return the columns of a table: processor milliseconds a file, and files a second."""
    clock = ProcessorClock(server.pid)
    spent: list[Spent] = []
    for _ in range(repeats):
        async with platform(server, "uploads") as target:
            await run(target, contents[:16])
            begun = clock.now()
            await run(target, [content + b"." for content in contents])
            spent.append(clock.since(begun))
    client = report.median([each.processor.client for each in spent]) * 1000 / len(contents)
    database = report.median([each.processor.database for each in spent]) * 1000 / len(contents)
    rate = report.median([len(contents) / each.wall_seconds for each in spent])
    return [f"{client:.2f}", f"{database:.2f}", f"{client + database:.2f}", f"{rate:,.0f}"]


async def run(*, documents: int, repeats: int) -> None:
    """Measure and print both tables."""
    contents = [text.encode() for text in texts(documents)]
    header = ("client ms", "mongod ms", "both ms", "files/s")
    async with running_server() as server:
        report.print_heading("Uploads")
        rows = [[str(n), *await measure(server, in_calls_of(n), contents, repeats)] for n in FILES_A_CALL]
        report.print_table(("files a call", *header), rows)
        rows = [[str(n), *await measure(server, from_clients(n), contents, repeats)] for n in CLIENTS]
        report.print_table(("clients of one file a call", *header), rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = report.arguments("Processor time of uploads, by files a transaction.", repeats=3)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    arguments = parser.parse_args(argv)
    documents = SHORT if arguments.short else arguments.documents
    asyncio.run(run(documents=documents, repeats=1 if arguments.short else arguments.repeats))


if __name__ == "__main__":
    main()
