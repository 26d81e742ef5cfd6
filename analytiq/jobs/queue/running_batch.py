"""Running jobs of one partition, as the handler of a batch sees them."""

import contextlib
from collections.abc import Awaitable, Callable, Generator, Sequence

from analytiq.jobs.queue.running_job import RunningJob


class RunningBatch:
    """Running jobs of one partition that were claimed together and share a lease token.

    The handler of a batch is a fast path. A job that it neither notes as done nor finishes is run by the kind's
    ordinary handler afterwards, whether the batch's handler returned or raised.
    """

    def __init__(self, members: Sequence[RunningJob]) -> None:
        self.members = tuple(members)
        """All jobs of the claim."""
        self.jobs: Sequence[RunningJob] = self.members
        """The jobs with a valid payload, in the order of the payloads."""
        self._done: set[RunningJob] = set()
        self._alone: set[RunningJob] = set()
        self.is_finishing = False

    @contextlib.contextmanager
    def finishing(self, jobs: Sequence[RunningJob]) -> Generator[None]:
        """Enclose the transaction in which the handler itself finishes some of the jobs.

        Meanwhile no heartbeat is written, which would conflict with the transaction, and nothing stops the work.
        """
        self.is_finishing = True
        for running in jobs:
            running.is_finishing = True
        try:
            yield
        finally:
            self.is_finishing = False
            for running in jobs:
                running.is_finishing = False

    def note_done(self, running: RunningJob) -> None:
        """Record that the job's intended state holds: it is finished together with the others."""
        self._done.add(running)

    def leave_alone(self, jobs: Sequence[RunningJob]) -> None:
        """Record that these jobs are to run by themselves, also if the others are deferred."""
        self._alone.update(jobs)

    def is_left_alone(self, running: RunningJob) -> bool:
        """Return True for a job that is to run by itself from now on."""
        return running in self._alone

    def forget_done(self) -> None:
        """Leave all jobs that are not finished to the ordinary handler."""
        self._done.clear()

    @property
    def done(self) -> list[RunningJob]:
        """Return the jobs that are done and not finished yet."""
        return [running for running in self.members if running in self._done and not running.is_finished]

    @property
    def unfinished(self) -> list[RunningJob]:
        """Return the jobs that are neither done, finished nor settled otherwise, and whose lease is held."""
        return [
            running
            for running in self.members
            if running not in self._done and not (running.is_finished or running.is_settled or running.is_lost)
        ]


BatchHandler = Callable[[RunningBatch], Awaitable[None]]
"""Does the work of as many jobs of the batch as it can, together."""
