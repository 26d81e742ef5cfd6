"""Mongods of the test's own as one replica set, to be broken."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pymongo import AsyncMongoClient
from pymongo.errors import AutoReconnect, PyMongoError

from analytiq.standalone.embedded_binary import find_binaries
from analytiq.standalone.embedded_process import TRANSACTION_SECONDS, free_port
from tests.integration.conftest import _accepts, _guarded

Client = AsyncMongoClient[dict[str, Any]]
START_SECONDS = 90.0
LOOK_SECONDS = 0.05
STEPPED_DOWN_SECONDS = 5


class ReplicaSet:
    """Its members by port; `kill_primary` and `step_down` return when another one leads."""

    def __init__(self, directory: Path, options: Sequence[str]) -> None:
        self._members: dict[int, subprocess.Popen[bytes]] = {}
        self._guardians: list[subprocess.Popen[bytes]] = []
        self._directory = directory
        self._options = options

    @property
    def uri(self) -> SecretStr:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self._members)
        return SecretStr(f"mongodb://{hosts}/?replicaSet=rs0")

    async def start(self, members: int) -> None:
        for _ in range(members):
            self._start_member()
        async with asyncio.timeout(START_SECONDS):
            while not all(_accepts(port) for port in self._members):
                await asyncio.sleep(LOOK_SECONDS)
        configured = [{"_id": number, "host": f"127.0.0.1:{port}"} for number, port in enumerate(self._members)]
        # The defaults wait 10 s for a primary that is gone.
        settings = {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200, "catchUpTimeoutMillis": 2000}
        async with _client_of(next(iter(self._members))) as client:
            await client.admin.command("replSetInitiate", {"_id": "rs0", "members": configured, "settings": settings})
        await self._primary(but=None)

    async def step_down(self) -> None:
        """Let another member lead."""
        before = await self._primary(but=None)
        async with _client_of(before) as client:
            with contextlib.suppress(AutoReconnect):  # it may close the connection of whoever asked for it
                await client.admin.command("replSetStepDown", STEPPED_DOWN_SECONDS, secondaryCatchUpPeriodSecs=2)
        await self._primary(but=before)

    async def kill_primary(self) -> None:
        primary = await self._primary(but=None)
        self._members[primary].kill()
        self._members[primary].wait()
        await self._primary(but=primary)

    @asynccontextmanager
    async def majority_held_back(self) -> AsyncGenerator[None]:
        """Let no write reach a majority within the block; the set needs the option `enableTestCommands=1`."""
        primary = await self._primary(but=None)
        secondaries = [port for port in self._members if port != primary]
        await self._stop_applying(secondaries, mode="alwaysOn")
        try:
            yield
        finally:
            await self._stop_applying(secondaries, mode="off")

    async def _stop_applying(self, ports: Sequence[int], *, mode: str) -> None:
        for port in ports:
            async with _client_of(port) as client:
                await client.admin.command("configureFailPoint", "rsSyncApplyStop", mode=mode)

    def close(self) -> None:
        for member in self._members.values():
            member.kill()
            member.wait()
        for guardian in self._guardians:
            guardian.wait()

    def _start_member(self) -> None:
        port = free_port(None)
        data = self._directory / f"member-{port}"
        data.mkdir()
        member = subprocess.Popen(
            [
                *(str(find_binaries()[-1]), "--dbpath", str(data), "--port", str(port), "--bind_ip", "127.0.0.1"),
                *("--replSet", "rs0", "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "64"),
                *("--logpath", str(data / "log"), "--setParameter", "diagnosticDataCollectionEnabled=false"),
                *("--setParameter", f"transactionLifetimeLimitSeconds={TRANSACTION_SECONDS}"),
                *self._options,
            ],
            stdout=subprocess.DEVNULL,
        )
        self._members[port] = member
        self._guardians.append(_guarded(member))

    async def _primary(self, *, but: int | None) -> int:
        """The port of the member that leads, once it is another than `but`."""
        async with asyncio.timeout(START_SECONDS):
            while True:
                for port, member in self._members.items():
                    if port != but and member.poll() is None and await _leads(port):
                        return port
                await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def _client_of(port: int) -> AsyncGenerator[Client]:
    client: Client = AsyncMongoClient("127.0.0.1", port, directConnection=True, serverSelectionTimeoutMS=2000)
    try:
        yield client
    finally:
        await client.close()


async def _leads(port: int) -> bool:
    async with _client_of(port) as client:
        try:
            return bool((await client.admin.command("hello")).get("isWritablePrimary"))
        except PyMongoError:
            return False


@asynccontextmanager
async def replica_set(directory: Path, *options: str, members: int = 3) -> AsyncGenerator[ReplicaSet]:
    """A replica set that has a primary; all its members, started with the options, end with the block."""
    started = ReplicaSet(directory, options)
    try:
        await started.start(members)
        yield started
    finally:
        started.close()
