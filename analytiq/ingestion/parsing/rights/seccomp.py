"""A filter of system calls. Structures and numbers of linux/seccomp.h and linux/filter.h.

The filter allows by name. A filtered process may compute, read and write open descriptors, open the paths that
Landlock allows, and end. It creates no process, no socket and no mapping that outlives it, changes no file's
attributes, and signals only itself.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Iterator

from analytiq.ingestion.parsing.rights.kernel import IS_LINUX, checked, machine, system_call
from analytiq.ingestion.parsing.rights.system_calls import BY_MACHINE, FIRST_UNKNOWN, SystemCalls

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
"""SECCOMP_RET_*; an error number is added to REFUSE."""
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
"""Operations of the kernel's BPF."""
_NUMBER, _ARCHITECTURE = 0, 4
"""Offsets in struct seccomp_data."""
_SET_MODE_FILTER, _GET_ACTION_AVAILABLE = 1, 2
_X32 = 0x40000000
"""x86_64's calls for programs with 32-bit pointers, which could circumvent a filter of numbers."""

_WHOLE = (  # noqa: SIM905 -- seventy names, by subject
    "read readv pread64 preadv write writev pwrite64 lseek close close_range ftruncate fsync "
    "fstat newfstatat statx stat lstat access faccessat faccessat2 readlink readlinkat getdents64 getcwd "
    "fstatfs statfs fadvise64 "
    "mmap munmap mremap mprotect madvise brk mincore membarrier "
    "dup poll ppoll select pselect6 pipe2 "
    "futex futex_waitv set_robust_list set_tid_address rseq sched_yield sched_getaffinity getcpu "
    "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall "
    "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time getrandom "
    "getpid gettid getppid getuid geteuid getgid getegid uname sysinfo getrlimit getrusage times "
    "exit exit_group arch_prctl "
).split()
"""Allowed with any arguments: none reaches beyond the process, its open descriptors and Landlock's paths."""
_THREAD = 0x00010000 | 0x00000100 | 0x00000800
"""CLONE_THREAD, CLONE_VM, CLONE_SIGHAND."""
_NEW_NAMESPACE = 0x7E020000
_FCNTL = (0, 1, 2, 3, 4, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC; F_SETOWN and F_SETSIG would signal others."""
_IOCTL = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX; TIOCSTI would type into a terminal."""
_PRCTL = (15, 16, 0x53564D41)
"""PR_SET_NAME, PR_GET_NAME, PR_SET_VMA."""


def is_supported() -> bool:
    """Return whether the kernel and a container's own filter permit a filter."""
    calls = BY_MACHINE.get(machine())
    if not IS_LINUX or calls is None:
        return False
    return system_call(calls.seccomp, _GET_ACTION_AVAILABLE, 0, struct.pack("=I", REFUSE)) == 0


def restrict(*, allow_threads: bool) -> None:
    """Filter the calling thread and all threads that it starts, for good.

    Raises:
        OSError: The kernel refused; no_new_privs must be set before.
    """
    calls = BY_MACHINE[machine()]
    content = program(calls, own_pid=os.getpid(), allow_threads=allow_threads)

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    header = Program(len(content) // 8, content)
    checked("seccomp", system_call(calls.seccomp, _SET_MODE_FILTER, 0, bytes(header)))


def program(calls: SystemCalls, *, own_pid: int, allow_threads: bool) -> bytes:
    """Return the filter as BPF machine code: 8 bytes an instruction."""
    return b"".join(_instructions(calls, own_pid, allow_threads=allow_threads))


def _instructions(calls: SystemCalls, own_pid: int, *, allow_threads: bool) -> Iterator[bytes]:
    yield _instruction(LOAD, _ARCHITECTURE)
    yield _instruction(JUMP_EQUAL, calls.audit_architecture, 1)
    yield _instruction(RETURN, KILL)
    yield _instruction(LOAD, _NUMBER)
    yield _instruction(JUMP_AT_LEAST, _X32, 0, 1)
    yield _instruction(RETURN, KILL)
    for name in _WHOLE:
        if name in calls.numbers:  # younger architectures do without some calls
            yield _instruction(JUMP_EQUAL, calls.numbers[name], 0, 1)
            yield _RETURN_ALLOW
    for name, body in _by_arguments(own_pid, allow_threads=allow_threads).items():
        if name in calls.numbers:
            yield _instruction(JUMP_EQUAL, calls.numbers[name], 0, len(body))
            yield from body
    # glibc falls back where a call does not exist (ENOSYS), and fails where it is refused.
    yield _instruction(JUMP_AT_LEAST, FIRST_UNKNOWN, 0, 1)
    yield _instruction(RETURN, REFUSE | errno.ENOSYS)
    yield _RETURN_REFUSE


def _by_arguments(own_pid: int, *, allow_threads: bool) -> dict[str, list[bytes]]:
    return {
        # Landlock decides on the path. Its versions 1 and 2 let O_TRUNC alone empty a readable file.
        "openat": [_argument(2), *_NO_TRUNCATING_READ],
        "open": [_argument(1), *_NO_TRUNCATING_READ],
        "clone": _THREADS_ALONE if allow_threads else [_RETURN_REFUSE],
        # Its flags lie in memory, where no filter can read them: glibc falls back to clone.
        "clone3": [_instruction(RETURN, REFUSE | errno.ENOSYS)],
        "fcntl": [_argument(1), *_one_of(_FCNTL), _RETURN_REFUSE],
        "ioctl": [_argument(1), *_one_of(_IOCTL), _instruction(RETURN, REFUSE | errno.ENOTTY)],
        "prctl": [_argument(0), *_one_of(_PRCTL), _RETURN_REFUSE],
        # abort() and raise().
        "tgkill": [_argument(0), *_one_of([own_pid]), _RETURN_REFUSE],
        "kill": [_argument(0), *_one_of([own_pid]), _RETURN_REFUSE],
        "prlimit64": _READ_OWN_LIMIT,
        "sendto": _SEND_WITHOUT_ADDRESS,
    }


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value & 0xFFFFFFFF)


def _argument(index: int, *, high: bool = False) -> bytes:
    return _instruction(LOAD, 16 + 8 * index + (4 if high else 0))  # both architectures are little-endian


def _one_of(values: Iterable[int]) -> Iterator[bytes]:
    for value in values:
        yield _instruction(JUMP_EQUAL, value, 0, 1)
        yield _RETURN_ALLOW


_RETURN_ALLOW = _instruction(RETURN, ALLOW)
_RETURN_REFUSE = _instruction(RETURN, REFUSE | errno.EPERM)

_NO_TRUNCATING_READ = [
    _instruction(JUMP_ANY_BIT, os.O_TRUNC, 0, 1),
    _instruction(JUMP_ANY_BIT, os.O_WRONLY | os.O_RDWR, 0, 1),
    _RETURN_ALLOW,
    _RETURN_REFUSE,
]
_THREADS_ALONE = [
    _argument(0),
    _instruction(JUMP_ANY_BIT, _NEW_NAMESPACE, 3),
    _instruction(AND, _THREAD),
    _instruction(JUMP_EQUAL, _THREAD, 0, 1),
    _RETURN_ALLOW,
    _RETURN_REFUSE,
]
_READ_OWN_LIMIT = [
    _argument(0),
    _instruction(JUMP_EQUAL, 0, 0, 5),
    _argument(2),
    _instruction(JUMP_EQUAL, 0, 0, 3),
    _argument(2, high=True),
    _instruction(JUMP_EQUAL, 0, 0, 1),
    _RETURN_ALLOW,
    _RETURN_REFUSE,
]
"""prlimit64 of process 0 without a new limit; a pointer has two halves."""
_SEND_WITHOUT_ADDRESS = [
    _argument(4),
    _instruction(JUMP_EQUAL, 0, 0, 3),
    _argument(4, high=True),
    _instruction(JUMP_EQUAL, 0, 0, 1),
    _RETURN_ALLOW,
    _RETURN_REFUSE,
]
"""Progress uses the open socket; an address would reach another one."""
