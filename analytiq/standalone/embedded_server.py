"""The embedded MongoDB: a real mongod as a one-node replica set, started, watched and ended by this process.

    claim the data directory ─▶ a survivor of a crash runs on it? ─yes─▶ adopt it ──┐
                                        │ no                                        ├─▶ primary ─▶ watched
                                        └─▶ start mongod (old port if free) ────────┘        │
                                                      ▲                                      │
                                                      └──────── it ended by itself ◀─────────┘
                                                        (its disk is full: once there is room)

It listens on the loopback only, with authentication; key and password are created at first start and kept in
the data directory. It ends when this process ends, for any reason (`embedded_guardian`). Linux only.
"""

import asyncio
import base64
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import structlog
from pydantic import SecretStr

from analytiq.errors import AnalytiqError, ConflictError, InvalidInputError, PermanentError, TransientError
from analytiq.settings import MEBIBYTE
from analytiq.standalone import embedded_disk
from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_binary import find_binaries
from analytiq.standalone.embedded_process import (
    FailureKind,
    MongodProcess,
    ServerFiles,
    ServerLimits,
    StartFailure,
    explain_end,
    free_port,
    lacks_room,
    last_words,
    spawn,
)
from analytiq.standalone.embedded_state import RunningServer, ServerState
from analytiq.storage.embedded_replica_set import (
    APPLICATION_PASSWORD_FILE,
    APPLICATION_USER,
    connection_uri,
    identify,
    make_primary,
    provide_application_user,
)
from analytiq.storage.session import DatabaseError

OPLOG_MEBIBYTES = 512
"""Fixed at the creation of the data; `analytiq doctor` includes it in the required space."""

START_SECONDS = 120.0
"""Seconds from exec to primary. Measured under 2 s; recovery after a crash may replay a journal of gigabytes."""

SURVIVOR_SECONDS = 75.0
"""Time for a survivor to end: longer than its guardian waits before killing it."""

PORT_ATTEMPTS = 5
USER_SECONDS = 30.0
SHORT_LIFE_SECONDS = 30.0
MAX_SHORT_LIVES = 5
MAX_RESTART_PAUSE_SECONDS = 30.0
DISK_FULL = "embedded_server_disk_full"

_log = structlog.get_logger(__name__)


