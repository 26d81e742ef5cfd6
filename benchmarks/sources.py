"""Sources: what an unchanged item costs, items to searchable beside bulk uploads, and sources that do not answer.

    python -m benchmarks.sources [--short] [--items N] [--unchanged N] [--seconds N]

Three tables. In the first, small files become searchable through a folder source, and through uploads as
`analytiq ingest` sends them. In the second, a run finds no file changed. In the third, sources run by their schedule
with two workers of four slots; some of them connect to a server that accepts and never answers.
"""

import argparse
import asyncio
import socket
import statistics
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

from analytiq import clock
from analytiq.ingestion.sources import registry
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    KindSchema,
    ListedBatch,
    ListedItem,
    NoCredentials,
    SourceContext,
)
from analytiq.ingestion.sources.configuration.service import SourceDraft
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.jobs.scheduling.fences import NoFence
from analytiq.models.source import RunState, Source, SourceRun
from analytiq.models.upload import DuplicatePolicy
from analytiq.settings import SourceSettings
from benchmarks import report
from benchmarks.corpus import TextFile
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.ingest import DIMENSIONS, upload, warm_up
from benchmarks.platform_under_test import Platform, Server, platform, running_server, working
from benchmarks.processor_time import Spent

SILENT_KIND = "silent"
INTERVAL_SECONDS = 60
SOURCES = 100
SILENT = 20
ITEMS_EACH = 5


class SilentSettings(KindSchema):
    """The settings: the port of the server that never answers."""

    port: int


class SilentConnector:
    """A connection to a service that accepts and never answers, by the client of the hosted services."""

    title: ClassVar[str] = "Silent"
    description: ClassVar[str] = "A service that never answers."
    settings_schema: ClassVar[type[KindSchema]] = SilentSettings
    credentials_schema: ClassVar[type[KindSchema]] = NoCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        del credentials
        assert isinstance(settings, SilentSettings)
        self._client = ServiceClient(context.operator, f"http://127.0.0.1:{settings.port}", headers={})

    async def check(self) -> None:
        """See the port."""
        await self._client.get("/")

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See the port; never yields."""
        await self._client.get("/")
        yield ListedBatch(items=(), cursor=cursor or "")

    async def find(self, external_id: str) -> ListedItem | None:
        """See the port."""
        del external_id
        return None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See the port."""
        raise ItemGoneError(f"{item.name} does not exist.")

    async def close(self) -> None:
        """See the port."""
        await self._client.close()


def write_files(folder: Path, count: int) -> list[TextFile]:
    """Write small files of different words, and return them."""
    folder.mkdir(parents=True)
    files = [TextFile(folder / f"{number:05}.txt") for number in range(count)]
    for number, file in enumerate(files):
        words = " ".join(f"word{(number * 31 + index * 7) % 5000}" for index in range(60))
        file.path.write_text(f"Item {number}. {words}.", encoding="utf-8")
    return files


async def folder_source(target: Platform, name: str, folder: Path, *, interval: int | None = None) -> Source:
    """Create a source of a folder."""
    draft = SourceDraft(
        name=name,
        kind="folder",
        settings={"path": str(folder)},
        tag_ids=(target.tag.id,),
        interval_seconds=interval,
    )
    return await target.services.ingestion.sources.create(target.organization.id, draft)


async def run_to_searchable(target: Platform, source: Source) -> tuple[Spent, SourceRun]:
    """Run a source with a worker in this process, until nothing is left to do."""
    begin = target.clock.now()
    async with working(target.services):
        run = await target.services.ingestion.source_runs.start(target.organization.id, source.id)
        await target.until_idle()
    spent = target.clock.since(begin)
    ended = await target.services.ingestion.source_runs.get(target.organization.id, source.id, run.id)
    if ended.state is not RunState.SUCCEEDED:
        raise SystemExit(f"The run has failed: {ended.error}")
    return spent, ended


async def measure_items(server: Server, directory: Path, count: int, unchanged: int) -> None:
    """Print the first two tables."""
    embedder = HashEmbedder(DIMENSIONS)
    files = write_files(directory / "first", count)
    rows: list[list[str]] = []
    with every_model_is(embedder):
        for way in ("uploads in bulk", "folder source"):
            async with platform(server, "sources", sources=SourceSettings(folders=(directory,))) as target:
                await target.create_knowledge_base(model=MODEL)
                await warm_up(target)
                if way == "folder source":
                    spent, _ = await run_to_searchable(
                        target, await folder_source(target, "First", files[0].path.parent)
                    )
                else:
                    begin = target.clock.now()
                    async with working(target.services):
                        await upload(target, files, DuplicatePolicy.RETURN)
                        await target.until_idle()
                    spent = target.clock.since(begin)
                rows.append(_row(way, spent, count))
    report.print_table(("way", "items", "seconds", "items/s", "ms processor an item"), rows)
    folder = directory / "second"
    write_files(folder, unchanged)
    async with platform(server, "sources", sources=SourceSettings(folders=(directory,))) as target:
        await warm_up(target)
        source = await folder_source(target, "Second", folder)
        rows = []
        for name in ("first run", "second run", "third run"):
            spent, run = await run_to_searchable(target, source)
            rows.append([*_row(name, spent, unchanged), f"{spent.processor.client * 1000 / unchanged:.2f}",
                         f"{run.counts.unchanged:,}"])  # fmt: skip
        print()
        report.print_table(
            ("run", "items", "seconds", "items/s", "ms processor an item", "of these, worker", "unchanged"), rows
        )


