"""The cost of watching organizations: many idle connections to `GET /events`, and the delay of a change's event.

    python -m benchmarks.watching [--short] [--organizations 10] [--connections 100] [--seconds 60]

`memory` and `CPU` are the API process's, with and without the connections. Nothing happens on them except in one other
organization, in which a document's tags are changed; `told` is from the call to its event.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import httpx
import psutil

from analytiq.standalone.data_directory import read_connection
from benchmarks import report
from benchmarks.ui_size import organization_named, started

MEBIBYTE = 1024 * 1024
SETTLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Caller:
    """An organization's token."""

    url: str
    organization_id: str
    token: str

    def client(self) -> httpx.AsyncClient:
        """Return a client of the organization."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.AsyncClient(base_url=f"{self.url}/v0/orgs/{self.organization_id}", headers=headers, timeout=60.0)


@asynccontextmanager
async def idle_connections(callers: list[Caller], each: int) -> AsyncGenerator[None]:
    """Open idle connections to each, read by the socket alone."""
    opened: list[tuple[asyncio.Task[None], asyncio.StreamWriter]] = []

    async def read(reader: asyncio.StreamReader) -> None:
        while await reader.read(65_536):
            pass

    for caller in callers:
        address = urlsplit(caller.url)
        request = (
            f"GET /v0/orgs/{caller.organization_id}/events HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"Authorization: Bearer {caller.token}\r\n\r\n"
        )
        for _ in range(each):
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(request.encode())
            opened.append((asyncio.create_task(read(reader)), writer))
    try:
        yield
    finally:
        for task, writer in opened:
            task.cancel()
            writer.close()


async def processor_share(process: psutil.Process, seconds: float) -> float:
    """Return the share of one core, over a while."""
    before = process.cpu_times()
    await asyncio.sleep(seconds)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / seconds


async def told_milliseconds(caller: Caller, repeats: int) -> list[float]:
    """Measure the milliseconds from a change to its event."""
    taken: list[float] = []
    async with caller.client() as client:
        tag = (await client.post("/tags", json={"name": "told"})).json()["tag_id"]
        upload = {"documents": [{"name": "told.txt", "content": "VG9sZC4="}]}
        document_id = (await client.post("/documents", json=upload)).json()["documents"][0]["document_id"]
        async with client.stream("GET", "/events") as response:
            lines = response.aiter_lines()
            await asyncio.sleep(SETTLE_SECONDS)
            for number in range(repeats):
                wanted = [tag] if number % 2 == 0 else []
                began = perf_counter()
                (await client.put(f"/documents/{document_id}", json={"tag_ids": wanted})).raise_for_status()
                async for line in lines:
                    if line.startswith("data: {") and json.loads(line[6:]).get("tag_ids") == wanted:
                        break
                taken.append((perf_counter() - began) * 1000)
    return taken


async def measure(process: psutil.Process, callers: list[Caller], apart: Caller, *, each: int, seconds: float) -> None:
    """Print the table."""
    await asyncio.sleep(SETTLE_SECONDS)
    rows = [("0", f"{process.memory_info().rss / MEBIBYTE:.0f}", f"{await processor_share(process, seconds):.1%}", "–")]
    async with idle_connections(callers, each):
        await asyncio.sleep(SETTLE_SECONDS)
        share = await processor_share(process, seconds)
        told = report.median(await told_milliseconds(apart, 10))
        memory = process.memory_info().rss / MEBIBYTE
        rows.append((f"{len(callers) * each:,}", f"{memory:.0f}", f"{share:.1%}", f"{told:.0f}"))
    report.print_table(("connections", "memory MiB", "CPU, of a core", "told p50 ms"), rows)


async def prepare(data_dir: Path, organizations: int) -> list[Caller]:
    """Create organizations with a token each."""
    url = read_connection(data_dir).url
    made = [await organization_named(data_dir, f"Watched {number}") for number in range(organizations)]
    return [Caller(url, organization_id, token) for organization_id, token, _ in made]


def main(given: list[str] | None = None) -> None:
    """Measure and print."""
    parser = report.arguments(__doc__ or "", repeats=1)
    parser.add_argument("--organizations", type=int, default=10)
    parser.add_argument("--connections", type=int, default=100, help="of each")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(given)
    if options.short:
        options.organizations, options.seconds = 2, 10.0
    report.print_heading("Watching organizations")
    with tempfile.TemporaryDirectory(prefix="analytiq-watching-") as temporary:
        data_dir = Path(temporary) / "data"
        with started(data_dir) as platform:
            children = psutil.Process(platform.pid).children(recursive=True)
            api = next(child for child in children if child.cmdline()[-1] == "api")
            *callers, apart = asyncio.run(prepare(data_dir, options.organizations + 1))
            asyncio.run(measure(api, callers, apart, each=options.connections, seconds=options.seconds))


if __name__ == "__main__":
    main()
