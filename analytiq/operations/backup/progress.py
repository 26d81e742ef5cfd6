"""How far a backup or a restore is, for whoever watches."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """What has been done so far. `total_bytes` is None where nobody can know it before the end."""

    what: str
    rows: int
    byte_size: int
    total_bytes: int | None = None


OnStep = Callable[[Step], None]


def ignore(step: Step) -> None:
    """Nobody watches."""
    del step
