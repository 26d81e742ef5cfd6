"""Parses documents where they can do no harm: each in a child of its own, with limits, that can be killed.

The child is forked by a small server process (`fork_server`), which this module starts at the first document
and again after it has died. A child is killed when the caller stops listening to it: at the time limit, when
the awaiting task is cancelled, when the caller's process dies.
"""

import asyncio
import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryFile

from pydantic import ValidationError

from analytiq.errors import AnalytiqError, CorruptFileError, LimitExceededError, TransientError
from analytiq.models.boxes import PageWords
from analytiq.models.text import ParsedDocument
from analytiq.parsing.base import ParseOptions, ReportProgress
from analytiq.parsing.limits import ParseLimits
from analytiq.parsing.messages import (
    FORK_REQUEST,
    MAX_MESSAGE_BYTES,
    NEWS,
    OUTCOME,
    Ended,
    ForkRequest,
    Outcome,
    PageRequest,
    Progress,
    Started,
    error_of,
)
from analytiq.parsing.registry import default_registry

START_SECONDS = 60.0
"""The first child waits for the server's imports, about a second on a machine at rest."""
STOP_SECONDS = 5.0
RETRY_SECONDS = 1.0
MEBIBYTE = 1024 * 1024

_SERVER_CODE = (
    "import sys; sys.path[:] = sys.argv[3:]; from analytiq.parsing.fork_server import serve; "
    "serve(int(sys.argv[1]), preload=sys.argv[2] == 'preload')"
)

_SERVER_ENVIRONMENT = {"OMP_THREAD_LIMIT": "1", "LANG": "C.UTF-8", "PATH": os.defpath}
"""All that the server and its children see: no key and no password of the caller's environment."""

_CRASHES = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP})


async def parse_in_child(
    path: Path,
    *,
    content_type: str,
    options: ParseOptions,
    limits: ParseLimits,
    on_progress: ReportProgress | None = None,
) -> ParsedDocument:
    """Parse a file in a child process of its own.

    Args:
        path: The stored bytes; the child reads them itself.
        content_type: As `formats.detect_content_type` says.
        options: Handed to the parser.
        limits: Set in the child before it reads the file.
        on_progress: Called in this task with (pages done, pages of all), at most ten times a second.

    Returns:
        At least one page; no text holds NUL, other control characters or lone surrogates.

    Raises:
        UnsupportedFormatError: no parser reads the content type.
        ParserUnavailableError: the parser cannot be imported.
        CorruptFileError, EncryptedFileError, EmptyDocumentError: what the parser found, or it crashed.
        LimitExceededError: time, memory, pages or text beyond the limits.
        TransientError: the sandbox itself failed; the document may be fine.
    """
    request = ForkRequest(
        path=path,
        parser=default_registry().entry_for(content_type).reference,
        options=options,
        limits=limits,
        import_path=tuple(sys.path),
    )
    outcome = await _outcome_of(request, on_progress)
    if outcome.document is None or not outcome.document.pages:
        raise CorruptFileError("The parser found no page in the document: upload an undamaged copy.")
    return outcome.document


async def place_words_in_child(
    path: Path, page: PageRequest, *, options: ParseOptions, limits: ParseLimits
) -> PageWords:
    """The words of one page of a file, and where they stand; raises what `parse_in_child` does."""
    request = ForkRequest(
        path=path,
        parser=default_registry().entry_for(page.content_type).reference,
        options=options,
        limits=limits,
        import_path=tuple(sys.path),
        page=page,
    )
    outcome = await _outcome_of(request, None)
    if outcome.words is None:
        raise CorruptFileError("The words of the page could not be placed: upload an undamaged copy.")
    return outcome.words


async def _outcome_of(request: ForkRequest, on_progress: ReportProgress | None) -> Outcome:
    if not request.path.is_absolute():
        raise ValueError(f"the child works in another directory, so {request.path} must be absolute")
    with TemporaryFile(prefix="analytiq-outcome-") as outcome_file:
        exit_code = await _run_child(request, outcome_file.fileno(), on_progress)
        if exit_code is not None and exit_code != 0:
            raise _error_of_exit(exit_code, request.limits)
        # A descriptor of its own: if this task is cancelled, the thread goes on reading a while.
        outcome = await asyncio.to_thread(_read_outcome, os.dup(outcome_file.fileno()))
    if outcome.failure is not None:
        raise error_of(outcome.failure, request.path)
    return outcome


def stop_server() -> None:
    """End the server process of this process, and with it every child; the next document starts another."""
    global _server
    with _server_lock:
        server, _server = _server, None
    if server is not None:
        server.stop()