def _row(name: str, spent: Spent, count: int) -> list[str]:
    return [
        name,
        f"{count:,}",
        f"{spent.wall_seconds:.1f}",
        f"{count / spent.wall_seconds:,.0f}",
        f"{spent.processor.total * 1000 / count:.2f}",
    ]


async def measure_silence(server: Server, directory: Path, seconds: float) -> None:
    """Print the third table: waits of answering sources for a slot, and their runs, without and with silent ones."""
    for number in range(SOURCES):
        write_files(directory / f"scheduled{number}", ITEMS_EACH)
    rows: list[list[str]] = []
    operator = SourceSettings(folders=(directory,), private_hosts=("127.0.0.1",))
    for silent in (0, SILENT):
        with silent_server() as port:
            async with platform(server, "sources", sources=operator) as target:
                await warm_up(target)
                for number in range(SOURCES):
                    if number % 5 == 4 and number < silent * 5:
                        await _silent_source(target, f"Silent {number}", port)
                    else:
                        await folder_source(
                            target, f"Folder {number}", directory / f"scheduled{number}", interval=INTERVAL_SECONDS
                        )
                waits, ended = await _scheduled(target, seconds)
        rows.append(
            [
                str(silent),
                f"{ended:,}",
                f"{statistics.median(waits):.1f}",
                f"{max(waits):.1f}",
            ]
        )
    print()
    report.print_table(("silent of 100", "ended runs of others", "median wait, s", "longest wait, s"), rows)


async def _scheduled(target: Platform, seconds: float) -> tuple[list[float], int]:
    """Let sources run by their schedule; return the waits of answering ones for a slot, and their ended runs."""
    runs, organization_id = target.services.ingestion.source_runs, target.organization.id
    loop = asyncio.get_running_loop()
    async with working(target.services, slots=4), working(target.services, slots=4):
        until = loop.time() + seconds
        while loop.time() < until:
            await runs.keep_up(NoFence())
            await asyncio.sleep(1.0)
        now = clock.now()
    sources, _ = await target.services.ingestion.sources.page(organization_id, name_search="Folder", skip=0, limit=1000)
    waits: list[float] = []
    states: Counter[RunState] = Counter()
    for source in sources:
        found, _ = await runs.page(organization_id, source.id, skip=0, limit=100)
        waits += [((run.started_at or now) - run.created_at).total_seconds() for run in found]
        states.update(run.state for run in found)
    return waits, states[RunState.SUCCEEDED]


async def _silent_source(target: Platform, name: str, port: int) -> None:
    draft = SourceDraft(name=name, kind=SILENT_KIND, settings={"port": port}, interval_seconds=INTERVAL_SECONDS)
    await target.services.ingestion.sources.create(target.organization.id, draft)


@contextmanager
def silent_server() -> Generator[int]:
    """Yield the port of a server that accepts connections and never answers; the kind for it is installed."""
    entry = EntryPoint(SILENT_KIND, f"{__name__}:SilentConnector", registry.ENTRY_POINT_GROUP)
    kinds = (*registry.BUILT_IN_KINDS, entry)
    with (
        socket.create_server(("127.0.0.1", 0), backlog=1024) as listening,
        patch.object(registry, "BUILT_IN_KINDS", kinds),
    ):
        # The kernel accepts for the backlog; nobody reads.
        yield listening.getsockname()[1]


async def run(options: argparse.Namespace) -> None:
    """Measure, and print the tables."""
    with tempfile.TemporaryDirectory(prefix="analytiq-benchmark-") as made:
        directory = Path(made)
        async with running_server() as server:
            report.print_heading("Sources")
            if options.items:
                await measure_items(server, directory, options.items, options.unchanged)
            if options.seconds:
                await measure_silence(server, directory, options.seconds)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="fewer items, no schedule")
    parser.add_argument("--items", type=int, default=5000, help="items to searchable; 0: leave out")
    parser.add_argument("--unchanged", type=int, default=10_000, help="unchanged items")
    parser.add_argument("--seconds", type=float, default=300.0, help="of the schedule; 0: leave out")
    options = parser.parse_args(arguments)
    if options.short:
        options.items, options.unchanged, options.seconds = 500, 1000, 0.0
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
