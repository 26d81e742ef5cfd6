"""The arithmetic of rate limits, against a plain model: a list of what was granted, and when."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.rate_limit import Bucket, Charge
from analytiq.tenancy.rate_limits.gcra import MINUTE_MS, PROBE_MS, LimitState, block, bucket_of, lift, take, take_up_to

GRAIN_MS = 0.01
NOW = 1_800_000_000_000.0
SLACK = 1e-6
"""Of a unit: moments of today in milliseconds have a grain of 0.0002 ms as floats."""


@dataclass(frozen=True, slots=True)
class Granted:
    """The memory of the plain model: when the caller went on, and how much of each bucket it took."""

    at_ms: float
    costs: dict[str, float]


def most_in_a_minute(granted: list[Granted], name: str) -> float:
    """The largest sum of costs within any 60 seconds, the last moment excluded."""
    return max(
        (
            sum(other.costs.get(name, 0.0) for other in granted if first.at_ms <= other.at_ms < first.at_ms + MINUTE_MS)
            for first in granted
        ),
        default=0.0,
    )


def charge(per_minute: int, cost: float = 1.0, name: str = "requests") -> Charge:
    return Charge(name, bucket_of(per_minute), cost)


def test_full_bucket_grants_its_burst_at_once_and_then_one_an_interval() -> None:
    state = LimitState()
    waits: list[float] = []
    for _ in range(5):
        outcome, state = take(state, NOW, [Charge("requests", Bucket(interval_ms=1000, burst=3), 1)], patience_ms=9e9)
        waits.append(outcome.wait_ms)
    assert waits == [0, 0, 0, 1000, 2000]


def test_refused_take_changes_nothing_and_tells_the_wait_after_which_it_is_granted() -> None:
    charges = [charge(1)]
    _, state = take(LimitState(), NOW, charges, patience_ms=0)
    refused, after = take(state, NOW + 15_000, charges, patience_ms=0)
    assert (refused.is_granted, refused.wait_ms, after) == (False, 45_000, state)
    granted, _ = take(after, NOW + 15_000 + refused.wait_ms, charges, patience_ms=0)
    assert granted.is_granted


def test_take_that_the_second_bucket_refuses_leaves_the_first_untouched() -> None:
    scarce = Charge("tokens", Bucket(interval_ms=1000, burst=1), 1)
    _, state = take(LimitState(), NOW, [scarce], patience_ms=0)
    refused, after = take(state, NOW, [charge(100), scarce], patience_ms=0)
    assert not refused.is_granted
    assert "requests" not in after.full_at_ms


def test_take_larger_than_the_burst_waits_for_a_full_bucket_and_delays_what_follows() -> None:
    bucket = Bucket(interval_ms=10, burst=100)
    large = Charge("tokens", bucket, 500)
    outcome, state = take(LimitState(), NOW, [large], patience_ms=0)
    assert outcome.is_granted
    after, _ = take(state, NOW, [Charge("tokens", bucket, 1)], patience_ms=0)
    assert (after.is_granted, after.wait_ms) == (False, 401 * 10)


def test_blocked_row_grants_one_call_when_the_block_ends_and_the_next_at_the_rate() -> None:
    buckets = {"requests": Bucket(interval_ms=100, burst=30)}
    charges = [Charge("requests", buckets["requests"], 1)]
    state = block(LimitState(), NOW, buckets, wait_ms=5000)
    first, state = take(state, NOW, charges, patience_ms=9000)
    second, _ = take(state, NOW, charges, patience_ms=9000)
    assert (first.wait_ms, second.wait_ms) == (5000, 5100)


def test_shorter_block_does_not_end_a_longer_one() -> None:
    state = block(LimitState(), NOW, {}, wait_ms=60_000)
    assert block(state, NOW + 1000, {}, wait_ms=2000).blocked_until_ms == NOW + 60_000


def test_provider_that_asks_for_a_day_gets_one_probe_each_time_until_the_day_is_over() -> None:
    charges = [charge(3000)]
    state = block(LimitState(), NOW, {}, wait_ms=86_400_000)
    refused, state = take(state, NOW + PROBE_MS - 1, charges, patience_ms=4000)
    assert (refused.is_granted, refused.wait_ms) == (False, 1)
    probe, state = take(state, NOW + PROBE_MS, charges, patience_ms=4000)
    assert (probe.is_granted, probe.is_troubled) == (True, True)
    other, state = take(state, NOW + PROBE_MS, charges, patience_ms=4000)
    assert (other.is_granted, other.wait_ms) == (False, PROBE_MS)
    after, _ = take(state, NOW + 86_400_000, charges, patience_ms=4000)
    assert (after.is_granted, after.is_troubled) == (True, False)


def test_lifted_block_leaves_the_buckets_empty() -> None:
    bucket = Bucket(interval_ms=100, burst=30)
    blocked = block(LimitState(), NOW, {"requests": bucket}, wait_ms=86_400_000)
    state = lift(blocked, NOW + 1000, {"requests": bucket})
    first, _ = take(state, NOW + 1000, [Charge("requests", bucket, 1)], patience_ms=4000)
    assert (first.is_granted, first.wait_ms) == (True, 100)


def test_lifting_fills_no_bucket_and_takes_nothing_from_one_that_was_not_used() -> None:
    bucket = Bucket(interval_ms=100, burst=30)
    assert lift(LimitState({"tokens": NOW}), NOW, {"requests": bucket}).full_at_ms == {"tokens": NOW, "requests": 0.0}


@pytest.mark.parametrize("per_minute", [1, 2, 9, 10, 11, 60, 3000, 1_000_000])
def test_limit_of_any_size_has_a_bucket_that_never_lets_more_through_in_a_minute(per_minute: int) -> None:
    bucket = bucket_of(per_minute)
    # A burst at once, then one an interval, as far as they begin before the minute has passed.
    most = bucket.burst + math.ceil(MINUTE_MS / bucket.interval_ms - SLACK) - 1
    assert most == per_minute


limits = st.integers(1, 120)
steps = st.tuples(
    st.floats(0, 20_000),
    st.sampled_from(["calls", "blocked"]),
    st.integers(1, 30),
    st.sampled_from([0.0, 500.0, 5000.0, 90_000.0]),
)


@given(requests=limits, tokens=st.integers(300, 3000), moves=st.lists(steps, max_size=60))
def test_no_minute_ever_holds_more_than_the_limits(
    requests: int, tokens: int, moves: list[tuple[float, str, int, float]]
) -> None:
    now, state = NOW, LimitState()
    granted: list[Granted] = []
    blocks: list[tuple[float, float]] = []
    for pause_ms, move, cost, patience_ms in moves:
        now += pause_ms
        if move == "blocked":
            state = block(state, now, {"requests": bucket_of(requests)}, wait_ms=patience_ms)
            blocks.append((now, now + patience_ms))
            continue
        charges = [charge(requests), charge(tokens, cost, "tokens")]
        outcome, state = take(state, now, charges, patience_ms=patience_ms)
        assert outcome.is_granted is (outcome.wait_ms <= patience_ms)
        if outcome.is_granted:
            granted.append(Granted(now + outcome.wait_ms, {"requests": 1, "tokens": cost}))
            for told_at, until in blocks:
                assert told_at > now or now + outcome.wait_ms >= until - SLACK
    assert most_in_a_minute(granted, "requests") <= requests + SLACK
    assert most_in_a_minute(granted, "tokens") <= tokens + SLACK


@given(per_minute=limits, pauses=st.lists(st.floats(0, 30_000), max_size=40))
def test_nothing_is_refused_that_the_steady_rate_allows(per_minute: int, pauses: list[float]) -> None:
    bucket = bucket_of(per_minute)
    now, state = NOW, LimitState()
    for pause_ms in pauses:
        now += bucket.interval_ms + 0.01 + pause_ms
        outcome, state = take(state, now, [charge(per_minute)], patience_ms=0)
        assert outcome.is_granted


@given(per_minute=limits, costs=st.lists(st.integers(1, 12), min_size=1, max_size=30))
def test_those_who_come_first_go_first(per_minute: int, costs: list[int]) -> None:
    state = LimitState()
    moments: list[float] = []
    for place, cost in enumerate(costs):
        outcome, state = take(state, NOW + place, [charge(per_minute, cost)], patience_ms=9e9)
        moments.append(NOW + place + outcome.wait_ms)
    assert moments == sorted(moments)


@given(per_minute=limits, takes=st.lists(st.tuples(st.floats(0, 90_000), st.integers(1, 64)), max_size=60))
def test_several_at_once_are_as_many_as_one_by_one(per_minute: int, takes: list[tuple[float, int]]) -> None:
    together = single = LimitState()
    now, granted = NOW, list[Granted]()
    for pause_ms, count in takes:
        now += pause_ms
        several, together = take_up_to(together, now, charge(per_minute), count)
        for _ in range(several.granted):
            outcome, single = take(single, now, [charge(per_minute)], patience_ms=GRAIN_MS)
            assert outcome.is_granted
            granted.append(Granted(now, {"requests": 1}))
        if several.granted < count:
            outcome, _ = take(single, now, [charge(per_minute)], patience_ms=0)
            assert outcome.wait_ms > -GRAIN_MS
            assert several.granted or abs(outcome.wait_ms - several.wait_ms) < GRAIN_MS
    assert most_in_a_minute(granted, "requests") <= per_minute + SLACK