class _Server:
    """The caller's handle of the forking server."""

    def __init__(self, *, preload: bool) -> None:
        self.has_answered = False
        """A child of this server has started."""
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            arguments = [
                sys.executable,
                "-I",
                "-c",
                _SERVER_CODE,
                str(theirs.fileno()),
                "preload" if preload else "bare",
                *sys.path,
            ]
            self._process = subprocess.Popen(
                arguments,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_SERVER_ENVIRONMENT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def submit(self, request: ForkRequest, channel: socket.socket, outcome_descriptor: int) -> None:
        message = FORK_REQUEST.dump_json(request)
        if len(message) > MAX_MESSAGE_BYTES:
            raise TransientError("The worker's import path is too long to be handed to a parser: shorten it.")
        try:
            socket.send_fds(self._control, [message], [channel.fileno(), outcome_descriptor])
        except OSError as error:
            raise TransientError(
                "The parsing server has stopped; it is started again for the next document.",
                retry_after=RETRY_SECONDS,
            ) from error

    def stop(self) -> None:
        self._control.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_server: _Server | None = None
_server_lock = threading.Lock()


def _running_server() -> _Server:
    global _server
    with _server_lock:
        preload = True
        if _server is not None and not _server.is_alive:
            # A library that kills its importer must not keep every other format from being read.
            preload = _server.has_answered
            _server.stop()
            _server = None
        if _server is None:
            _server = _Server(preload=preload)
        return _server


atexit.register(stop_server)


async def _run_child(request: ForkRequest, outcome_descriptor: int, on_progress: ReportProgress | None) -> int | None:
    """Follow one child to its end; its exit code, None where only the outcome can tell.

    Leaving this function closes the document's socket, which is what kills a child that still runs.
    """
    server = _running_server()
    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with channel:
        channel.settimeout(0)
        with theirs:
            server.submit(request, theirs, outcome_descriptor)
        await _await_start(channel, server)
        deadline = asyncio.timeout(request.limits.wall_seconds)
        try:
            async with deadline:
                return await _follow(channel, server, on_progress)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise LimitExceededError(
                f"The document was not read within {request.limits.wall_seconds:g} seconds: split it."
            ) from error


async def _await_start(channel: socket.socket, server: _Server) -> None:
    try:
        async with asyncio.timeout(START_SECONDS):
            news = await _receive(channel)
    except TimeoutError as error:
        raise TransientError(
            f"No child was started within {START_SECONDS:g} seconds: the machine is overloaded.",
            retry_after=START_SECONDS,
        ) from error
    if not isinstance(news, Started):
        raise _server_died(server)
    server.has_answered = True


async def _follow(channel: socket.socket, server: _Server, on_progress: ReportProgress | None) -> int | None:
    while (news := await _receive(channel)) is not None:
        if isinstance(news, Ended):
            return news.exit_code
        if isinstance(news, Progress) and on_progress is not None:
            on_progress(news.done, news.total)
    if not server.is_alive:
        raise _server_died(server)
    return None


async def _receive(channel: socket.socket) -> Started | Progress | Ended | None:
    message = await asyncio.get_running_loop().sock_recv(channel, MAX_MESSAGE_BYTES)
    if not message:
        return None
    try:
        return NEWS.validate_json(message)
    except ValidationError as error:
        raise CorruptFileError("The document has taken over its parser and was stopped.") from error


def _server_died(server: _Server) -> TransientError:
    return TransientError(
        f"The parsing server (process {server.pid}) died while it read the document; its log says why. "
        "It is started again for the next document.",
        retry_after=RETRY_SECONDS,
    )


def _error_of_exit(exit_code: int, limits: ParseLimits) -> AnalytiqError:
    """What a child's death says of its document."""
    if exit_code == -signal.SIGXCPU:
        return LimitExceededError(
            f"The document needs more than {limits.cpu_seconds} seconds of processor time: split it."
        )
    if exit_code == -signal.SIGKILL:
        # Not by us: then nobody would be listening. The kernel kills whoever has eaten the machine's memory.
        return LimitExceededError(
            "The system killed the process that read the document, as it does when memory runs out: split it."
        )
    if -exit_code in _CRASHES:
        return CorruptFileError(
            f"The document crashed its parser ({signal.Signals(-exit_code).name}): it is "
            f"damaged, or needs more than {limits.memory_bytes // MEBIBYTE} MiB of memory. Upload an undamaged copy or "
            "split it."
        )
    return TransientError(
        f"The process that read the document ended with code {exit_code} before it was done.",
        retry_after=RETRY_SECONDS,
    )


def _read_outcome(descriptor: int) -> Outcome:
    with open(descriptor, "rb") as file:
        file.seek(0)
        content = file.read()
    try:
        return OUTCOME.validate_json(content)
    except ValidationError as error:
        raise TransientError(
            "The process that read the document left no whole result: is the disk for temporary files full?",
            retry_after=RETRY_SECONDS,
        ) from error
