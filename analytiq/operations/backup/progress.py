"""Progress of a backup or a restore, for its watcher."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """The work done so far. `total_bytes` is None while the total is unknown."""

    what: str
    rows: int
    byte_size: int
    total_bytes: int | None = None


OnStep = Callable[[Step], None]


def ignore(step: Step) -> None:
    """Report to no watcher."""
    del step
