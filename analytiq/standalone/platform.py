"""The whole platform on one machine: the database, the API, workers and the reconciler, run by this process.

    claim the data directory ─▶ database ─▶ migrate, organization and token ─▶ API and workers ─▶ reconciler
                                                                                                      │
                                             connection.json, "ready" ◀── GET /ready answers 200 ◀────┘

Stops in the reverse order: workers and reconciler finish their jobs, then the API, the database last.
This process stays small: it imports neither the parsers nor the models, only the database's driver. What it needs once
the database runs, it imports while the database starts.
"""

import asyncio
import importlib
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import SecretStr

from analytiq.errors import TransientError
from analytiq.settings import Settings, provider_keys_from_environment
from analytiq.standalone.addresses import available_port, is_ready, url_of
from analytiq.standalone.data_directory import ConnectionFile, DataDirectory
from analytiq.standalone.embedded_server import EmbeddedServer
from analytiq.standalone.forked_processes import ForkServer
from analytiq.standalone.key_files import OLD_KEYS_FILE, SECRET_KEY_FILE, old_keys_of
from analytiq.standalone.log_files import LogFiles
from analytiq.standalone.machine import Capacity
from analytiq.standalone.process_plans import LOGS, MODULES, plan_processes, shared_environment
from analytiq.standalone.supervision import ManagedProcess

if TYPE_CHECKING:
    from analytiq.standalone.first_access import Access

READY_SECONDS = 120.0
READY_POLL_SECONDS = 0.05

_FIRST_ACCESS = "analytiq.standalone.first_access"

DRAIN_MARGIN_SECONDS = 5.0
"""Extra seconds for a worker to return unfinished jobs to the queue."""


@dataclass(frozen=True, slots=True)
class PlatformOptions:
    """Options of a run.

    Attributes:
        data_dir: directory of all data.
        host: address of the API.
        port: its port; 0 takes a free one.
        capacity: the number of worker processes, with the slots and model threads of each.
        keeps_logs: whether the processes log to files in the data directory instead of the terminal.
    """

    data_dir: Path
    host: str
    port: int
    capacity: Capacity
    keeps_logs: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """The started platform."""

    connection: ConnectionFile
    access: "Access"
    logs: Path | None
    """Directory of the processes' logs; None if they print to the terminal."""


