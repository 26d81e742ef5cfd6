"""Runs a module as `python -m` would, and ends at once when the process that started it ends, however it ended.

`analytiq up` starts its processes through this. Standard input is a pipe of which `up` alone holds the writing
end, and never writes: the kernel closes it when `up` is gone, killed or not. A thread waits for that. (A signal
on the parent's death would do on Linux only, and is tied to the thread that forked.)

SIGKILL, not a clean end: the database is going down too, so there is nothing that draining could still save.
Whatever was under way is taken up from its lease.
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


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
