"""Jobs that wait for an answer from elsewhere: after some seconds they hold no slot until the answer is there."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from analytiq.models.job import Job

GRACE_SECONDS = 3.0
"""Time for which a waiting job keeps its slot."""
WAITING_A_SLOT = 2
"""Most jobs that wait without a slot, for each slot: each keeps a connection and some memory."""


class JobWait:
    """The wait of one job, which begins again with each sign of life."""

    def __init__(self, job: Job, waiting: "WaitingJobs") -> None:
        self._job = job
        self._waiting = waiting
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False
        self._left_at: float | None = None

    def begin(self) -> None:
        """Begin to wait."""
        self._timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._leave)

    def end(self) -> None:
        """Take a slot again; until the job ends, there may be one more than usual."""
        self._is_over = True
        self._enter()

    def _enter(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._left_at is not None:
            self._waiting.enter(self._job, asyncio.get_running_loop().time() - self._left_at)
            self._left_at = None

    def note_answer(self) -> None:
        """Begin again: some of the answer is there."""
        if not self._is_over:
            self._enter()
            self.begin()

    def _leave(self) -> None:
        if self._waiting.leave(self._job):
            self._left_at = asyncio.get_running_loop().time()


class WaitingJobs:
    """The waiting jobs of a process.

    Args:
        on_leave: called with a job that leaves its slot.
        on_enter: called with a job that takes one again.
    """

    def __init__(self, *, on_leave: Callable[[Job], None], on_enter: Callable[[Job], None]) -> None:
        self._on_leave = on_leave
        self._on_enter = on_enter
        self._seconds: dict[str, float] = {}
        self.count = 0
        """Jobs that hold no slot at present."""
        self.most = 0

    @contextmanager
    def waiting(self, job: Job) -> Generator[JobWait]:
        """Enclose a wait of a job."""
        wait = JobWait(job, self)
        wait.begin()
        try:
            yield wait
        finally:
            wait.end()

    def leave(self, job: Job) -> bool:
        """Free the slot of a job; return False if too many wait already."""
        if self.count >= self.most:
            return False
        self.count += 1
        self._on_leave(job)
        return True

    def enter(self, job: Job, seconds: float) -> None:
        """Give a job its slot back, after so many seconds without one."""
        self.count -= 1
        self._seconds[job.id] = self._seconds.get(job.id, 0.0) + seconds
        self._on_enter(job)

    def forget(self, job: Job) -> float:
        """Return the seconds that an ended job waited without a slot."""
        return self._seconds.pop(job.id, 0.0)
