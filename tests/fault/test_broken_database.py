"""The database itself is killed, deposed, or has no room: nothing acknowledged is lost, nothing is doubled."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from analytiq.standalone import embedded_disk
from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_server import EmbeddedServer
from tests.fault.conftest import OpenSite, site_at
from tests.fault.crowd import Crowd, patiently
from tests.fault.reader import reader_of
from tests.fault.replica_set import replica_set
from tests.fault.site import Site
from tests.integration.tenant import prose

DISK_BYTES = 700 * 1024 * 1024
"""mongod takes 300 MB of it at start, and is restarted with as much."""


@asynccontextmanager
async def embedded_server(path: Path, deaths: list[str]) -> AsyncGenerator[tuple[EmbeddedServer, SecretStr]]:
    with DataDirectory.claim(path) as directory:
        server = EmbeddedServer(directory, on_death=deaths.append)
        uri = await server.start()
        try:
            yield server, uri
        finally:
            await server.stop()


async def crowd_at(site: Site, documents: int) -> Crowd:
    """A knowledge base that has been indexed, workers, and people about to begin."""
    kb = await site.tenant.knowledge_base()
    steady = (await site.tenant.upload("steady.txt", prose("steady", 3))).document
    await site.tenant.drain()
    crowd = Crowd(site, kb.id, reader_of(site, kb.id), documents)
    crowd.texts[steady.id] = prose("steady", 3)
    crowd.reader.present(steady.id, prose("steady", 3))
    for _ in range(2):
        site.processes.worker()
    return crowd


async def test_mongod_killed_and_restarted_under_load_loses_and_doubles_nothing(
    tmp_path: Path, open_a_site: OpenSite
) -> None:
    deaths: list[str] = []
    async with embedded_server(tmp_path / "data", deaths) as (server, uri), site_at(uri, open_a_site) as site:
        crowd = await crowd_at(site, 24)
        async with crowd.reader.reading():
            work = asyncio.create_task(crowd.work())
            for count in (4, 12):
                await site.until(lambda: crowd.has_indexed(count), site.jobs)  # noqa: B023  # awaited at once
                assert server.pid is not None
                os.kill(server.pid, signal.SIGKILL)
                await patiently(site.connection.ping)
            await work
            await crowd.everything_is_right()
    assert len(deaths) == 2


async def test_replica_set_whose_primary_steps_down_and_then_is_killed_loses_and_doubles_nothing(
    tmp_path: Path, open_a_site: OpenSite
) -> None:
    async with replica_set(tmp_path) as members, site_at(members.uri, open_a_site) as site:
        crowd = await crowd_at(site, 24)
        async with crowd.reader.reading():
            work = asyncio.create_task(crowd.work())
            await site.until(lambda: crowd.has_indexed(4), site.jobs)
            await members.step_down()
            await site.until(lambda: crowd.has_indexed(12), site.jobs)
            await members.kill_primary()
            await work
            await crowd.everything_is_right()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of DISK_BYTES in memory."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(path)],
        check=False,
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here, which takes root: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(ballast: Path) -> None:
    """Write until the disk is full."""
    block = bytes(1024 * 1024)
    with ballast.open("wb", buffering=0) as file:
        while block:
            try:
                file.write(block)
            except OSError as error:
                if not embedded_disk.says_full(error):
                    raise
                block = block[: len(block) // 2]


async def test_database_whose_disk_is_full_says_so_and_comes_back_when_there_is_room(
    tmp_path: Path, small_disk: Path, open_a_site: OpenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_disk, "LOOK_SECONDS", 0.1)
    said: list[str] = []
    async with embedded_server(small_disk / "data", said) as (server, uri), site_at(uri, open_a_site) as site:
        crowd = await crowd_at(site, 6)
        async with crowd.reader.reading():
            ballast = small_disk / "ballast"
            await asyncio.to_thread(fill, ballast)
            work = asyncio.create_task(crowd.work())
            # mongod finds out when it has something to log, as of a new client, else at its next checkpoint.
            site.processes.worker()

            async def has_said_what_to_do() -> bool:
                return any("is full" in sentence and "remove unneeded files" in sentence for sentence in said)

            await site.until(has_said_what_to_do, lambda: patiently(site.jobs))
            assert server.pid is None
            ballast.unlink()
            await work
            await crowd.everything_is_right()
