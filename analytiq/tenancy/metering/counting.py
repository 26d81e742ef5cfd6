"""Counts the SPUs charged to a piece of work across all calls between, such as a run and its searches."""

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
    """Count charges of this task and its children; nested blocks do not count towards the outer one."""
    count = SpuCount()
    token = _counting.set(count)
    try:
        yield count
    finally:
        _counting.reset(token)


def note_charged(spus: int) -> None:
    """Add a charge to the current count, if any."""
    count = _counting.get()
    if count is not None:
        count.spus += spus
