"""The pauses between looks at work that goes on."""

import time

from analytiq.client.steps import Pause
from analytiq.errors import TransientError

FIRST_SECONDS = 0.1
LONGEST_SECONDS = 2.0


class Waiting:
    """Waits that grow from 0.1 to 2 seconds, up to a limit."""

    def __init__(self, timeout_seconds: float) -> None:
        self._deadline = time.monotonic() + timeout_seconds
        self._pause_seconds = FIRST_SECONDS

    def begin_again(self) -> None:
        """Look soon again: something has changed."""
        self._pause_seconds = FIRST_SECONDS

    def pause(self, complaint: str, *, code: str | None = None) -> Pause:
        """Return the next pause.

        Raises:
            TransientError: the limit is reached; `complaint` says so.
        """
        if time.monotonic() > self._deadline:
            raise TransientError(complaint, code=code)
        pause = Pause(self._pause_seconds)
        self._pause_seconds = min(LONGEST_SECONDS, self._pause_seconds * 1.5)
        return pause
