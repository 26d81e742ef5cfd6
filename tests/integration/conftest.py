"""Fixtures of the integration tests: mongod processes of a test's own, to be broken at will."""

import asyncio
import socket
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from analytiq.mongo.embedded_binary import find_binaries

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
def eventually() -> EventuallyTrue:
    """Wait until a condition holds, at most a minute."""

    async def wait(condition: Callable[[], bool | Awaitable[bool]]) -> None:
        async with asyncio.timeout(60):
            while True:
                holds = condition()
                if not isinstance(holds, bool):
                    holds = await holds
                if holds:
                    return
                await asyncio.sleep(0.02)

    return wait


StartMongod = Callable[..., Awaitable[int]]


@pytest.fixture
async def start_mongod(tmp_path: Path) -> AsyncIterator[StartMongod]:
    """Start a bare mongod, without authentication, with the given options; returns its port."""
    async with AsyncExitStack() as stack:

        async def start(*options: str) -> int:
            return await stack.enter_async_context(_mongod(tmp_path, options))

        yield start


@asynccontextmanager
async def _mongod(directory: Path, options: tuple[str, ...]) -> AsyncGenerator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    data = directory / f"mongod-{port}"
    data.mkdir()
    process = subprocess.Popen(
        [
            *(str(find_binaries()[-1]), "--dbpath", str(data), "--port", str(port), "--bind_ip", "127.0.0.1"),
            *("--nounixsocket", "--wiredTigerCacheSizeGB", "0.25", "--logpath", str(data / "log")),
            *("--setParameter", "diagnosticDataCollectionEnabled=false", *options),
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(60):
            while not _accepts(port):
                assert process.poll() is None, (data / "log").read_text()[-2000:]
                await asyncio.sleep(0.02)
        yield port
    finally:
        process.kill()
        process.wait()


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
