"""A run of a source whose worker is killed again and again, while the source changes under it.

    python -m tests.fault.killed_runs [--kind folder|webdav|nextcloud|s3] [--items 1000] [--kills 20] [--seed N]

Workers are real processes, killed by SIGKILL: half of them at a checkpoint of the run, half at any moment after one.
Meanwhile items are added, edited, renamed, removed, and edited back. Afterwards another run brings in what the first
could not see, and everything is compared with the source: nothing may be lost, doubled or stale.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import structlog

from analytiq.ingestion.sources.configuration.service import SourceDraft
from analytiq.models.source import ItemOutcome, RunState, Source, SourceRun
from analytiq.settings import SourceSettings
from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_server import EmbeddedServer
from analytiq.storage.client import connect
from analytiq.storage.migrations import migrate
from analytiq.telemetry import logs
from tests.fakes.embedding_server import EmbeddingServer
from tests.fault import invariants
from tests.fault import site as fault_site
from tests.fault.changing_sources import SOURCES, ChangingSource, digest_of
from tests.fault.processes import Nursery, Process
from tests.fault.site import Site, open_site
from tests.fault.worker_process import Fault

log = structlog.get_logger(__name__)

LISTING = ("sources.batch_staged", "sources.batch_uploaded", "sources.batch_committed")
REMOVING = (
    Fault("sources.vanished_marked"),
    Fault("sources.documents_removed"),
    Fault("sources.documents_removed", nth=2, delay_seconds=0.01),
)
"""Places behind the listing; the other kills are within it."""
FOLDER_ITEMS = 25
SMALL_BATCHES = {
    "analytiq.ingestion.sources.kinds.folder.BATCH": 12,
    "analytiq.ingestion.sources.systems.remote_files.walk.BATCH": 12,
    "analytiq.ingestion.sources.systems.buckets.connector.BATCH": 12,
    "analytiq.ingestion.sources.runs.vanishing.BATCH": 4,
}
"""So that a run has a place for each kill."""
LEASE_SECONDS = 6.0
"""So long that a busy machine does not take a slow worker for a dead one: after four deaths, a job is given up."""
PATIENCE_SECONDS = 900.0
LONGEST_DELAY_SECONDS = 0.4
LOOK_SECONDS = 0.05


@dataclass(slots=True)
class Changer:
    """Changes a source without end; `touched` are the ids of items that it has changed."""

    source: ChangingSource
    chance: random.Random
    most: int
    texts: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Digests of each version of an item that there ever was, by its id."""
    touched: set[str] = field(default_factory=set[str])
    acts: Counter[str] = field(default_factory=Counter[str])
    _number: int = 0

    def write(self, path: str, text: str | None = None) -> None:
        """Add or edit an item."""
        self._number += 1
        self.source.write(path, text or f"Text {self._number} of {path}: tulip{self._number} and rose{self._number}.")
        key = self.source.ids[path]
        self.texts.setdefault(key, set()).add(digest_of(self.source.texts[path]))
        self.touched.add(key)

    def remove(self, path: str) -> None:
        """Remove an item."""
        self.touched.add(self.source.ids[path])
        self.source.remove(path)

    def rename(self, path: str) -> None:
        """Move an item to any place of the source's order."""
        self._number += 1
        target = f"f{self.chance.randrange(40):02}/moved{self._number}.txt"
        self.touched.add(self.source.ids[path])
        self.source.rename(path, target)
        key = self.source.ids[target]
        self.touched.add(key)
        self.texts.setdefault(key, set()).add(digest_of(self.source.texts[target]))

    async def change(self) -> None:
        """Change items until cancelled, or until there were enough changes."""
        while self.acts.total() < self.most:
            path = self.chance.choice(list(self.source.texts))
            act = self.chance.choices(("add", "edit", "back", "rename", "remove"), (3, 4, 2, 2, 2))[0]
            match act:
                case "add":
                    self._number += 1
                    self.write(f"f{self.chance.randrange(40):02}/added{self._number}.txt")
                case "edit":
                    self.write(path)
                case "back":
                    before = self.source.texts[path]
                    self.write(path)
                    await asyncio.sleep(self.chance.random() * 0.5)
                    self.write(path, before)
                case "rename":
                    self.rename(path)
                case _:
                    self.remove(path)
            self.acts[act] += 1
            await asyncio.sleep(self.chance.random() * 0.2)


