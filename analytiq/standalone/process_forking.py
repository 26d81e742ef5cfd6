"""A program that imports the code of the platform's processes once and forks each of them: they share its memory.

    python -P process_forking.py CONTROL_DESCRIPTOR MODULE,… PADDING

`PADDING` is room in the command line; the `__main__` of each module is imported before the first fork.

A request on the control socket is a module's name and five descriptors (`FORKED_DESCRIPTORS`). The answer on the
status socket is the process id with a pidfd, and later the exit status. The program has one thread: a lock held by
another one would stay locked in each forked process.

Its processes end when it ends, and it ends with its parent, whose end of the control socket the kernel closes.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

FORKED_DESCRIPTORS = ("environment", "standard input", "standard output", "standard error", "status")
"""Descriptors of a request, in order. `environment` is a file of JSON, an object of strings."""

MAX_NAME_BYTES = 200


@dataclass(frozen=True, slots=True)
class _Forked:
    pid: int
    pid_descriptor: int
    status: socket.socket


class _Forking:
    """Forks on request until the control socket is closed."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._forked: dict[int, _Forked] = {}

    def run(self) -> str | None:
        """Return the module's name in each forked process, None in this one at the end."""
        self._selector.register(self._control, selectors.EVENT_READ, None)
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    key.data()
                    continue
                message, descriptors, _, _ = socket.recv_fds(self._control, MAX_NAME_BYTES, len(FORKED_DESCRIPTORS))
                if not message:
                    return None
                if self._fork(descriptors):
                    return message.decode()

    def _fork(self, descriptors: Sequence[int]) -> bool:
        """Fork; return True in the new process."""
        status = socket.socket(fileno=descriptors[-1])
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            self._control.close()
            status.close()
            for other in self._forked.values():
                other.status.close()
                os.close(other.pid_descriptor)
            _take_on(descriptors[:-1], parent)
            return True
        for descriptor in descriptors[:-1]:
            os.close(descriptor)
        forked = _Forked(pid, os.pidfd_open(pid), status)
        self._forked[pid] = forked
        self._selector.register(forked.pid_descriptor, selectors.EVENT_READ, partial(self._reap, forked))
        with contextlib.suppress(OSError):
            socket.send_fds(status, [str(pid).encode()], [forked.pid_descriptor])
        return False

    def _reap(self, ended: _Forked) -> None:
        _, status = os.waitpid(ended.pid, 0)
        self._selector.unregister(ended.pid_descriptor)
        os.close(ended.pid_descriptor)
        del self._forked[ended.pid]
        with contextlib.suppress(OSError):
            ended.status.send(str(os.waitstatus_to_exitcode(status)).encode())
        ended.status.close()


def _take_on(descriptors: Sequence[int], parent: int) -> None:
    """Give a forked process its session, its environment and its standard streams; end it with its parent."""
    from analytiq.ingestion.parsing.rights.kernel import die_with_parent

    os.setsid()
    die_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    environment, *streams = descriptors
    with os.fdopen(environment, "rb") as file:
        file.seek(0)
        variables: dict[str, str] = json.load(file)
    os.environ.clear()  # noqa: TID251  # a forked process takes on the environment that an exec would give it
    os.environ.update(variables)  # noqa: TID251
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)


def _name_process(arguments: Sequence[str]) -> None:
    """Show the arguments as this process's command line, so that `ps` tells forked processes apart.

    Source: proc(5), `arg_start` and `arg_end` of /proc/pid/stat. The line keeps its length, since a reader counts
    the bytes after a shorter one as empty arguments: slashes fill the first path.
    """
    fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    line = b"".join(argument.encode() + b"\0" for argument in arguments)
    missing = end - start - len(line)
    if start == 0 or missing < 0:
        return
    directory, slash, name = line.rpartition(b"/")
    ctypes.memmove(start, directory + slash * (missing + 1) + name, end - start)


def _preload(modules: Sequence[str]) -> None:
    gc.disable()  # nothing that an import makes is garbage
    for name in modules:
        try:
            importlib.import_module(f"{name}.__main__")
        except Exception as error:  # noqa: BLE001  # the process that needs the module fails by it, and says why
            sys.stderr.write(f"analytiq: cannot import {name} ({type(error).__name__}: {error})\n")
    gc.enable()
    gc.collect()
    # The collector writes to every object that it examines, and a page that is written to is no longer shared.
    gc.freeze()


def main() -> int:
    """Fork processes until the parent closes the control socket; run the module in a forked process."""
    control = socket.socket(fileno=int(sys.argv[1]))
    _preload(sys.argv[2].split(","))
    module = _Forking(control).run()
    if module is None:
        return 0
    from analytiq.standalone import bound_process

    _name_process([sys.executable, "-P", bound_process.__file__, module])
    sys.argv = [module]
    bound_process.watch_parent()
    return importlib.import_module(f"{module}.__main__").main()


if __name__ == "__main__":
    sys.exit(main())
