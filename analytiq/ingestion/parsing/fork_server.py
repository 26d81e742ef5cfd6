"""The process that forks the children: small, single-threaded, with the parsers' libraries already imported.

The caller is an asyncio process with threads, which must not fork: a lock held by another thread would stay
locked in the child forever. A fresh interpreter for each document is safe too, but takes 160 to 280 ms to
import its parser; a child of this server answers after 9 (a text file of 48 kB).

Each document has a socket of its own. The server holds one end until the child is gone, which gives the rule
that everything rests on: when the caller closes its end, for whatever reason, even by dying, the server
kills the child and all of its descendants. The caller never kills by process id, so no reused id is hit.
"""

import gc
import importlib
import mimetypes
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import orjson

from analytiq.ingestion.parsing import child
from analytiq.ingestion.parsing.messages import FORK_REQUEST, MAX_MESSAGE_BYTES
from analytiq.ingestion.parsing.rights import kernel

PRELOADED = (
    "analytiq.ingestion.parsing.csv",
    "analytiq.ingestion.parsing.docx",
    "analytiq.ingestion.parsing.formats",
    "analytiq.ingestion.parsing.html",
    "analytiq.ingestion.parsing.image",
    "analytiq.ingestion.parsing.markdown",
    "analytiq.ingestion.parsing.pdf",
    "analytiq.ingestion.parsing.placing",
    "analytiq.ingestion.parsing.plain_text",
    "analytiq.ingestion.parsing.pptx",
    "analytiq.ingestion.parsing.xlsx",
    "analytiq.ingestion.ocr.tesseract",
)
STOP = b"stop"
"""The message that ends the server and its children at once; the control socket's end lets children finish."""


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    pid_descriptor: int
    """Readable once the process has ended."""
    channel: socket.socket


def serve(control_descriptor: int, *, preload: bool = True) -> None:
    """Fork a child for each request on the control socket, until the caller closes it.

    Args:
        control_descriptor: Of the socket for requests.
        preload: Import the parsers' libraries once for all children. If a library kills its importer (for lack of a
            processor instruction, say), only the child that needs the library may import it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller handles a terminal's Ctrl-C
    kernel.forbid_memory_reads()
    kernel.adopt_orphans()
    if preload:
        import_parsers()
    mimetypes.init()  # it reads files of /etc, which are forbidden to a child
    # Present imports live forever: keep the collector from writing to their pages, which children share.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=control_descriptor) as control:
        _ForkServer(control).run()


def import_parsers() -> None:
    """Import the parsers' libraries; report each that cannot be imported."""
    # openpyxl imports numpy if it is there, to write its numbers: 6 MB and 130 ms that no parser needs.
    sys.modules["numpy"] = None  # pyright: ignore[reportArgumentType]  # makes the import fail
    for module in PRELOADED:
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 -- a document that needs the module fails by it, and no other
            sys.stderr.write(f"analytiq parsing server: cannot import {module} ({type(error).__name__}: {error})\n")


class _ForkServer:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, _Child] = {}
        self._is_running = True
        """True while requests may arrive."""
        self._is_stopped = False

    def run(self) -> None:
        self._selector.register(self._control, selectors.EVENT_READ, self._accept)
        while self._is_running or self._children:
            for key, _ in self._selector.select():
                key.data()
            if self._is_stopped:
                break
        for running in list(self._children.values()):
            self._kill(running)

    def _accept(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 2)
        if not message or message == STOP:
            # End of file: the caller has died, which ends the children by their own sockets, or sends no more requests.
            self._is_running = False
            self._is_stopped = message == STOP
            self._selector.unregister(self._control)
            return
        channel = socket.socket(fileno=descriptors[0])
        # Before the fork: the child's first report of progress may otherwise arrive first.
        _tell(channel, {"kind": "started"})
        server_pid = os.getpid()
        try:
            pid = os.fork()
        except OSError:  # out of processes or memory; the caller sees a closed socket and tries again later
            channel.close()
            os.close(descriptors[1])
            return
        if pid == 0:
            self._become_child(message, channel, descriptors[1], server_pid)
        os.close(descriptors[1])
        with suppress(OSError):  # the child does the same, whichever is first
            os.setpgid(pid, pid)
        started = _Child(pid, os.pidfd_open(pid), channel)
        self._children[pid] = started
        # The caller never sends on a document's socket: it becomes readable when its other end is closed.
        self._selector.register(channel, selectors.EVENT_READ, partial(self._kill, started))
        self._selector.register(started.pid_descriptor, selectors.EVENT_READ, partial(self._reap, started))

    def _become_child(self, message: bytes, channel: socket.socket, outcome_descriptor: int, server_pid: int) -> None:
        try:
            self._selector.close()
            self._control.close()
            for other in self._children.values():
                other.channel.close()
                os.close(other.pid_descriptor)
            request = FORK_REQUEST.validate_json(message)
            child.run(request, channel, outcome_descriptor, server_pid=server_pid)
        finally:
            os._exit(1)

    def _kill(self, running: _Child) -> None:
        # One round of the selector may contain both a child's end and its caller's disconnection: after the first, the
        # process id may belong to another process.
        if self._children.get(running.pid) is not running:
            return
        with suppress(KeyError):
            self._selector.unregister(running.channel)
        # Its process group exists as long as it has not been waited for, so the id is still its own.
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)

    def _reap(self, ended: _Child) -> None:
        with suppress(ProcessLookupError):
            os.killpg(ended.pid, signal.SIGKILL)  # its children must not outlive it
        _, status = os.waitpid(ended.pid, 0)
        self._selector.unregister(ended.pid_descriptor)
        os.close(ended.pid_descriptor)
        with suppress(KeyError):
            self._selector.unregister(ended.channel)
        _tell(ended.channel, {"kind": "ended", "exit_code": os.waitstatus_to_exitcode(status)})
        ended.channel.close()
        del self._children[ended.pid]
        self._kill_orphans()

    def _kill_orphans(self) -> None:
        """Kill processes that left their child's process group, if the kernel has no filter that forbids leaving.

        Each is a child of this process once its own parent has ended, and may reveal others by its end.
        """
        while orphans := _own_children() - self._children.keys():
            for pid in orphans:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _own_children() -> set[int]:
    """Return the process ids of this process's children, ended ones included; none if the kernel does not list them."""
    try:
        return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()))
    except OSError:
        return set()


def _tell(channel: socket.socket, news: dict[str, object]) -> None:
    # The caller may be gone, or so slow that its socket is full of progress; the server never waits.
    # An unreported end shows as a closed socket.
    with suppress(OSError):
        channel.send(orjson.dumps(news), socket.MSG_DONTWAIT)
