"""A parser in the hands of an attacker: it does what its document names, and tells how that ended.

The document is JSON: the attempt's name and the targets, which the test made. A result is `["done", value]` or
`["refused", errno]`. Run as a program, it gives its rights up and tries all attempts in one process.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Targets = dict[str, Any]
"""secret, beside, document, copy, home: paths. victim: a process id, with the address of a secret in its memory, and
with listeners at port, socket and abstract."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_ON_X86_64 = platform.machine() == "x86_64"


def call(name: str, *arguments: object) -> int:
    numbers = _X86_64 if _ON_X86_64 else _AARCH64
    whole = (ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments)
    result = int(_libc.syscall(ctypes.c_long(numbers[name]), *whole))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


_X86_64 = {
    "process_vm_readv": 310, "ptrace": 101, "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424,
    "rt_sigqueueinfo": 129, "io_uring_setup": 425, "userfaultfd": 323, "perf_event_open": 298, "bpf": 321,
    "keyctl": 250, "shmget": 29, "mount": 165, "personality": 135, "unshare": 272, "setns": 308, "seccomp": 317,
    "landlock_create_ruleset": 444, "prctl": 157, "tgkill": 234, "openat2": 437, "name_to_handle_at": 303,
    "execveat": 322, "memfd_create": 319, "clone3": 435, "add_key": 248, "mq_open": 240, "inotify_init1": 294,
    "fanotify_init": 300, "timerfd_create": 283, "epoll_create1": 291, "kcmp": 312, "process_madvise": 440,
    "quotactl": 179, "reboot": 169, "swapon": 167, "init_module": 175, "acct": 163, "sethostname": 170,
    "settimeofday": 164, "splice": 275, "vmsplice": 278, "set_mempolicy": 238, "ioprio_set": 251,
}  # fmt: skip
_AARCH64 = {
    "process_vm_readv": 270, "ptrace": 117, "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424,
    "rt_sigqueueinfo": 138, "io_uring_setup": 425, "userfaultfd": 282, "perf_event_open": 241, "bpf": 280,
    "keyctl": 219, "shmget": 194, "mount": 40, "personality": 92, "unshare": 97, "setns": 268, "seccomp": 277,
    "landlock_create_ruleset": 444, "prctl": 167, "tgkill": 131, "openat2": 437, "name_to_handle_at": 264,
    "execveat": 281, "memfd_create": 279, "clone3": 435, "add_key": 217, "mq_open": 180, "inotify_init1": 26,
    "fanotify_init": 262, "timerfd_create": 85, "epoll_create1": 20, "kcmp": 272, "process_madvise": 440,
    "quotactl": 60, "reboot": 142, "swapon": 224, "init_module": 105, "acct": 89, "sethostname": 161,
    "settimeofday": 170, "splice": 76, "vmsplice": 75, "set_mempolicy": 237, "ioprio_set": 30,
}  # fmt: skip


def read(path: str, size: int = 6) -> str:
    with open(path, "rb", buffering=0) as file:
        return file.read(size).decode("latin-1")


def read_memory(targets: Targets) -> str:
    with open(f"/proc/{targets['victim']}/mem", "rb", buffering=0) as file:
        file.seek(targets["address"])
        return file.read(6).decode()


def read_memory_by_call(targets: Targets) -> str:
    buffer = ctypes.create_string_buffer(6)
    here = struct.pack("=QQ", ctypes.addressof(buffer), 6)
    there = struct.pack("=QQ", targets["address"], 6)
    call("process_vm_readv", targets["victim"], here, 1, there, 1, 0)
    return buffer.raw.decode()


def read_in_thread(targets: Targets) -> str:
    found: list[str | OSError] = []

    def try_it() -> None:
        try:
            found.append(read(targets["secret"]))
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


def write(path: str) -> None:
    with open(path, "a") as file:
        file.write("")


def create(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)


def there_and_back(there: Callable[[], object], back: Callable[[], object]) -> None:
    there()
    back()


def connect(family: int, address: object) -> str:
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(address)  # pyright: ignore[reportArgumentType]
        return connection.recv(6).decode()


def open_socket(family: int, kind: int) -> None:
    socket.socket(family, kind).close()


