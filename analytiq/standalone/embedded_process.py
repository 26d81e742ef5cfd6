"""A mongod process: its command line, its start, its end, and the explanation of failures by its log."""

import asyncio
import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, cast

from analytiq.standalone import embedded_disk, embedded_guardian
from analytiq.storage.embedded_replica_set import HOST, REPLICA_SET

GIBIBYTE = 1024**3
LEAST_CACHE_GIBIBYTES = 0.25
"""mongod refuses a smaller cache."""

LOG_TAIL_BYTES = 256 * 1024
MAX_QUOTE = 600
SHUTDOWN_SECONDS = 60.0
TRANSACTION_SECONDS = 5
"""Seconds after which a transaction is aborted; the platform's take milliseconds.

A process killed within a transaction leaves it open on the server, which locks its writes: a knowledge base's commits
and the job stood still for 80 to 90 s with the default of 60, to which the server adds up to half.
"""
PORTS = range(20_000, 32_768)
EXIT_ADDRESS_IN_USE = 48
EXIT_INCOMPATIBLE_DATA = 62
INCOMPATIBLE_DATA_SIGNS = (
    "Wrong mongod version",
    "unsupported WiredTiger file version",
    "Invalid featureCompatibilityVersion document",
)

NO_SPACE_SIGNS = ("No space left on device", "Disk quota exceeded")

ADVICE = {
    ("error while loading shared libraries",): (
        "A system library is missing: on Debian and Ubuntu `apt-get install libssl3 libcurl4` brings"
        " libcrypto, libssl and libcurl. Or set MONGODB_URI to a replica set that runs already."
    ),
    NO_SPACE_SIGNS: (
        "The disk that holds {root} is full: free at least 500 MB, or set ANALYTIQ_DATA_DIR to a directory on"
        " another disk. Nothing is lost."
    ),
    ("DBPathInUse", "Unable to lock the lock file"): (
        "Another mongod uses {data}: find it with `fuser {lock}` and stop it."
    ),
    ("Permission denied", "Operation not permitted"): (
        "This user may not write everything in {root}: `chown -R {user} {root}`, or set ANALYTIQ_DATA_DIR to"
        " a directory of this user's."
    ),
}
"""Message of mongod or the loader → remedy."""


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Files of one embedded server, all under the data directory."""

    root: Path

    @property
    def data(self) -> Path:
        """Its dbPath."""
        return self.root / "mongodb"

    @property
    def key(self) -> Path:
        """The replica set's keyFile."""
        return self.root / "mongod.key"

    @property
    def state(self) -> Path:
        """Process and port of the server (`embedded_state`)."""
        return self.root / "mongod.json"

    @property
    def log(self) -> Path:
        """The log since its last start, one JSON object a line."""
        return self.root / "mongod.log"

    @property
    def output(self) -> Path:
        """Output before the log is open: a missing library, a wrong option, an unwritable log."""
        return self.root / "mongod.out"

    def rotate(self) -> None:
        """Begin an empty log; keep the previous one, which explains the end of the last run."""
        for file in (self.log, self.output):
            with contextlib.suppress(FileNotFoundError):
                file.replace(file.with_name(f"{file.name}.previous"))


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Resource limits of the server."""

    cache_bytes: int
    oplog_mebibytes: int


class FailureKind(Enum):
    """The next step after a failed start."""

    PORT_TAKEN = "another port"
    INCOMPATIBLE_DATA = "another binary"
    DISK_FULL = "the same, once there is room"
    OTHER = "nothing"


@dataclass(frozen=True, slots=True)
class StartFailure:
    """The cause and remedy of a failed start of mongod."""

    kind: FailureKind
    detail: str


class MongodProcess:
    """A running mongod, either started here or adopted."""

    def __init__(self, pid: int, port: int, child: subprocess.Popen[bytes] | None) -> None:
        """Take charge of a running process; a child counts as running until it is waited for.

        Raises:
            ProcessLookupError: no such process runs.
        """
        self.pid = pid
        self.port = port
        self._child = child
        self._descriptor = os.pidfd_open(pid)
        self._guarding = asyncio.create_task(self._guard(), name=f"guardian-of-mongod-{pid}")

    async def wait(self) -> int | None:
        """Wait for its end; return the exit status (negative: a signal), None for an adopted process."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        # A duplicate, so that two waits at a time do not unregister each other.
        descriptor = os.dup(self._descriptor)
        loop.add_reader(descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return None if self._child is None else self._child.wait()

    async def end(self) -> None:
        """Shut it down cleanly; kill it if that takes more than a minute."""
        try:
            self._signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(SHUTDOWN_SECONDS):
                    await self.wait()
            except TimeoutError:
                self._signal(signal.SIGKILL)
                await self.wait()
        finally:
            await self.forget()

    async def forget(self) -> None:
        """Release an ended server; its guardian ends with it."""
        await self._guarding
        os.close(self._descriptor)

    async def _guard(self) -> None:
        """Keep a guardian beside the server until it ends; see `embedded_guardian`."""
        while not self._has_ended():
            guardian = await self._start_guardian()
            # It ends with the server, or is killed, and then the server needs another one.
            await guardian.wait()

    async def _start_guardian(self) -> asyncio.subprocess.Process:
        parent = os.pidfd_open(os.getpid())
        try:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", embedded_guardian.__file__, str(parent), str(self._descriptor)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                pass_fds=(parent, self._descriptor),
                # Ctrl-C reaches the whole foreground group; these two end when their parent tells them to.
                start_new_session=True,
                cwd="/",
            )
        finally:
            os.close(parent)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def _has_ended(self) -> bool:
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        return bool(poller.poll(0))