class EmbeddedServer:
    """A mongod on a claimed data directory."""

    def __init__(
        self,
        directory: DataDirectory,
        *,
        database: str | None = None,
        cache_bytes: int = 256 * MEBIBYTE,
        on_death: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare; nothing runs before `start`.

        Args:
            directory: claimed until `stop` has returned.
            database: the one accessible by the returned address; None: all, as the administrator.
            cache_bytes: WiredTiger's cache, at least 256 MiB.
            on_death: called with sentences each time mongod ends unexpectedly and is restarted, with the remedy for a
                full disk.
        """
        self._directory = directory
        self._files = ServerFiles(directory.path)
        self._database = database
        self._limits = ServerLimits(cache_bytes=cache_bytes, oplog_mebibytes=OPLOG_MEBIBYTES)
        self._on_death = on_death
        self._process: MongodProcess | None = None
        self._supervisor: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The process id of mongod, while one runs."""
        return None if self._process is None else self._process.pid

    async def start(self) -> SecretStr:
        """Bring the database up as primary; return its connection URI, valid across restarts of mongod.

        Raises:
            InvalidInputError: no mongod is available.
            PermanentError: mongod fails; quotes its log, with a remedy.
            TransientError: it is not ready within two minutes.
            ConflictError: another mongod holds the data.
        """
        if sys.platform != "linux":
            raise InvalidInputError(
                "The embedded database runs on Linux only. Elsewhere start MongoDB yourself, as a replica"
                " set, and set MONGODB_URI.",
                code="embedded_server_missing",
            )
        if self._supervisor is not None:
            raise ConflictError("This embedded database was started already; stop it first.")
        try:
            self._directory.read_or_create_secret(self._files.key.name, _new_key)
            password = self._directory.read_or_create_secret("mongod.password")
            self._process = await self._adopt(password) or await self._launch(password, port=None)
        except OSError as error:
            raise PermanentError(
                f"The embedded database cannot be started: {error.strerror} ({error.filename}). Make sure"
                f" that this user may write {str(self._files.root)!r} and that its disk has 500 MB to spare,"
                " or set ANALYTIQ_DATA_DIR to another directory.",
                code="embedded_server_failed",
            ) from error
        self._supervisor = asyncio.create_task(self._supervise(password), name="embedded-mongod")
        try:
            return await self._address(self._process.port, password)
        except BaseException:
            await self.stop()
            raise

    async def _address(self, port: int, password: SecretStr) -> SecretStr:
        """Return the address, as the application's user if a database is named."""
        if self._database is None:
            return connection_uri(port, password)
        own_password = self._directory.read_or_create_secret(APPLICATION_PASSWORD_FILE)
        try:
            async with asyncio.timeout(USER_SECONDS):
                await provide_application_user(port, password, own_password, self._database)
        except (DatabaseError, TimeoutError) as error:
            raise TransientError(
                f"The embedded database did not make its user ({type(error).__name__}). Start again, and look at"
                f" {self._files.log} if that does not help.",
                code="embedded_server_failed",
            ) from error
        return connection_uri(port, own_password, user=APPLICATION_USER)

    async def stop(self) -> None:
        """Shut mongod down cleanly (about 1 s); idempotent."""
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is None:
            return
        await _cancel(supervisor)
        if self._process is not None:
            await self._end(self._process)

    async def wait_closed(self) -> None:
        """Return once `stop` is called.

        Raises:
            AnalytiqError: mongod has failed for good; the text gives the cause.
        """
        supervisor = self._supervisor
        if supervisor is None:
            return
        await asyncio.wait((supervisor,))
        if not supervisor.cancelled():
            supervisor.result()

    async def _adopt(self, password: SecretStr) -> MongodProcess | None:
        """Adopt a mongod that outlived the process that started it, or wait for its end.

        Raises:
            ConflictError: neither succeeds.
        """
        state = ServerState.read(self._files.state)
        if state.process is None or state.port is None or not state.process.serves(self._files.data):
            return None
        try:
            survivor = MongodProcess(state.process.pid, state.port, child=None)
        except ProcessLookupError:
            return None
        identity = await identify(state.port, password)
        if identity is not None and identity.pid == survivor.pid:
            _log.info("embedded_mongod.adopted", pid=survivor.pid, port=survivor.port)
            return survivor
        # Most likely its guardian is ending it.
        try:
            async with asyncio.timeout(SURVIVOR_SECONDS):
                await survivor.wait()
        except TimeoutError as error:
            raise ConflictError(
                f"Process {survivor.pid} is a mongod on {str(self._files.data)!r} that neither answers nor"
                f" ends: stop it with `kill {survivor.pid}`, then start again.",
                code="embedded_server_failed",
            ) from error
        finally:
            await survivor.forget()
        return None

    async def _launch(self, password: SecretStr, *, port: int | None) -> MongodProcess:
        """Start a mongod and make it primary.

        Args:
            password: of its user.
            port: the only acceptable one; None: the previous one, else any.
        """
        failures: list[StartFailure] = []
        for binary in find_binaries():
            outcome = await self._launch_on_a_port(binary, password, port)
            if isinstance(outcome, MongodProcess):
                return outcome
            failures.append(outcome)
            if outcome.kind is not FailureKind.INCOMPATIBLE_DATA:
                break
        detail = " ".join(failure.detail for failure in failures)
        if failures[-1].kind is FailureKind.PORT_TAKEN:
            raise TransientError(detail, code="embedded_server_failed")
        if failures[-1].kind is FailureKind.DISK_FULL:
            raise PermanentError(detail, code=DISK_FULL)
        raise PermanentError(detail, code="embedded_server_failed")

    async def _launch_on_a_port(
        self, binary: Path, password: SecretStr, port: int | None
    ) -> MongodProcess | StartFailure:
        attempts = 0
        while True:
            attempts += 1
            wanted = port or free_port(ServerState.read(self._files.state).port)
            outcome = await self._launch_once(binary, password, wanted)
            if isinstance(outcome, MongodProcess):
                return outcome
            if outcome.kind is not FailureKind.PORT_TAKEN or attempts == PORT_ATTEMPTS:
                return outcome

    async def _launch_once(self, binary: Path, password: SecretStr, port: int) -> MongodProcess | StartFailure:
        began = time.monotonic()
        try:
            process = await spawn(binary, self._files, self._limits, port)
        except OSError as error:
            if embedded_disk.says_full(error):
                raise
            return StartFailure(
                FailureKind.OTHER,
                f"{binary} cannot be executed ({error.strerror}): check that it is a MongoDB server for this"
                " kind of machine.",
            )
        try:
            failure = await self._await_primary(process, binary, password)
        except BaseException:
            await process.end()
            raise
        if failure is not None:
            await process.forget()
            return failure
        _log.info(
            "embedded_mongod.started",
            pid=process.pid,
            port=port,
            binary=str(binary),
            seconds=round(time.monotonic() - began, 2),
        )
        return process

    async def _await_primary(self, process: MongodProcess, binary: Path, password: SecretStr) -> StartFailure | None:
        """Wait for the primary or for the end of the process, whichever comes first."""
        ServerState(port=process.port, process=RunningServer.of(process.pid)).write(self._files.state)
        ending = asyncio.create_task(process.wait())
        rising = asyncio.create_task(make_primary(process.port, password))
        try:
            await asyncio.wait((ending, rising), timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                return explain_end(self._files, binary, ending.result(), process.port)
            if not rising.done():
                raise TransientError(
                    f"The embedded database is not ready after {START_SECONDS:g} s; it may be replaying its"
                    f" journal after a crash. Start again, and look at {self._files.log} if that does not"
                    " help.",
                    code="embedded_server_failed",
                )
            if rising.result().pid != process.pid:
                # Ours has lost the port to a server that knows our password, and is about to report it.
                return explain_end(self._files, binary, await ending, process.port)
        finally:
            await _cancel(ending)
            await _cancel(rising)
        return None

    async def _supervise(self, password: SecretStr) -> None:
        try:
            await self._keep_running(password)
        except (AnalytiqError, OSError) as error:
            _log.error("embedded_mongod.given_up", detail=str(error))
            raise

    async def _keep_running(self, password: SecretStr) -> None:
        """Restart mongod on the same port whenever it ends, until cancelled or until it keeps ending."""
        short_lives = 0
        while True:
            process = self._process
            if process is None:
                return
            began = time.monotonic()
            status = await process.wait()
            await process.forget()
            self._process = None
            short_lives = short_lives + 1 if time.monotonic() - began < SHORT_LIFE_SECONDS else 0
            self._report_death(process, status)
            is_out_of_room = lacks_room(self._files)
            if is_out_of_room:
                short_lives = 0  # it will live longer once there is free space
            if short_lives >= MAX_SHORT_LIVES:
                raise PermanentError(
                    f"The embedded database ended {short_lives} times, each within {SHORT_LIFE_SECONDS:g} s"
                    f" of its start. It said: {last_words(self._files) or 'nothing'}. Its log is"
                    f" {self._files.log}.",
                    code="embedded_server_failed",
                )
            if short_lives > 1:
                await asyncio.sleep(min(MAX_RESTART_PAUSE_SECONDS, 2.0**short_lives))
            # Clients have the URI: no other port will do.
            self._process = await self._launch_again(password, process.port, is_out_of_room=is_out_of_room)

    async def _launch_again(self, password: SecretStr, port: int, *, is_out_of_room: bool) -> MongodProcess:
        """Start another mongod on the known port; after a full disk, wait for free space first."""
        while True:
            try:
                if not is_out_of_room:
                    return await self._launch(password, port=port)
            except PermanentError as error:
                if error.code != DISK_FULL:
                    raise
            except OSError as error:
                if not embedded_disk.says_full(error):
                    raise
            why = embedded_disk.waiting_for_room(self._files.root)
            _log.error("embedded_mongod.waits_for_room", detail=why)
            if self._on_death is not None:
                self._on_death(why)
            await embedded_disk.wait_for_room(self._files.root)
            is_out_of_room = False

    def _report_death(self, process: MongodProcess, status: int | None) -> None:
        words = last_words(self._files)
        reason = f"The embedded database (process {process.pid}) ended with status {status} and is restarted."
        if words:
            reason += f" It said: {words}."
        _log.error("embedded_mongod.died", pid=process.pid, status=status, said=words)
        if self._on_death is not None:
            self._on_death(reason)

    async def _end(self, process: MongodProcess) -> None:
        self._process = None
        await process.end()
        try:
            ServerState(port=process.port).write(self._files.state)
        except OSError as error:
            # It only saves the next start a look at a process that is gone.
            _log.warning("embedded_mongod.state_not_written", reason=error.strerror)


async def _cancel(task: asyncio.Task[object]) -> None:
    """Cancel a task and wait for its end; ignore its error."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()


def _new_key() -> str:
    """Generate a key file's content; mongod accepts 6 to 1024 characters of standard base64."""
    return base64.b64encode(os.urandom(96)).decode()
