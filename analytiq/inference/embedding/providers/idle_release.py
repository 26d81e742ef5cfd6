"""Release of memory that only computing needs, once no computation has run for a while."""

import ctypes
import threading
import time
from collections.abc import Callable


class AfterIdle:
    """Calls an action in a thread of its own once `touch` has not been called for some seconds.

    Args of the constructor:
        action: called once for each idle period.
        seconds: without a touch.
    """

    def __init__(self, action: Callable[[], None], *, seconds: float) -> None:
        self._action = action
        self._seconds = seconds
        self._lock = threading.Lock()
        self._touched = 0.0
        self._timer: threading.Timer | None = None

    def touch(self) -> None:
        """Note a use; the period begins again."""
        with self._lock:
            self._touched = time.monotonic()
            if self._timer is None:
                self._wait(self._seconds)

    def cancel(self) -> None:
        """Forget the running period."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        with self._lock:
            if self._timer is None:
                return
            remaining = self._touched + self._seconds - time.monotonic()
            if remaining > 0:
                self._wait(remaining)
                return
            self._timer = None
        self._action()


def return_freed_memory() -> None:
    """Give the allocator's freed pages back to the system; without effect where the C library is not glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
