"""The caller's side of `process_forking`: starts it, has it fork processes, and awaits their ends."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import BinaryIO, cast

from analytiq.standalone import process_forking

MAX_STATUS_BYTES = 32
LONGEST_LINE = "/" * 64
"""Room in the program's command line for those of the processes that it forks."""


class ForkedProcess:
    """A forked process, with the part of asyncio's `Process` that supervision uses."""

    def __init__(self, pid: int, pid_descriptor: int, status: socket.socket) -> None:
        self.pid = pid
        self._pid_descriptor = pid_descriptor
        self._status = status
        self._end = asyncio.create_task(self._wait_end(), name=f"end-of-{pid}")

    async def wait(self) -> int:
        """Wait for its end; return the exit status, negative for a signal."""
        return await asyncio.shield(self._end)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal.

        Raises:
            ProcessLookupError: it has ended.
        """
        if self._end.done():
            raise ProcessLookupError(self.pid)
        signal.pidfd_send_signal(self._pid_descriptor, number)

    async def _wait_end(self) -> int:
        try:
            message = await asyncio.get_running_loop().sock_recv(self._status, MAX_STATUS_BYTES)
        except OSError:
            message = b""
        finally:
            self._status.close()
            os.close(self._pid_descriptor)
        # Without a message the forking process has died, and the kernel has killed all that it forked.
        return int(message) if message else -signal.SIGKILL


class ForkServer:
    """A running `process_forking`."""

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket) -> None:
        self._process = process
        self._control = control

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._process.pid

    @classmethod
    async def start(cls, environment: Mapping[str, str], modules: Sequence[str]) -> "ForkServer":
        """Start the program.

        Args:
            environment: the program's, in which it imports the modules.
            modules: whose `__main__` it imports before it forks.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            arguments = [str(theirs.fileno()), ",".join(modules), LONGEST_LINE]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", process_forking.__file__, *arguments),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=dict(environment),
                start_new_session=True,
            )
        return cls(process, ours)

    async def fork(
        self, module: str, environment: Mapping[str, str], *, standard_input: int, output: int | None
    ) -> ForkedProcess:
        """Fork a process that runs `module.__main__.main()`.

        Args:
            module: preferably one of those that the program has imported.
            environment: the process's whole environment.
            standard_input: a descriptor.
            output: descriptor of both outputs; None for those of this process.

        Raises:
            OSError: the program has ended.
        """
        streams = (1, 2) if output is None else (output, output)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs, _in_memory(json.dumps(dict(environment)).encode()) as file:
                descriptors = [file.fileno(), standard_input, *streams, theirs.fileno()]
                socket.send_fds(self._control, [module.encode()], descriptors)
            message, received, _, _ = await asyncio.to_thread(socket.recv_fds, ours, MAX_STATUS_BYTES, 1)
            if not message:
                raise BrokenPipeError("the forking process has ended")
        except BaseException:
            ours.close()
            raise
        ours.settimeout(0)
        return ForkedProcess(int(message), received[0], ours)

    async def stop(self) -> None:
        """End the program and whatever it has forked."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


def _in_memory(content: bytes) -> BinaryIO:
    """Return a file without a place on a disk: an environment has secrets, and is larger than a message may be."""
    file = cast("BinaryIO", os.fdopen(os.memfd_create("environment"), "w+b", buffering=0))
    file.write(content)
    return file
