"""Linux system calls without a function in Python."""

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from typing import cast

IS_LINUX = sys.platform == "linux"

_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 1, 4, 36, 38
"""Options of prctl(2)."""

Argument = int | bytes | None

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_syscall = cast("Callable[..., int]", _libc.syscall)
_libc_prctl = cast("Callable[..., int]", _libc.prctl) if IS_LINUX else None


def system_call(number: int, *arguments: Argument) -> int:
    """Make a system call; return -1 if the kernel refuses, with the reason in `ctypes.get_errno()`.

    The C function is variadic: each integer is passed as a whole register, or the kernel sees garbage above 32 bits.
    """
    whole = (ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments)
    return _syscall(ctypes.c_long(number), *whole)


def checked(name: str, result: int) -> int:
    """Return the result of a system call.

    Raises:
        OSError: The call failed.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def machine() -> str:
    """Return the processor's architecture as the kernel names it."""
    return platform.machine()


def forbid_memory_reads() -> None:
    """Close this process's memory and environment to other processes of the same user, including debuggers.

    An exec undoes this, so each program calls it at its start. Core dumps are disabled too.
    """
    _prctl(_SET_DUMPABLE, 0)


def forbid_new_privileges() -> None:
    """Prevent programs started by this process from gaining rights by their file's mode."""
    _prctl(_SET_NO_NEW_PRIVILEGES, 1)


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send a signal to this process when the process that forked it ends."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal_number)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if _libc_prctl is not None:
        checked("prctl", _libc_prctl(option, *(ctypes.c_ulong(argument) for argument in (value, 0, 0, 0))))