class Platform:
    """The platform, from `start` to `stop`; as a context manager it stops at the end of the block."""

    def __init__(self, settings: Settings, options: PlatformOptions, *, report: Callable[[str], None]) -> None:
        """Prepare; nothing runs before `start`.

        Args:
            settings: read from the environment; `options` take precedence.
            options: of this run.
            report: called with a sentence each time a part died and is restarted.
        """
        self._settings = settings
        self._options = options
        self._report = report
        self._stack = AsyncExitStack()
        self._database: EmbeddedServer | None = None
        self._fork_server: ForkServer | None = None
        self._background: list[ManagedProcess] = []
        self._api: list[ManagedProcess] = []
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> Ready:
        """Start everything; return once the API reports that it is ready.

        Raises:
            ConflictError: another process holds the data directory, or the port.
            InvalidInputError: a setting is invalid, or there is no mongod.
            TransientError: the database or the API is not ready in time.
            PermanentError: a process ends repeatedly.
        """
        directory = self._stack.enter_context(DataDirectory.claim(self._options.data_dir))
        port = available_port(self._options.host, self._options.port)
        # First, since it imports for two seconds, in which the database starts.
        self._fork_server = await ForkServer.start(shared_environment(directory.path), MODULES)
        importing = asyncio.create_task(asyncio.to_thread(importlib.import_module, _FIRST_ACCESS))
        uri = await self._open_database(directory)
        access: Access = await (await importing).open_or_create(uri, self._settings, directory.path)
        secret_key = await self._secret_key(directory, uri)
        if access.has_provider_keys:
            await self._tell_of_another_key(secret_key, directory, uri)
        await self._tell_of_changes(secret_key, directory, uri, has_keys=access.has_provider_keys)
        await self._start_processes(directory, uri, secret_key, port)
        await self._until_ready(port)
        url = url_of(self._options.host, port)
        connection = ConnectionFile(url=url, organization_id=access.organization_id, token=access.token)
        directory.write_connection(connection)
        directory.announce(url)
        return Ready(connection, access, directory.path / LOGS if self._options.keeps_logs else None)

    async def wait_given_up(self) -> None:
        """Wait until the platform fails for good.

        Raises:
            AnalytiqError: the database, or at start a process, ends repeatedly.
        """
        waits = [asyncio.create_task(process.wait_given_up()) for process in self._processes]
        if self._database is not None:
            waits.append(asyncio.create_task(self._database.wait_closed()))
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            await _cancel(waits)

    async def stop(self) -> None:
        """Stop in order; idempotent."""
        drain_seconds = self._settings.worker.drain_seconds + DRAIN_MARGIN_SECONDS
        for processes in (self._background, self._api):
            await asyncio.gather(*(process.stop(drain_seconds=drain_seconds) for process in processes))
        fork_server, self._fork_server = self._fork_server, None
        if fork_server is not None:
            await fork_server.stop()
        if self._database is not None:
            await self._database.stop()
        following, self._following = self._following, None
        if following is not None:
            await _cancel([following])
        await self._stack.aclose()

    def kill_processes(self) -> None:
        """Kill all but the database at once, for an impatient user; `stop` still does the rest."""
        for process in self._processes:
            process.kill()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def _processes(self) -> list[ManagedProcess]:
        return [*self._background, *self._api]

    async def _open_database(self, directory: DataDirectory) -> SecretStr:
        mongo = self._settings.mongo
        if mongo.uri is not None:
            return mongo.uri
        self._database = EmbeddedServer(
            directory,
            database=mongo.database,
            cache_bytes=mongo.embedded_cache_bytes,
            on_death=self._report,
        )
        return await self._database.start()

    async def _secret_key(self, directory: DataDirectory, uri: SecretStr) -> SecretStr:
        if self._settings.secret_key is not None:
            return self._settings.secret_key
        secret_key = directory.read_or_create_secret(SECRET_KEY_FILE, _new_secret_key)
        if (directory.path / OLD_KEYS_FILE).exists():
            # Imported only here: cryptography is 8 MB.
            from analytiq.standalone.secret_keys import finish_rotation

            await finish_rotation(uri, self._settings.mongo.database, secret_key, directory.path)
        return secret_key

    async def _tell_of_another_key(self, secret_key: SecretStr, directory: DataDirectory, uri: SecretStr) -> None:
        """Report an unreadable key now instead of at the first call to a provider; all else works, so it starts."""
        # Imported only where keys are stored: cryptography is 8 MB.
        from analytiq.inference.credentials.encryption import Vault
        from analytiq.standalone.secret_keys import key_problem

        old_keys = (*self._settings.old_secret_keys, *old_keys_of(directory.path))
        problem = await key_problem(uri, self._settings.mongo.database, Vault(secret_key, old_keys))
        if problem is not None:
            self._report(f"Warning: {problem}.")

    async def _tell_of_changes(
        self, secret_key: SecretStr, directory: DataDirectory, uri: SecretStr, *, has_keys: bool
    ) -> None:
        """Report the keys and default models changed by the environment of this start; the API applies them."""
        names_default = self._settings.embedding.default_model or self._settings.llm.default_model
        if not has_keys and not names_default and not provider_keys_from_environment():
            return
        # Imported only if there is anything to report: cryptography is 8 MB.
        from analytiq.inference.credentials.encryption import Vault
        from analytiq.standalone.start_report import changes_of_start

        old_keys = (*self._settings.old_secret_keys, *old_keys_of(directory.path))
        for sentence in await changes_of_start(uri, self._settings, Vault(secret_key, old_keys)):
            self._report(sentence)

    async def _start_processes(
        self, directory: DataDirectory, uri: SecretStr, secret_key: SecretStr, port: int
    ) -> None:
        plans = plan_processes(
            directory.path,
            uri=uri,
            secret_key=secret_key,
            host=self._options.host,
            port=port,
            capacity=self._options.capacity,
            keeps_logs=self._options.keeps_logs,
        )
        life_line, writing_end = os.pipe()
        self._stack.callback(os.close, life_line)
        self._stack.callback(os.close, writing_end)
        managed = [
            ManagedProcess(plan, life_line=life_line, report=self._report, fork_server=self._fork_server)
            for plan in (plans.api, *plans.workers, plans.reconciler)
        ]
        self._api, self._background = managed[:1], managed[1:]
        for process in (*self._api, *self._background):
            await process.start()
        files = [process.plan.log_file for process in self._processes if process.plan.log_file is not None]
        if files:
            self._following = asyncio.create_task(LogFiles(files, report=self._report).follow(), name="log-files")

    async def _until_ready(self, port: int) -> None:
        waiting = asyncio.create_task(self._poll_ready(port))
        failing = asyncio.create_task(self.wait_given_up())
        try:
            done, _ = await asyncio.wait((waiting, failing), timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise TransientError(
                    f"The API is not ready after {READY_SECONDS:g} s; what its process printed says why.",
                    code="api_not_ready",
                )
            for task in done:
                task.result()
        finally:
            await _cancel([waiting, failing])
        for process in self._processes:
            process.settle()

    async def _poll_ready(self, port: int) -> None:
        while not await asyncio.to_thread(is_ready, self._options.host, port):  # noqa: ASYNC110  # another process's
            await asyncio.sleep(READY_POLL_SECONDS)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for their end; ignore their errors."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()


def _new_secret_key() -> str:
    # Imported at first start only: cryptography is 8 MB.
    from analytiq.inference.credentials.encryption import new_secret_key

    return new_secret_key()