@dataclass(slots=True)
class KilledRuns:
    """A source of a platform, with what changes it and what reads it."""

    site: Site
    changer: Changer
    source: Source
    kb_id: str
    places: list[str] = field(default_factory=list[str])
    """Places of the deaths of workers."""
    living: Process | None = None
    """The worker that is not killed."""
    lease_seconds: float = LEASE_SECONDS
    drift: Counter[str] = field(default_factory=Counter[str])
    """Drift that the reconciler repaired, by kind."""

    @property
    def organization_id(self) -> str:
        return self.site.tenant.id

    def worker(self, *faults: Fault) -> Process:
        """Start a worker with small batches."""
        settings = {"ANALYTIQ_QUEUE__LEASE_SECONDS": str(self.lease_seconds)}
        return self.site.processes.worker(*faults, settings=settings, constants=SMALL_BATCHES)

    async def run(self) -> SourceRun:
        """Run to the end by a worker that lives, with all that follows."""
        run = await self.site.services.ingestion.source_runs.start(self.organization_id, self.source.id)
        return await self._ended(run)

    async def run_killed(self, kills: int) -> SourceRun:
        """Run while the source changes, by workers of which this many are killed."""
        if self.living is not None:
            await self.living.kill()
            self.living = None
        run = await self.site.services.ingestion.source_runs.start(self.organization_id, self.source.id)
        changing = asyncio.create_task(self.changer.change())
        try:
            for fault in self._faults(kills):
                if not await self._die(fault, run):
                    break
        finally:
            changing.cancel()
            await asyncio.wait([changing])
        if not changing.cancelled():
            changing.result()
        return await self._ended(run)

    async def _ended(self, run: SourceRun) -> SourceRun:
        """Let a worker do all that is left; statistics that died with a worker are the reconciler's."""
        if self.living is None:
            self.living = self.worker()
        report = await self.site.mend()
        self.drift.update(report.counts())
        return await self.again(run)

    def _faults(self, kills: int) -> list[Fault]:
        chance, names = self.changer.chance, cycle(LISTING)
        faults: list[Fault] = []
        for number in range(max(0, kills - len(REMOVING))):
            delay = chance.uniform(0.001, LONGEST_DELAY_SECONDS) if number % 2 else 0.0
            faults.append(Fault(next(names), nth=1 + number % 2, delay_seconds=delay))
        return [*faults, *REMOVING][-kills:] if kills else []

    async def _die(self, fault: Fault, run: SourceRun) -> bool:
        """Let a worker work until it dies; return False if the run had too few removals for that."""
        worker = self.worker(fault)
        while not worker.has_ended:
            if not (await self.again(run)).is_open:
                if fault in REMOVING:
                    self.living = worker
                    return False
                raise AssertionError(f"the run ended before {fault}: use more items\n{worker.log[-2000:]}")
            await asyncio.sleep(LOOK_SECONDS)
        assert worker.has_reached(fault.checkpoint), f"it died by itself:\n{worker.log[-4000:]}"
        place = f"{fault.checkpoint} +{fault.delay_seconds * 1000:.0f} ms"
        self.places.append(place)
        log.info("killed", place=place, counts=str((await self.again(run)).counts))
        return True

    async def again(self, run: SourceRun) -> SourceRun:
        return await self.site.services.ingestion.source_runs.get(self.organization_id, run.source_id, run.id)

    async def documents(self) -> dict[str, dict[str, Any]]:
        """All documents by the id of their item; two of one item are an error."""
        rows = await invariants.rows(self.site, "docs")
        by_item = {row["external_identity"]["external_id"]: row for row in rows}
        assert len(by_item) == len(rows), "an item has two documents"
        return by_item

    async def require_bounds(self, run: SourceRun) -> None:
        """Check what a run owes to a source that changed under it.

        Items that nobody touched are exact; the others have a version that there was.
        """
        assert run.state is RunState.SUCCEEDED, run.error
        found, changer = await self.documents(), self.changer
        for path, key in changer.source.ids.items():
            if key not in changer.touched:
                assert found[key]["sha256"] == digest_of(changer.source.texts[path]), f"{path} is stale"
        for key, row in found.items():
            assert row["sha256"] in changer.texts[key], f"{key} has a text that it never had"
        entries = [row for row in await invariants.rows(self.site, "source_run_entries") if row["run_id"] == run.id]
        told = Counter([row["outcome"] for row in entries])
        assert told == Counter({each.value: getattr(run.counts, each.value) for each in ItemOutcome}), "miscounted"
        once = Counter([row["external_id"] for row in entries if row["external_id"] not in changer.touched])
        assert set(once.values()) <= {1}, "an untouched item was counted twice"

    async def require_truth(self) -> None:
        """Check that the documents, their texts and vectors are those of the source."""
        source, found = self.changer.source, await self.documents()
        expected = {source.ids[path]: (path, digest_of(text)) for path, text in source.texts.items()}
        assert {key: (row["document_name"], row["sha256"]) for key, row in found.items()} == expected
        items = await invariants.rows(self.site, "source_items")
        assert {row["external_id"]: row["document_id"] for row in items} == {
            key: str(row["_id"]) for key, row in found.items()
        }
        texts = {str(found[source.ids[path]]["_id"]): text for path, text in source.texts.items()}
        await invariants.rows_hold(self.site, {self.kb_id: texts})
        chunks: dict[str, list[tuple[int, str]]] = {}
        for row in await invariants.rows(self.site, f"kb_vectors_{self.kb_id}"):
            chunks.setdefault(row["document_id"], []).append((row["chunk_index"], row["chunk_text"]))
        joined = {each: "".join(text for _, text in sorted(parts)) for each, parts in chunks.items()}
        assert {each: "".join(text.split()) for each, text in joined.items()} == {
            each: "".join(text.split()) for each, text in texts.items()
        }


