"""Processor time of a benchmark's process, its children, and mongod.

Wall time depends on other users of the machine; processor time hardly does, so ratios use it.
"""

import time
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class ProcessorSeconds:
    """Seconds of user and system time."""

    client: float
    """Of this process."""
    parsers: float
    """Of the fork server and the children that parse documents, including ended ones."""
    database: float

    @property
    def total(self) -> float:
        """The sum of all."""
        return self.client + self.parsers + self.database

    def __sub__(self, earlier: "ProcessorSeconds") -> "ProcessorSeconds":
        return ProcessorSeconds(
            self.client - earlier.client, self.parsers - earlier.parsers, self.database - earlier.database
        )


@dataclass(frozen=True, slots=True)
class Moment:
    """A reading of the clocks."""

    wall: float
    processor: ProcessorSeconds


@dataclass(frozen=True, slots=True)
class Spent:
    """The difference of two moments."""

    wall_seconds: float
    processor: ProcessorSeconds


class ProcessorClock:
    """Reads the processor time of this process tree and of one mongod."""

    def __init__(self, database_pid: int) -> None:
        self._own = psutil.Process()
        self._database_pid = database_pid

    def now(self) -> Moment:
        """Read all clocks."""
        parsers = 0.0
        for child in self._own.children(recursive=True):
            if child.pid == self._database_pid:
                continue
            try:
                times = child.cpu_times()
            except psutil.NoSuchProcess:
                continue  # its time is in its parent's count of ended children
            parsers += times.user + times.system + times.children_user + times.children_system
        processor = ProcessorSeconds(time.process_time(), parsers, _nanosecond_clock(self._database_pid))
        return Moment(time.perf_counter(), processor)

    def since(self, begin: Moment) -> Spent:
        """Wall and processor seconds since a moment."""
        end = self.now()
        return Spent(end.wall - begin.wall, end.processor - begin.processor)


def _nanosecond_clock(pid: int) -> float:
    """Return another process's processor time by its clock (clock_getcpuclockid(3)): /proc counts in steps of 10 ms."""
    return time.clock_gettime((~pid << 3) | 2)
