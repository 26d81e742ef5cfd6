"""Arithmetic of rate limits (GCRA): the state of a limit, and the effect of a take. Pure.

A bucket is one number, `full_at`: the moment at which it is full again without further takes. A take moves the moment
on by its cost, and has to wait if the bucket would hold less than nothing. The database runs the same arithmetic
(`analytiq.storage.repositories.rate_limits`), so that reading and deciding are one step; a test compares the two.

A limit of N per minute is a burst of B and a refill of N - B + 1 per minute: no 60 seconds, wherever they begin, hold
more than N.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analytiq.models.rate_limit import Bucket, Charge, TakenTimes, TakeOutcome

MINUTE_MS = 60_000.0
PROBE_MS = 300_000.0
"""Milliseconds between two probes of a provider that asked for a longer wait: it may have recovered."""
BURST_SHARE = 0.1
"""Share of a minute's limit that may be taken at once; the rest is the steady rate."""


@dataclass(frozen=True, slots=True)
class LimitState:
    """The state of a limit: the moment each bucket is full, and the end of a block; milliseconds since 1970.

    `held_until_ms` is the end of a provider's requested wait beyond PROBE_MS; it is probed until then.
    """

    full_at_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    blocked_until_ms: float = 0.0
    held_until_ms: float = 0.0


def bucket_of(per_minute: int) -> Bucket:
    """Return the bucket that lets at most `per_minute` units through in any 60 seconds."""
    burst = max(1, int(per_minute * BURST_SHARE))
    return Bucket(interval_ms=MINUTE_MS / (per_minute - burst + 1), burst=burst)


def take(
    state: LimitState, now_ms: float, charges: Sequence[Charge], *, patience_ms: float
) -> tuple[TakeOutcome, LimitState]:
    """Take from every bucket or from none; grant if the wait is at most `patience_ms`.

    A take of more than a whole burst waits for a full bucket, and later takes wait for the rest of its debt: it could
    not be granted otherwise. While a provider is held, one take is granted without a wait as the probe; all others wait
    PROBE_MS for its outcome.
    """
    wait_ms = max(0.0, state.blocked_until_ms - now_ms)
    is_held = state.held_until_ms > now_ms
    for charge in charges:
        full_at = max(state.full_at_ms.get(charge.name, 0.0), now_ms)
        room = charge.bucket.burst - min(charge.cost, charge.bucket.burst)
        wait_ms = max(wait_ms, full_at - now_ms - room * charge.bucket.interval_ms)
    is_granted = wait_ms <= (0.0 if is_held else patience_ms)
    outcome = TakeOutcome(is_granted=is_granted, wait_ms=wait_ms, now_ms=now_ms, is_troubled=is_held)
    if not outcome.is_granted:
        return outcome, state
    # Charge as of the moment when the caller continues: a bucket that caused no wait must not refill meanwhile.
    taken = {
        charge.name: max(state.full_at_ms.get(charge.name, 0.0), now_ms + wait_ms)
        + charge.cost * charge.bucket.interval_ms
        for charge in charges
    }
    blocked_until_ms = now_ms + PROBE_MS if is_held else state.blocked_until_ms
    return outcome, LimitState({**state.full_at_ms, **taken}, blocked_until_ms, state.held_until_ms)


def take_up_to(state: LimitState, now_ms: float, charge: Charge, count: int) -> tuple[TakenTimes, LimitState]:
    """Take a charge as often as its bucket allows without a wait, at most `count` times.

    Unlike one take of the sum, this never goes beyond the burst.
    """
    full_at = max(state.full_at_ms.get(charge.name, 0.0), now_ms)
    step_ms = charge.cost * charge.bucket.interval_ms
    room_ms = now_ms + charge.bucket.burst * charge.bucket.interval_ms - full_at
    granted = max(0, min(count, math.floor(room_ms / step_ms)))
    taken = {**state.full_at_ms, charge.name: full_at + granted * step_ms}
    outcome = TakenTimes(granted, max(0.0, step_ms - room_ms), now_ms)
    return outcome, LimitState(taken, state.blocked_until_ms, state.held_until_ms)


def block(state: LimitState, now_ms: float, buckets: Mapping[str, Bucket], *, wait_ms: float) -> LimitState:
    """Grant nothing for the given time, or for PROBE_MS; then each bucket has one unit, and refills from there."""
    until = now_ms + min(wait_ms, PROBE_MS)
    emptied = {
        name: max(state.full_at_ms.get(name, 0.0), until + (bucket.burst - 1) * bucket.interval_ms)
        for name, bucket in buckets.items()
    }
    held_until_ms = max(state.held_until_ms, now_ms + wait_ms) if wait_ms > PROBE_MS else state.held_until_ms
    return LimitState({**state.full_at_ms, **emptied}, max(state.blocked_until_ms, until), held_until_ms)


def lift(state: LimitState, now_ms: float, buckets: Mapping[str, Bucket]) -> LimitState:
    """End a block after the provider's answer. The buckets are empty, and refill from now."""
    emptied = {
        name: min(state.full_at_ms.get(name, 0.0), now_ms + bucket.burst * bucket.interval_ms)
        for name, bucket in buckets.items()
    }
    return LimitState({**state.full_at_ms, **emptied})
