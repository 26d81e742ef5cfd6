"""Shapes of a rate limit; the arithmetic is in `analytiq.tenancy.rate_limits.gcra`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """Refills one unit every `interval_ms`, up to `burst` units."""

    interval_ms: float
    burst: float


@dataclass(frozen=True, slots=True)
class Charge:
    """The demand of a take on one bucket: `name` is unique in a row, `cost` is in the bucket's units."""

    name: str
    bucket: Bucket
    cost: float


@dataclass(frozen=True, slots=True)
class TakeOutcome:
    """The outcome of a take.

    Granted: the caller may go on after `wait_ms`, and keeps its place until then. Not granted: no bucket was charged,
    and after `wait_ms` the same take would be granted if no other came. `now_ms` is the database's clock, in
    milliseconds since 1970. `is_troubled`: the provider asked for a long wait, or fails; an answered call ends that.
    """

    is_granted: bool
    wait_ms: float
    now_ms: float
    is_troubled: bool = False


@dataclass(frozen=True, slots=True)
class TakenTimes:
    """The outcome of taking a charge several times without a wait.

    `granted`: how often it was taken; if never, `wait_ms` is the time until it can be. `now_ms` as in `TakeOutcome`.
    """

    granted: int
    wait_ms: float
    now_ms: float
