"""The filter's program, run by a small interpreter: it decides alike on both architectures, also on one not at hand."""

import errno
import os
import struct

import pytest

from analytiq.ingestion.parsing.rights.seccomp import (
    ALLOW,
    AND,
    JUMP_ANY_BIT,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    KILL,
    LOAD,
    REFUSE,
    RETURN,
    program,
)
from analytiq.ingestion.parsing.rights.system_calls import BY_MACHINE, FIRST_UNKNOWN

OWN_PID = 4711
REFUSED, ABSENT, NO_TERMINAL = REFUSE | errno.EPERM, REFUSE | errno.ENOSYS, REFUSE | errno.ENOTTY
THREAD = 0x3D0F00
"""The flags of glibc's pthread_create."""

BY_ARGUMENTS = [
    ("read", (), ALLOW),
    ("exit_group", (), ALLOW),
    ("openat", (0, 0, os.O_RDONLY), ALLOW),
    ("openat", (0, 0, os.O_RDONLY | os.O_TRUNC), REFUSED),
    ("openat", (0, 0, os.O_WRONLY | os.O_TRUNC | os.O_CREAT), ALLOW),
    ("clone", (17,), REFUSED),
    ("clone", (THREAD,), REFUSED),
    ("clone3", (), ABSENT),
    ("fcntl", (3, 3), ALLOW),
    ("fcntl", (3, 8), REFUSED),
    ("ioctl", (0, 0x5401), ALLOW),
    ("ioctl", (0, 0x5412), NO_TERMINAL),
    ("prctl", (15,), ALLOW),
    ("prctl", (4, 1), REFUSED),
    ("kill", (OWN_PID, 6), ALLOW),
    ("kill", (1, 0), REFUSED),
    ("kill", (0, 9), REFUSED),
    ("kill", (0xFFFFFFFF, 9), REFUSED),
    ("tgkill", (OWN_PID, OWN_PID, 6), ALLOW),
    ("tgkill", (OWN_PID + 1, OWN_PID + 1, 6), REFUSED),
    ("prlimit64", (0, 9, 0, 1), ALLOW),
    ("prlimit64", (1, 9, 0, 1), REFUSED),
    ("prlimit64", (0, 9, 0x7F0000000000, 1), REFUSED),
    ("prlimit64", (0, 9, 0x10, 1), REFUSED),
    ("sendto", (3, 0, 5, 0, 0), ALLOW),
    ("sendto", (3, 0, 5, 0, 0x10), REFUSED),
    ("sendto", (3, 0, 5, 0, 0x7F0000000000), REFUSED),
]


def decide(code: bytes, number: int, arguments: tuple[int, ...], *, architecture: int) -> int:
    """Run a program as the kernel does; a ValueError where the kernel would refuse to load it."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *(*arguments, *[0] * (6 - len(arguments))))
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, value = struct.unpack_from("=HBBI", code, 8 * at)
        at += 1
        match operation:
            case _ if operation == LOAD:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case _ if operation == AND:
                accumulator &= value
            case _ if operation == RETURN:
                return int(value)
            case _ if operation in {JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT}:
                holds = {
                    JUMP_EQUAL: accumulator == value,
                    JUMP_AT_LEAST: accumulator >= value,
                    JUMP_ANY_BIT: bool(accumulator & value),
                }[operation]
                at += if_true if holds else if_false
            case _:
                raise ValueError(f"no operation of a filter: {operation:#x}")


@pytest.mark.parametrize("machine", BY_MACHINE)
@pytest.mark.parametrize(("name", "arguments", "expected"), BY_ARGUMENTS)
def test_call_is_decided_by_its_arguments(machine: str, name: str, arguments: tuple[int, ...], expected: int) -> None:
    calls = BY_MACHINE[machine]
    code = program(calls, own_pid=OWN_PID, allow_threads=False)
    assert decide(code, calls.numbers[name], arguments, architecture=calls.audit_architecture) == expected


@pytest.mark.parametrize("machine", BY_MACHINE)
def test_every_call_that_is_not_named_is_refused(machine: str) -> None:
    calls = BY_MACHINE[machine]
    code = program(calls, own_pid=OWN_PID, allow_threads=False)
    for number in set(range(FIRST_UNKNOWN)) - set(calls.numbers.values()):
        assert decide(code, number, (), architecture=calls.audit_architecture) == REFUSED
    for number in (FIRST_UNKNOWN, 999, 0x3FFFFFFF):
        assert decide(code, number, (), architecture=calls.audit_architecture) == ABSENT


@pytest.mark.parametrize("machine", BY_MACHINE)
def test_other_architectures_and_their_numbers_kill(machine: str) -> None:
    calls = BY_MACHINE[machine]
    code = program(calls, own_pid=OWN_PID, allow_threads=False)
    assert decide(code, calls.numbers["read"], (), architecture=0x40000003) == KILL
    assert decide(code, 0x40000000, (), architecture=calls.audit_architecture) == KILL


@pytest.mark.parametrize("machine", BY_MACHINE)
@pytest.mark.parametrize(
    ("flags", "expected"), [(THREAD, ALLOW), (17, REFUSED), (0x4111, REFUSED), (THREAD | 0x10000000, REFUSED)]
)
def test_threads_where_they_are_allowed_and_never_processes(machine: str, flags: int, expected: int) -> None:
    calls = BY_MACHINE[machine]
    code = program(calls, own_pid=OWN_PID, allow_threads=True)
    assert decide(code, calls.numbers["clone"], (flags,), architecture=calls.audit_architecture) == expected
