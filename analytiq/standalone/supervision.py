"""A supervised process of the platform: started, restarted whenever it dies, and stopped."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from analytiq.errors import PermanentError
from analytiq.standalone import bound_process
from analytiq.standalone.forked_processes import ForkedProcess, ForkServer

SHORT_LIFE_SECONDS = 10.0
"""A process that lived longer is restarted at once: its start has not caused its end."""

MAX_RESTART_PAUSE_SECONDS = 30.0
MAX_SHORT_LIVES_AT_START = 3

Report = Callable[[str], None]

_Process = asyncio.subprocess.Process | ForkedProcess


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """A process to run: `python -m module` with exactly this environment.

    `log_file` receives the process's output; without one it prints to its parent's.
    """

    name: str
    module: str
    environment: Mapping[str, str]
    log_file: Path | None = None


class ManagedProcess:
    """Keeps one process running from `start` to `stop`."""

    def __init__(
        self, plan: ProcessPlan, *, life_line: int, report: Report, fork_server: ForkServer | None = None
    ) -> None:
        """Prepare; nothing runs yet.

        Args:
            plan: the process to run.
            life_line: reading end of the pipe whose closing ends the process (`bound_process`).
            report: called with a sentence each time the process died.
            fork_server: forks the process while it runs; without it, the process is an interpreter of its own.
        """
        self.plan = plan
        self._fork_server = fork_server
        self._life_line = life_line
        self._report = report
        self._process: _Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._is_settled = False

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process, and restart it from now on."""
        self._process = await self._spawn()
        self._keeper = asyncio.create_task(self._keep_running(), name=f"keeper-of-{self.plan.name}")

    def settle(self) -> None:
        """Mark the platform as up: from now on, restart the process however often it dies.

        A database outage of an hour must not end the platform; a wrong setting at start must.
        """
        self._is_settled = True

    async def wait_given_up(self) -> None:
        """Return once it is stopped.

        Raises:
            PermanentError: it died repeatedly before `settle` was called.
        """
        if self._keeper is not None:
            await asyncio.wait((self._keeper,))
            if not self._keeper.cancelled():
                self._keeper.result()

    async def stop(self, *, drain_seconds: float) -> None:
        """End it gently, or kill it after `drain_seconds`; idempotent."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait((keeper,))
        process, self._process = self._process, None
        if process is None:
            return
        _signal(process, signal.SIGTERM)
        try:
            async with asyncio.timeout(drain_seconds):
                await process.wait()
        except TimeoutError:
            self._report(f"{self.plan.name} did not end within {drain_seconds:g} s and was killed.")
        finally:
            _signal(process, signal.SIGKILL)
            await process.wait()

    def kill(self) -> None:
        """Kill it now; `stop` must still be awaited."""
        if self._process is not None:
            _signal(self._process, signal.SIGKILL)

    async def _keep_running(self) -> None:
        short_lives = 0
        process = self._process
        while process is not None:
            began = time.monotonic()
            status = await process.wait()
            self._process = None
            short_lives = short_lives + 1 if time.monotonic() - began < SHORT_LIFE_SECONDS else 0
            if not self._is_settled and short_lives >= MAX_SHORT_LIVES_AT_START:
                raise PermanentError(self._why_given_up(short_lives, status))
            pause_seconds = min(MAX_RESTART_PAUSE_SECONDS, 2.0 ** (short_lives - 2)) if short_lives > 1 else 0.0
            when = f"in {pause_seconds:g} s" if pause_seconds else "at once"
            self._report(f"{self.plan.name} (process {process.pid}) ended with {_outcome(status)}; restarted {when}.")
            await asyncio.sleep(pause_seconds)
            process = self._process = await self._spawn()

    async def _spawn(self) -> _Process:
        with contextlib.ExitStack() as stack:
            log = self.plan.log_file
            output = None if log is None else stack.enter_context(_open_log(log))
            if self._fork_server is not None:
                # A fork server that has died leaves the processes to interpreters of their own.
                with contextlib.suppress(OSError):
                    return await self._fork_server.fork(
                        self.plan.module,
                        self.plan.environment,
                        standard_input=self._life_line,
                        output=None if output is None else output.fileno(),
                    )
            return await asyncio.create_subprocess_exec(
                # -P: a directory called `api` in the user's working directory must not shadow the package.
                *(sys.executable, "-P", bound_process.__file__, self.plan.module),
                stdin=self._life_line,
                stdout=output,
                stderr=output,
                env=dict(self.plan.environment),
                # Ctrl-C reaches the whole foreground group; these end in order, when their parent tells them to.
                start_new_session=True,
            )

    def _why_given_up(self, lives: int, status: int) -> str:
        said = _last_line(self.plan.log_file)
        quote = f" Its last words: {said}" if said else " What it printed says why."
        return f"{self.plan.name} ended {lives} times right after its start, at last with {_outcome(status)}.{quote}"


def _open_log(path: Path) -> BinaryIO:
    """Open a log readable by its owner alone, since it names documents."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode=0o600), "ab")


def _signal(process: _Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)


def _outcome(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def _last_line(log: Path | None) -> str:
    if log is None:
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
