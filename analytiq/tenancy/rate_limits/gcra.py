"""The arithmetic of rate limits (GCRA), pure: what a row holds, and what a take makes of it.

A bucket is one number, `full_at`: the moment at which it will be full again if nobody takes anything. A take
moves it on by its cost; it has to wait where that would leave the bucket with less than nothing. The same
arithmetic runs on the server (`analytiq.storage.repositories.rate_limits`), so that reading and deciding are one
step; a test holds the two against each other.

A minute's limit of N is a burst of B and a refill of N - B + 1 a minute: then no 60 seconds, wherever they
begin, hold more than N.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analytiq.models.rate_limit import Bucket, Charge, TakeOutcome

MINUTE_MS = 60_000.0
PROBE_MS = 300_000.0
"""A provider that asks to wait for longer gets one call each time that this has passed: it may have recovered."""
BURST_SHARE = 0.1
"""Of a minute's limit that may be taken at once; what is left for it is missing from the steady rate."""


@dataclass(frozen=True, slots=True)
class LimitState:
    """A row: when each bucket will be full, and until when nothing is granted; milliseconds since 1970.

    `held_until_ms` is what a provider asked for that wants a longer wait than PROBE_MS: until then it is probed.
    """

    full_at_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    blocked_until_ms: float = 0.0
    held_until_ms: float = 0.0


def bucket_of(per_minute: int) -> Bucket:
    """The bucket that lets at most so many units through in any 60 seconds."""
    burst = max(1, int(per_minute * BURST_SHARE))
    return Bucket(interval_ms=MINUTE_MS / (per_minute - burst + 1), burst=burst)


def take(
    state: LimitState, now_ms: float, charges: Sequence[Charge], *, patience_ms: float
) -> tuple[TakeOutcome, LimitState]:
    """Take from every bucket or from none; granted where the wait is at most `patience_ms`.

    A take of more than a whole burst waits for a full bucket, and those behind it for the rest of its debt: it
    could not be granted otherwise. While a provider is held, a take is granted without a wait or not at all, as the one
    probe; all others wait PROBE_MS for its outcome.
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
    # Charged as of the moment when the caller goes on: a bucket that did not delay it must not refill meanwhile,
    # as if the call had been made before.
    taken = {
        charge.name: max(state.full_at_ms.get(charge.name, 0.0), now_ms + wait_ms)
        + charge.cost * charge.bucket.interval_ms
        for charge in charges
    }
    blocked_until_ms = now_ms + PROBE_MS if is_held else state.blocked_until_ms
    return outcome, LimitState({**state.full_at_ms, **taken}, blocked_until_ms, state.held_until_ms)


def block(state: LimitState, now_ms: float, buckets: Mapping[str, Bucket], *, wait_ms: float) -> LimitState:
    """Grant nothing for so long, or for PROBE_MS; then each of the buckets has one unit, and refills from there."""
    until = now_ms + min(wait_ms, PROBE_MS)
    emptied = {
        name: max(state.full_at_ms.get(name, 0.0), until + (bucket.burst - 1) * bucket.interval_ms)
        for name, bucket in buckets.items()
    }
    held_until_ms = max(state.held_until_ms, now_ms + wait_ms) if wait_ms > PROBE_MS else state.held_until_ms
    return LimitState({**state.full_at_ms, **emptied}, max(state.blocked_until_ms, until), held_until_ms)


def lift(state: LimitState, now_ms: float, buckets: Mapping[str, Bucket]) -> LimitState:
    """End a block: the provider answers again. The buckets are empty, and refill from now."""
    emptied = {
        name: min(state.full_at_ms.get(name, 0.0), now_ms + bucket.burst * bucket.interval_ms)
        for name, bucket in buckets.items()
    }
    return LimitState({**state.full_at_ms, **emptied})