def start_process() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def start_by_vfork() -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)


def start_by_clone3() -> None:
    child = call("clone3", struct.pack("=8Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def attach(targets: Targets) -> None:
    call("ptrace", 16, targets["victim"], 0, 0)
    os.waitpid(targets["victim"], 0)
    call("ptrace", 17, targets["victim"], 0, 0)


def set_own_limit() -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except ValueError as error:  # Python's word for EPERM
        raise PermissionError(errno.EPERM, str(error)) from error


def send_descriptor() -> None:
    mine, other = socket.socketpair()
    with mine, other:
        socket.send_fds(mine, [b"x"], [0])


def signal_by_descriptor(targets: Targets) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, targets["victim"])
    os.close(reading)
    os.close(writing)


REACHING: dict[str, Callable[[Targets], object]] = {
    "read the secret": lambda t: read(t["secret"]),
    "read the secret in a thread": read_in_thread,
    "read the secret by /proc/self/root": lambda t: read(f"/proc/self/root{t['secret']}"),
    "read the secret by openat2": lambda t: os.close(
        call("openat2", -100, os.fsencode(t["secret"]) + b"\0", bytes(24), 24)
    ),
    "read /etc/passwd": lambda _: read("/etc/passwd"),
    "list the home directory": lambda t: os.listdir(t["home"]),
    "list the root": lambda _: os.listdir("/"),
    "read the victim's environment": lambda t: read(f"/proc/{t['victim']}/environ"),
    "read the victim's command line": lambda t: read(f"/proc/{t['victim']}/cmdline"),
    "read the victim's maps": lambda t: read(f"/proc/{t['victim']}/maps"),
    "read the server's command line": lambda _: read(f"/proc/{os.getppid()}/cmdline"),
    "read the own environment": lambda _: read("/proc/self/environ"),
    "write the secret": lambda t: write(t["secret"]),
    "write the document": lambda t: write(t["document"]),
    "create a file beside the secret": lambda t: create(t["beside"]),
    "create a file in /dev/shm": lambda t: create(f"/dev/shm/{Path(t['beside']).name}-{os.getpid()}"),
    "truncate the secret": lambda t: os.truncate(t["secret"], os.stat(t["secret"]).st_size),
    "truncate the document by reading": lambda t: os.close(os.open(t["copy"], os.O_RDONLY | os.O_TRUNC)),
    "change the secret's mode": lambda t: os.chmod(t["secret"], 0o600),
    "change the secret's owner": lambda t: os.chown(t["secret"], os.getuid(), os.getgid()),
    "change the secret's time": lambda t: os.utime(t["secret"]),
    "rename the secret": lambda t: there_and_back(
        lambda: os.rename(t["secret"], t["beside"]), lambda: os.rename(t["beside"], t["secret"])
    ),
    "link the secret": lambda t: there_and_back(
        lambda: os.link(t["secret"], t["beside"]), lambda: os.unlink(t["beside"])
    ),
    "make a symbolic link": lambda t: there_and_back(
        lambda: os.symlink("/", t["beside"]), lambda: os.unlink(t["beside"])
    ),
    "make a directory": lambda t: there_and_back(lambda: os.mkdir(t["beside"]), lambda: os.rmdir(t["beside"])),
    "make a named pipe": lambda t: there_and_back(lambda: os.mkfifo(t["beside"]), lambda: os.unlink(t["beside"])),
    "lock the document": lambda t: fcntl.flock(os.open(t["document"], os.O_RDONLY), fcntl.LOCK_SH),
    "change the directory": lambda _: os.chdir("/"),
    "open a TCP socket": lambda _: open_socket(socket.AF_INET, socket.SOCK_STREAM),
    "open a UDP socket": lambda _: open_socket(socket.AF_INET, socket.SOCK_DGRAM),
    "open a Unix socket": lambda _: open_socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "open a netlink socket": lambda _: open_socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "make a socket pair": lambda _: [end.close() for end in socket.socketpair()],
    "connect by TCP": lambda t: connect(socket.AF_INET, ("127.0.0.1", t["port"])),
    "connect by a Unix path": lambda t: connect(socket.AF_UNIX, t["socket"]),
    "connect by an abstract name": lambda t: connect(socket.AF_UNIX, "\0" + t["abstract"]),
    "send a descriptor": lambda _: send_descriptor(),
    "start a process": lambda _: start_process(),
    "start a program": lambda _: start_by_vfork(),
    "signal the server": lambda _: os.kill(os.getppid(), 0),
    "signal the own group": lambda _: os.kill(0, 0),
    "signal everybody": lambda _: os.kill(-1, 0),
    "signal the victim": lambda t: os.kill(t["victim"], 0),
    "signal the victim's thread": lambda t: call("tgkill", t["victim"], t["victim"], 0),
    "signal the victim through a descriptor": signal_by_descriptor,
    "open the victim as a descriptor": lambda t: os.close(call("pidfd_open", t["victim"], 0)),
    "limit the victim": lambda t: resource.prlimit(
        t["victim"], resource.RLIMIT_CORE, resource.prlimit(t["victim"], resource.RLIMIT_CORE)
    ),
    "slow the victim down": lambda t: os.setpriority(
        os.PRIO_PROCESS, t["victim"], os.getpriority(os.PRIO_PROCESS, t["victim"])
    ),
    "move the victim to a processor": lambda t: os.sched_setaffinity(t["victim"], os.sched_getaffinity(t["victim"])),
    "move into another group": lambda _: os.getpgid(os.getppid()) and os.setpgid(0, os.getpid()),
    "set an own limit": lambda _: set_own_limit(),
    "make memory without a limit": lambda _: os.close(os.memfd_create("x")),
    "make a timer": lambda _: signal.setitimer(signal.ITIMER_REAL, 0),
    "watch files": lambda _: os.close(call("inotify_init1", 0)),
    "become readable by others": lambda _: call("prctl", 4, 1, 0, 0, 0),
    "raise a priority for input and output": lambda _: call("ioprio_set", 1, 0, 0),
}
"""Possible without the isolation for any user of any kernel; refused with it."""

DEPENDING: dict[str, Callable[[Targets], object]] = {
    "read the victim's memory": read_memory,
    "read the victim's memory by a call": read_memory_by_call,
    "attach to the victim": attach,
    "take a descriptor of the victim": lambda t: call("pidfd_getfd", call("pidfd_open", t["victim"], 0), 0, 0),
    "queue a signal": lambda t: call("rt_sigqueueinfo", t["victim"], 10, bytes(128)),
    "leave the session": lambda _: os.setsid(),
    "start a process by clone3": lambda _: start_by_clone3(),
    "replace the program": lambda _: os.execve("/nonexistent", ["x"], {}),
    "replace the program by a descriptor": lambda _: call("execveat", -100, b"/nonexistent\0", 0, 0, 0),
    "open a raw socket": lambda _: open_socket(socket.AF_INET, socket.SOCK_RAW),
    "open a vsock": lambda _: open_socket(40, socket.SOCK_STREAM),
    "open a socket of the kernel's ciphers": lambda _: open_socket(38, socket.SOCK_SEQPACKET),
    "set an extended attribute": lambda t: os.setxattr(t["secret"], "user.x", b"1"),
    "make a handle of a file": lambda t: call("name_to_handle_at", -100, os.fsencode(t["secret"]) + b"\0", 0, 0, 0),
    "leave the namespaces": lambda _: call("unshare", 0x10000000),
    "enter namespaces": lambda _: call("setns", 0, 0),
    "mount": lambda _: call("mount", 0, 0, 0, 0, 0),
    "change the root": lambda _: os.chroot("/"),
    "load a module": lambda _: call("init_module", 0, 0, 0),
    "reboot": lambda _: call("reboot", 0, 0, 0, 0),
    "swap": lambda _: call("swapon", 0, 0),
    "account": lambda _: call("acct", b"/nonexistent\0"),
    "set the time": lambda _: call("settimeofday", 1, 1),
    "set the host's name": lambda _: call("sethostname", 0, 1 << 20),
    "ask for quotas": lambda _: call("quotactl", 0, 0, 0, 0),
    "use io_uring": lambda _: call("io_uring_setup", 0, 0),
    "use userfaultfd": lambda _: call("userfaultfd", 1 << 20),
    "use performance events": lambda _: call("perf_event_open", 0, 0, -1, -1, 0),
    "use bpf": lambda _: call("bpf", 0, 0, 0),
    "use keys": lambda _: call("keyctl", 1 << 20, 0, 0),
    "add a key": lambda _: call("add_key", 0, 0, 0, 0, 0),
    "use shared memory": lambda _: call("shmget", 1, 0, 0),
    "use message queues": lambda _: call("mq_open", b"nonexistent\0", 0, 0, 0),
    "watch the file system": lambda _: call("fanotify_init", 1 << 30, 0),
    "compare processes": lambda t: call("kcmp", t["victim"], t["victim"], 1 << 20, 0, 0),
    "advise others": lambda _: call("process_madvise", -1, 0, 0, 0, 0),
    "set memory policies": lambda _: call("set_mempolicy", 1 << 20, 0, 0),
    "splice": lambda _: call("splice", -1, 0, -1, 0, 1, 0),
    "splice memory": lambda _: call("vmsplice", -1, 0, 1, 0),
    "change the personality": lambda _: call("personality", 0xFFFFFFFF),
    "add a filter": lambda _: call("seccomp", 2, 0, struct.pack("=I", 0x7FFF0000)),
    "make a rule of Landlock": lambda _: call("landlock_create_ruleset", 0, 0, 1),
    "type into a terminal": lambda _: fcntl.ioctl(0, 0x5412, b"x"),
    "make a timer's descriptor": lambda _: call("timerfd_create", 1 << 20, 0),
    "make a poll's descriptor": lambda _: call("epoll_create1", 1 << 20),
}
"""Without the isolation their end depends on user, capabilities, kernel and container; refused with it all the same."""

NEEDED: dict[str, Callable[[Targets], object]] = {
    "read the document": lambda t: read(t["document"]),
    "read installed code": lambda _: read(os.__file__),
    "write to nowhere": lambda _: write(os.devnull),
    "read an own limit": lambda _: resource.getrlimit(resource.RLIMIT_AS),
    "signal itself": lambda _: os.kill(os.getpid(), 0),
    "map memory": lambda _: mmap.mmap(-1, 4096).close(),
    "import a library of C": lambda _: __import__("lzma").__name__,
    "make random numbers": lambda _: len(os.urandom(8)),
}
"""Harmless files that must go on working."""

ATTEMPTS = REACHING | DEPENDING | NEEDED


def attempt(name: str, targets: Targets) -> tuple[str, object]:
    try:
        return "done", ATTEMPTS[name](targets)
    except OSError as error:
        return "refused", errno.errorcode.get(error.errno or 0, str(error))


class Hostile:
    """Does what its document names."""

    content_types = ("application/x-hostile",)
    extensions = (".hostile",)

    def parse(self, path: Path, options: object, report_progress: Callable[[int, int], None]) -> object:
        from analytiq.models.text import ParsedDocument, ParsedPage

        document = json.loads(path.read_text())
        result = attempt(document["attempt"], document["targets"])
        report_progress(1, 1)
        return ParsedDocument((ParsedPage(1, json.dumps(result, default=str)),))


def main(targets: Targets, landlock_version: int, *, has_seccomp: bool) -> None:
    """Give rights up as far as this kernel is said to allow, try everything, and print the results."""
    inherited = os.open(targets["secret"], os.O_RDONLY)
    from analytiq.ingestion.parsing.isolation import readable_paths
    from analytiq.ingestion.parsing.rights import attempts, giving_up

    giving_up.give_up(
        readable=[Path(targets["document"]), *readable_paths(parser="analytiq.ingestion.parsing.formats:detect")],
        keep_descriptors=[],
        allow_threads=True,
        support=giving_up.Support(landlock_version, has_seccomp),
    )
    remaining = attempts.remaining()
    names = ATTEMPTS if has_seccomp else ()
    try:
        leaked = os.pread(inherited, 6, 0).decode()
    except OSError as error:
        leaked = errno.errorcode[error.errno or 0]
    results = {name: attempt(name, targets) for name in names}
    print(json.dumps({"remaining": remaining, "leaked": leaked, "results": results}, default=str))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]), has_seccomp=sys.argv[3] == "seccomp")