async def spawn(binary: Path, files: ServerFiles, limits: ServerLimits, port: int) -> MongodProcess:
    """Start mongod; it is not ready yet, and may fail.

    Raises:
        OSError: the binary cannot be executed.
    """
    files.data.mkdir(mode=0o700, exist_ok=True)
    files.rotate()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with os.fdopen(os.open(files.output, flags, 0o600), "wb") as output:
        # Not asyncio's: that reaps a child that ends at once before its pidfd can be opened.
        starting = asyncio.ensure_future(
            asyncio.to_thread(
                subprocess.Popen[bytes],
                command(binary, files, limits, port),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=files.root,
            )
        )
        try:
            child = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread starts it all the same, and no other reference to it exists.
            await asyncio.wait([starting])
            if starting.exception() is None:
                starting.result().kill()
                await asyncio.to_thread(starting.result().wait)
            raise
    return MongodProcess(child.pid, port, child)


def command(binary: Path, files: ServerFiles, limits: ServerLimits, port: int) -> Sequence[str]:
    """Build the command line, each option with its reason."""
    cache_gibibytes = max(LEAST_CACHE_GIBIBYTES, limits.cache_bytes / GIBIBYTE)
    return [
        *(str(binary), "--dbpath", str(files.data), "--port", str(port), "--bind_ip", HOST),
        *("--replSet", REPLICA_SET, "--keyFile", str(files.key), "--nounixsocket"),
        *("--oplogSize", str(limits.oplog_mebibytes), "--wiredTigerCacheSizeGB", f"{cache_gibibytes:.3f}"),
        # 6.0.5 predates the fix of a memory disclosure in zlib decompression before authentication.
        *("--networkMessageCompressors", "disabled"),
        *("--logpath", str(files.log), "--quiet", "--slowms", "2000"),
        # Full-time diagnostics write every second and fill 200 MB, for a vendor's support that is not used here.
        *("--setParameter", "diagnosticDataCollectionEnabled=false"),
        *("--setParameter", f"transactionLifetimeLimitSeconds={TRANSACTION_SECONDS}"),
    ]


def free_port(preferred: int | None) -> int:
    """Return `preferred` if it is free, else a random port below the system's ephemeral ones.

    An ephemeral port (from 32768) would often belong to some client when mongod returns to
    it, and a mongod whose old port accepts without answering waits 30 s before
    it believes that it has moved.

    Another process may take the port before mongod does; mongod then ends with status 48 and the caller
    tries again.
    """
    candidates = random.sample(PORTS, 50)
    for port in candidates if preferred is None else [preferred, *candidates]:
        with socket.socket() as probe:
            # As mongod binds: connections of an earlier run in TIME_WAIT do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise OSError(f"no port is free on {HOST}")


def explain_end(files: ServerFiles, binary: Path, status: int | None, port: int) -> StartFailure:
    """Explain the end of a mongod by its log, with a remedy."""
    quote = last_words(files)
    text = f"{_tail(files.log)}\n{_tail(files.output)}"
    said = f" It said: {quote}." if quote else ""
    kind, advice = _advice(text, files, status, port)
    outcome = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
    return StartFailure(kind, f"The embedded database ({binary}) ended with {outcome}.{said} {advice}")


