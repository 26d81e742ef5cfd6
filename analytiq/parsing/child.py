"""The life of a child: bind itself, parse one document, write the outcome, end.

Every way out of `run` ends the process; it never returns into the server that forked it.
"""

import ctypes
import errno
import os
import signal
import socket
import sys
import time
from typing import NoReturn

import orjson

from analytiq.errors import EmptyDocumentError
from analytiq.models.boxes import PageWords
from analytiq.models.text import ParsedDocument
from analytiq.parsing.limits import apply_limits
from analytiq.parsing.messages import Failure, ForkRequest, Outcome, PageRequest, failure_of
from analytiq.parsing.registry import load_parser
from analytiq.parsing.sanitize import sanitize_document, sanitize_text

PROGRESS_INTERVAL_SECONDS = 0.1
MAX_DETAIL_CHARACTERS = 2000

_SET_PARENT_DEATH_SIGNAL = 1
_SET_NO_NEW_PRIVILEGES = 38
"""Linux, prctl(2)."""


def run(request: ForkRequest, channel: socket.socket, outcome_descriptor: int, *, server_pid: int) -> NoReturn:
    """Parse and end with code 0 once an outcome is written, also where the outcome is a failure."""
    exit_code = 1
    try:
        _detach(server_pid)
        sys.path[:] = request.import_path
        apply_limits(request.limits)
        _write(_parse(request, channel), outcome_descriptor)
        exit_code = 0
    finally:
        # Not sys.exit: handlers and buffers that were inherited from the server are the server's.
        os._exit(exit_code)


def parse_document(request: ForkRequest, report: "ProgressReporter") -> ParsedDocument:
    """What the child is for: load the parser, read the file, make the text storable."""
    if request.path.stat().st_size == 0:
        raise EmptyDocumentError("The file is empty: upload it again.")
    parser = load_parser(request.parser)
    return sanitize_document(parser.parse(request.path, request.options, report))


class ProgressReporter:
    """Tells the caller how far the parser is, at most ten times a second and at the end."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._next_report = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Pages done, pages of all."""
        now = time.monotonic()
        if now < self._next_report and done < total:
            return
        self._next_report = now + PROGRESS_INTERVAL_SECONDS
        self._channel.send(orjson.dumps({"kind": "progress", "done": done, "total": total}))


def _parse(request: ForkRequest, channel: socket.socket) -> Outcome:
    try:
        if request.page is not None:
            return Outcome(words=_place_words(request, request.page))
        return Outcome(document=parse_document(request, ProgressReporter(channel)))
    except BaseException as error:  # noqa: BLE001 -- a panic of a Rust extension is no Exception, and this is the last stop
        return Outcome(failure=failure_of(error, parser=request.parser))


def _place_words(request: ForkRequest, page: PageRequest) -> PageWords:
    # Not imported with this module: the server imports it first, and parsers after.
    from analytiq.parsing.placing import place_words

    return place_words(request.path, page.content_type, page.page_number, request.options, is_image=page.is_image)


def _write(outcome: Outcome, descriptor: int) -> None:
    try:
        content = orjson.dumps(outcome if outcome.failure is None else _storable(outcome.failure))
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
    except MemoryError:
        _write_limit(descriptor, "The document's text needs more memory than a document may have: split it.")
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        _write_limit(descriptor, "The document's text is larger than a text may be: split the document.")


def _write_limit(descriptor: int, detail: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, orjson.dumps(Outcome(failure=Failure("LimitExceededError", detail))), 0)


def _storable(failure: Failure) -> Outcome:
    return Outcome(failure=Failure(failure.error, sanitize_text(failure.detail)[:MAX_DETAIL_CHARACTERS]))


def _detach(server_pid: int) -> None:
    """Own process group, default signals, no output: libraries print what a document's author words."""
    os.setpgid(0, 0)
    _bind_to_server(server_pid)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir("/")


def _bind_to_server(server_pid: int) -> None:
    """Die with the server, and never gain rights; without the server nobody could kill this process."""
    if sys.platform != "linux":
        return
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if os.getppid() != server_pid:  # it died before the first call
        os._exit(1)
