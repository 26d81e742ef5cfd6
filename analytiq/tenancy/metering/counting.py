"""Counts the SPUs that a piece of work is charged, whatever calls lie between: a run is told what its searches cost."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class SpuCount:
    """SPUs charged so far."""

    spus: int = 0


_counting: ContextVar[SpuCount | None] = ContextVar("spus_counted", default=None)


@contextmanager
def counting_spus() -> Generator[SpuCount]:
    """Within it, what this task and those that it starts are charged is counted; not for the block around it too."""
    count = SpuCount()
    token = _counting.set(count)
    try:
        yield count
    finally:
        _counting.reset(token)


def note_charged(spus: int) -> None:
    """Add a charge to whatever is being counted."""
    count = _counting.get()
    if count is not None:
        count.spus += spus