def last_words(files: ServerFiles) -> str:
    """Return the fatal log line and the error that led to it.

    Messages that it cannot log, as on a full disk, are printed. Falls back to the output
    from before the log (a missing library), and then to nothing.
    """
    lines = [*_log_lines(files.log), *_log_lines(files.output)]
    fatal = next((index for index, line in enumerate(lines) if line.is_fatal), None)
    if fatal is None:
        words = [line.words for line in lines if line.is_error][-1:]
    else:
        # A fatal line often names only the assertion; the first error shortly before it names the cause.
        led_to_it = [line.words for line in lines[max(0, fatal - 20) : fatal] if line.is_error]
        words = [*led_to_it[:1], lines[fatal].words]
    said = "; ".join(words) or "\n".join(
        text for text in _tail(files.output).splitlines() if not text.startswith(("{", "BACKTRACE"))
    )
    return " ".join(said.split())[:MAX_QUOTE].rstrip(" .")


def lacks_room(files: ServerFiles) -> bool:
    """Return whether mongod ended because of a full disk, by the disk's state or its log.

    The log counts as well: mongod frees its partial writes when it ends, so a few megabytes may be free.
    """
    text = f"{_tail(files.log)}\n{_tail(files.output)}"
    return embedded_disk.is_full(files.root) or any(sign in text for sign in NO_SPACE_SIGNS)


@dataclass(frozen=True, slots=True)
class _LogLine:
    severity: str
    words: str

    @property
    def is_fatal(self) -> bool:
        return self.severity == "F"

    @property
    def is_error(self) -> bool:
        return self.severity == "E"


def _log_lines(log: Path) -> Iterator[_LogLine]:
    for text in _tail(log).splitlines():
        try:
            entry: dict[str, Any] = json.loads(text)
        except ValueError:
            continue  # the tail may begin within a line, and a killed process may end within one
        reason = _reason(entry.get("attr") or {})
        words = f"{entry.get('msg')}: {reason}" if reason else str(entry.get("msg"))
        yield _LogLine(severity=str(entry.get("s")), words=words)


def _reason(attributes: dict[str, Any]) -> str:
    """Find the reason among the attributes of a log line."""
    for name in ("error_str", "errmsg", "error", "message", "msg", "reason"):
        value = attributes.get(name)
        if isinstance(value, dict):
            return _reason(cast("dict[str, Any]", value))
        if isinstance(value, str) and value:
            return value
    return ""


def _advice(text: str, files: ServerFiles, status: int | None, port: int) -> tuple[FailureKind, str]:
    """Return the first matching rule; patterns are the wording of mongod and the loader."""
    if status == EXIT_ADDRESS_IN_USE or "Address already in use" in text:
        return FailureKind.PORT_TAKEN, f"Port {port} on {HOST} is taken by another program; start again."
    if status == EXIT_INCOMPATIBLE_DATA or any(sign in text for sign in INCOMPATIBLE_DATA_SIGNS):
        return FailureKind.INCOMPATIBLE_DATA, (
            f"The data in {str(files.data)!r} were written by a version of MongoDB that this mongod cannot"
            " follow: put the mongod that wrote them on PATH, make a backup with it and restore that here."
        )
    for signs, advice in ADVICE.items():
        if any(sign in text for sign in signs):
            kind = FailureKind.DISK_FULL if signs is NO_SPACE_SIGNS else FailureKind.OTHER
            return kind, advice.format(
                root=files.root, data=files.data, lock=files.data / "mongod.lock", user=os.getuid()
            )
    if embedded_disk.is_full(files.root):  # the log, on the same disk, could not record it
        return FailureKind.DISK_FULL, ADVICE[NO_SPACE_SIGNS].format(root=files.root)
    if status == -signal.SIGILL:
        return FailureKind.OTHER, (
            "This processor lacks AVX, which MongoDB needs since 5.0: set MONGODB_URI to a server on another machine."
        )
    if status == -signal.SIGKILL:
        return FailureKind.OTHER, f"It was killed, perhaps for want of memory: see `dmesg`, and {files.log}."
    return FailureKind.OTHER, f"Its full log is {files.log}."


def _tail(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - LOG_TAIL_BYTES))
            return stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
