"""The fork server of this process: started at the first document, after its death, and after a number of documents."""

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading

from analytiq.errors import TransientError
from analytiq.ingestion.parsing.fork_server import STOP
from analytiq.ingestion.parsing.isolation import Examination
from analytiq.ingestion.parsing.messages import FORK_REQUEST, MAX_MESSAGE_BYTES, ForkRequest

STOP_SECONDS = 5.0
RETRY_SECONDS = 1.0
DOCUMENTS_PER_SERVER = 500
"""Documents after which another server takes over: a server's memory contains earlier requests, and its children share
its address layout. A server's start takes about a second of processor time."""

_SERVER_CODE = (
    "import sys; sys.path[:] = sys.argv[3:]; from analytiq.ingestion.parsing.fork_server import serve; "
    "serve(int(sys.argv[1]), preload=sys.argv[2] == 'preload')"
)

_SERVER_ENVIRONMENT = {
    "OMP_THREAD_LIMIT": "1",
    # The server forks and gives rights up, so it must have one thread; OpenBLAS starts one a core at import.
    "OPENBLAS_NUM_THREADS": "1",
    "LANG": "C.UTF-8",
    "PATH": os.defpath,
}
"""The whole environment of the server and its children: no key and no password of the caller."""


class Server:
    """The caller's handle of the forking server."""

    def __init__(self, *, preload: bool) -> None:
        self.preloads = preload
        self.has_answered = False
        """True once a child of this server has started."""
        self.examination: Examination | None = None
        self.documents = 0
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
        """The process's id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """True until the process has ended."""
        return self._process.poll() is None

    def submit(self, request: ForkRequest, channel: socket.socket, outcome_descriptor: int) -> None:
        """Request a child for a task.

        Raises:
            TransientError: The server is gone.
        """
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

    def retire(self) -> None:
        """Let the server end after its last child."""
        self._control.close()

    def stop(self) -> None:
        """End the server and its children now."""
        with contextlib.suppress(OSError):  # it is dead, or retired
            self._control.send(STOP, socket.MSG_DONTWAIT)
        self._control.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_server: Server | None = None
_retired: list[Server] = []
_server_lock = threading.Lock()


def running_server() -> Server:
    """Return the server for the next task; start one if none runs or its lifetime is over."""
    global _server
    with _server_lock:
        preload = True
        _retired[:] = [server for server in _retired if server.is_alive]
        if _server is not None and not _server.is_alive:
            # A library that kills its importer must not keep every other format from being read.
            preload = _server.has_answered
            _server.stop()
            _server = None
        if _server is not None and _server.documents >= DOCUMENTS_PER_SERVER:
            preload = _server.preloads
            _server.retire()
            _retired.append(_server)
            _server = None
        if _server is None:
            _server = Server(preload=preload)
        return _server


def stop_server() -> None:
    """End the server process and all of its children; the next document starts another."""
    global _server
    with _server_lock:
        servers = [*_retired, *([_server] if _server is not None else [])]
        _retired.clear()
        _server = None
    for server in servers:
        server.stop()


atexit.register(stop_server)
