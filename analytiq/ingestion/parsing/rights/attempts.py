"""Attempts of forbidden actions in a restricted process, because a container's filter can hide kernel features."""

import os
import socket
from collections.abc import Callable


def remaining() -> tuple[str, ...]:
    """Try forbidden actions in a restricted process; return those that succeeded."""
    return tuple(name for name, attempt in ATTEMPTS.items() if _succeeds(attempt))


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _open_for_reading() -> None:
    os.close(os.open("/proc/self/status", os.O_RDONLY))


def _list_directory() -> None:
    os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))


def _write_file() -> None:
    # A directory's name opens nothing for writing: the file has no name and is gone when it is closed.
    temporary = getattr(os, "O_TMPFILE", os.O_CREAT)
    os.close(os.open("/tmp", temporary | os.O_RDWR))  # noqa: S108 -- whether it can be, is the question


def _open_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _start_process() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _signal_parent() -> None:
    os.kill(os.getppid(), 0)


ATTEMPTS: dict[str, Callable[[], object]] = {
    "read any file": _open_for_reading,
    "list any directory": _list_directory,
    "write files": _write_file,
    "reach the network": _open_socket,
    "start processes": _start_process,
    "signal other processes": _signal_parent,
}