async def _settled(changing: ChangingSource) -> None:
    await asyncio.sleep(max(0.0, changing.settled_at - time.time()))


@asynccontextmanager
async def killed_runs(site: Site, changing: ChangingSource, *, items: int, seed: int) -> AsyncGenerator[KilledRuns]:
    """Yield a source that was read once, with most of its items new or changed since."""
    chance = random.Random(seed)
    changer = Changer(changing, chance, most=items)
    paths = [f"f{number // FOLDER_ITEMS:02}/{number:04}.txt" for number in range(items)]
    known = sorted(chance.sample(paths, items * 2 // 5))
    for path in known:
        changer.write(path)
    await _settled(changing)
    kb = await site.tenant.knowledge_base()
    draft = SourceDraft(
        name="Changing",
        kind=changing.kind,
        settings=changing.settings,
        credentials=changing.credentials,
        tag_ids=(site.tenant.tag.id,),
    )
    source = await site.services.ingestion.sources.create(site.tenant.id, draft)
    runs = KilledRuns(site, changer, source, kb.id)
    assert (await runs.run()).counts.added == len(known)
    for path in known[::2]:
        changer.write(path)
    for path in known[1::12]:
        changer.remove(path)
    for path in set(paths) - set(known):
        changer.write(path)
    changer.touched.clear()
    yield runs


async def prove(runs: KilledRuns, kills: int, server: EmbeddingServer) -> list[SourceRun]:
    """Run killed, then once quietly, then once more with nothing to do; check each of the three."""
    changing = runs.changer.source
    before = {key: str(row["_id"]) for key, row in (await runs.documents()).items()}
    first = await runs.run_killed(kills)
    await runs.require_bounds(first)
    await _settled(changing)
    second = await runs.run()
    assert (second.state, second.counts.failed) == (RunState.SUCCEEDED, 0), second.error
    await runs.require_truth()
    after = {key: str(row["_id"]) for key, row in (await runs.documents()).items()}
    kept = before.keys() & after.keys()
    lost = {key for key in kept if before[key] != after[key] and key in changing.ids.values()}
    texts = server.texts
    third = await runs.run()
    assert (third.counts.unchanged, third.counts.listed) == (len(changing.texts), len(changing.texts))
    assert server.texts == texts, "an unchanged item was embedded again"
    assert not (lost - runs.changer.touched), "an item that nobody touched has another document"
    return [first, second, third]


async def _main(options: argparse.Namespace) -> None:
    logs.configure(as_json=False, level="INFO", process="killed-runs")
    fault_site.PATIENCE_SECONDS = PATIENCE_SECONDS
    began = time.monotonic()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="analytiq-killed-")))
        papers = directory / "papers"
        papers.mkdir()
        changing = SOURCES[options.kind](stack, papers)
        embedding_server = stack.enter_context(EmbeddingServer())
        claimed = stack.enter_context(DataDirectory.claim(directory / "data"))
        nursery = Nursery()
        stack.callback(nursery.close)
        server = EmbeddedServer(claimed)
        uri = await server.start()
        connection = await connect(uri, "killed")
        try:
            await migrate(connection)
            allowed = SourceSettings(folders=(papers,), private_hosts=("127.0.0.1",))
            async with (
                open_site(connection, uri, embedding_server, nursery, directory / "site", sources=allowed) as site,
                killed_runs(site, changing, items=options.items, seed=options.seed) as runs,
            ):
                ended = await prove(runs, options.kills, embedding_server)
        finally:
            await connection.close()
            await server.stop()
    print(f"{options.kind}, seed {options.seed}: {options.kills} workers killed, {time.monotonic() - began:.0f} s")
    print("died at:", "; ".join(runs.places))
    print("repaired by the reconciler:", dict(runs.drift))
    print("changed meanwhile:", dict(runs.changer.acts))
    for name, run in zip(("killed run", "next run", "third run"), ended, strict=True):
        print(f"{name}: {run.counts!r}")
    print(f"Nothing lost, doubled or stale: {len(changing.texts):,} documents.")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=SOURCES, default="folder")
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
