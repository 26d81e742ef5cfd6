"""What a rate limit is made of; the arithmetic is in `analytiq.tenancy.rate_limits.gcra`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """Refills one unit every `interval_ms`, up to `burst` units."""

    interval_ms: float
    burst: float


@dataclass(frozen=True, slots=True)
class Charge:
    """What a take wants of one bucket: `name` tells the buckets of a row apart, `cost` is in the bucket's units."""

    name: str
    bucket: Bucket
    cost: float


@dataclass(frozen=True, slots=True)
class TakeOutcome:
    """What became of a take.

    Granted: the caller may go on after `wait_ms`, and its place is kept until then. Not granted: nothing was
    charged to any bucket, and after `wait_ms` the same take would be granted if nobody else came.
    `now_ms` is the server's clock, in milliseconds since 1970. `is_troubled`: the provider has asked for a long wait,
    or fails; a call that is answered now ends that.
    """

    is_granted: bool
    wait_ms: float
    now_ms: float
    is_troubled: bool = False
