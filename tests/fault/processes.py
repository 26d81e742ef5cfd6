"""The test's end of the processes of `tests.fault.worker_process`."""

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from tests.fault.worker_process import Fault, Orders, go_file, reached_file

REPOSITORY = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.02


class Process:
    """A running process of the platform."""

    def __init__(self, pid: int, directory: Path) -> None:
        self.pid = pid
        self.directory = directory
        try:
            self._descriptor: int | None = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already
            self._descriptor = None

    @property
    def has_ended(self) -> bool:
        if self._descriptor is None:
            return True
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        return bool(poller.poll(0))

    @property
    def log(self) -> str:
        file = self.directory / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    def has_reached(self, checkpoint: str) -> bool:
        return reached_file(self.directory, checkpoint).exists()

    async def reach(self, checkpoint: str) -> None:
        """Wait until the fault at the checkpoint has come about."""
        await self._until(lambda: self.has_reached(checkpoint), f"it never reached {checkpoint}")

    async def end(self) -> None:
        """Wait for its end."""
        await self._until(lambda: self.has_ended, "it does not end")

    async def be_stopped_at(self, checkpoint: str) -> None:
        """Wait until a fault at the checkpoint has stopped it (SIGSTOP)."""
        await self.reach(checkpoint)
        stat = Path(f"/proc/{self.pid}/stat")
        await self._until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "it is not stopped")

    async def say(self, event: str) -> None:
        """Wait until it has logged the event."""
        await self._until(lambda: f'"{event}"' in self.log, f"it never logged {event}")

    def let_go(self, checkpoint: str) -> None:
        """Let it go on that waits at the checkpoint."""
        go_file(self.directory, checkpoint).touch()

    def send(self, number: signal.Signals) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    async def kill(self) -> None:
        self.send(signal.SIGKILL)
        await self.end()

    def close(self) -> None:
        """Kill it and see it end, so that it writes nothing into the next test's database."""
        if self._descriptor is not None:
            self.send(signal.SIGKILL)
            poller = select.poll()
            poller.register(self._descriptor, select.POLLIN)
            poller.poll()
            os.close(self._descriptor)
            self._descriptor = None

    async def _until(self, condition: Any, otherwise: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not condition():
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(f"process {self.pid}: {otherwise}\n{self.log[-4000:]}") from None


class Nursery:
    """Forks processes; `workers` and `callers` are made by the fixture `processes`."""

    def __init__(self) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.fault.worker_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            text=True,
            bufsize=1,
        )
        self._line()

    def fork(self, orders: Orders) -> Process:
        assert self._program.stdin is not None
        directory = Path(orders.directory)
        directory.mkdir(parents=True, exist_ok=True)
        self._program.stdin.write(orders.as_line())
        self._program.stdin.flush()
        return Process(int(self._line()), directory)

    def close(self) -> None:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        self._program.wait()
        self._program.stdout.close()

    def _line(self) -> str:
        assert self._program.stdout is not None
        line = self._program.stdout.readline()
        if not line:
            raise AssertionError("the nursery of worker processes has ended; see its output above")
        return line


class Processes:
    """Starts processes on one database, and ends them all."""

    def __init__(
        self, nursery: Nursery, directory: Path, environment: dict[str, str], *, constants: dict[str, Any]
    ) -> None:
        self._nursery = nursery
        self._directory = directory
        self._environment = environment
        self._constants = constants
        self._started: list[Process] = []

    def worker(
        self,
        *faults: Fault,
        concurrency: int = 4,
        clock_seconds: float = 0.0,
        settings: dict[str, str] | None = None,
        constants: dict[str, Any] | None = None,
    ) -> Process:
        """A worker; `settings` are environment variables beside the usual ones."""
        environment = {**self._environment, "ANALYTIQ_WORKER__CONCURRENCY": str(concurrency), **(settings or {})}
        return self._start(environment, faults, clock_seconds=clock_seconds, constants=constants or {})

    def reconciler(
        self, *faults: Fault, settings: dict[str, str] | None = None, constants: dict[str, Any] | None = None
    ) -> Process:
        """A reconciler whose lease is as short as a worker's, and whose tasks run once."""
        environment = {
            **self._environment,
            "ANALYTIQ_RECONCILER__LEASE_SECONDS": self._environment["ANALYTIQ_QUEUE__LEASE_SECONDS"],
            "ANALYTIQ_RECONCILER__ORPHAN_GRACE_SECONDS": "0",
            "ANALYTIQ_RECONCILER__INTERVAL_SECONDS": "3600",
            **(settings or {}),
        }
        return self._start(environment, faults, is_reconciler=True, constants=constants or {})

    def api(self, *, port: int, settings: dict[str, str]) -> Process:
        """An API with a data directory of its own, as on a machine of its own; ready once it says `api.listening`."""
        environment = {
            **self._environment,
            "ANALYTIQ_API__PORT": str(port),
            "ANALYTIQ_DATA_DIR": str(self._directory / f"api-{port}"),
            **settings,
        }
        return self._start(environment, (), is_api=True, constants={})

    def caller(
        self, name: str, organization_id: str, arguments: dict[str, Any], *faults: Fault, constants: dict[str, Any]
    ) -> Process:
        """A process that makes one call, as the API does."""
        return self._start(self._environment, faults, call=(name, organization_id, arguments), constants=constants)

    def _start(
        self, environment: dict[str, str], faults: Sequence[Fault], *, constants: dict[str, Any], **orders: Any
    ) -> Process:
        directory = self._directory / f"process-{len(self._started)}"
        process = self._nursery.fork(
            Orders(
                directory=str(directory),
                environment=environment,
                faults=list(faults),
                constants={**self._constants, **constants},
                **orders,
            )
        )
        self._started.append(process)
        return process

    async def stop_all(self) -> None:
        """Stop them as an operator does, by SIGTERM: what they are doing is done, or given back, when this returns."""
        for process in self._started:
            process.send(signal.SIGTERM)
        for process in self._started:
            await process.end()

    @contextlib.contextmanager
    def all_ended(self) -> Generator["Processes"]:
        """Kills what still runs when the block is left."""
        try:
            yield self
        finally:
            for process in self._started:
                process.close()
