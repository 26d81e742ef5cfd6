"""Runs a module as `python -m` would, and ends at once when the process that started it ends, for any reason.

`analytiq up` starts its processes through this. Standard input is a pipe whose writing end only `up` holds,
and never uses: the kernel closes it when `up` is gone, killed or not. A thread waits for that. (A signal
on the parent's death works on Linux only, and is tied to the thread that forked.)

SIGKILL, not a clean end: the database is going down too, so draining could save nothing.
Leases let others resume the interrupted work.
"""

import os
import runpy
import signal
import sys
import threading

STANDARD_INPUT = 0


def _end_with_parent() -> None:
    while os.read(STANDARD_INPUT, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def watch_parent() -> None:
    """Start the thread that ends this process with its parent."""
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()


if __name__ == "__main__":
    watch_parent()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
