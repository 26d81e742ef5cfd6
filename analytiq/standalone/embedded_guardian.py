"""Ends the embedded mongod when the process that started it has ended, for any reason.

Run as a script by `analytiq.standalone.embedded_process`, with two inherited process descriptors (pidfd).

Why a process of its own, and not PR_SET_PDEATHSIG: that signal is tied to the *thread* that forked, so a
server started from a worker thread would die with that thread; setting it needs Python code between fork
and exec, which can deadlock in a process with threads. A pidfd is tied to the process and is immune to
reused process ids. If this guardian is killed, mongod continues; the parent starts another guardian,
or, if the parent is gone too, the next start adopts the survivor.
"""

import contextlib
import select
import signal
import sys

SHUTDOWN_MILLISECONDS = 60_000
"""Time for mongod's clean shutdown (measured: 1 s) before it is killed."""


def guard(parent: int, mongod: int) -> None:
    """Wait for either to end; if the parent ended, end mongod.

    Args:
        parent: pidfd of the process that started mongod.
        mongod: pidfd of the server.
    """
    if mongod in _first_to_end(parent, mongod):
        return
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(mongod, signal.SIGTERM)
        if not _first_to_end(mongod, timeout_milliseconds=SHUTDOWN_MILLISECONDS):
            signal.pidfd_send_signal(mongod, signal.SIGKILL)


def _first_to_end(*descriptors: int, timeout_milliseconds: int | None = None) -> set[int]:
    poller = select.poll()
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poller.poll(timeout_milliseconds)}


if __name__ == "__main__":
    guard(int(sys.argv[1]), int(sys.argv[2]))
