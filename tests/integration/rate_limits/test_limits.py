"""Rate limits on a real mongod: the pipeline does what `gcra` says, and holds across connections."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
from pydantic import SecretStr

from analytiq.errors import RateLimitedError
from analytiq.models.rate_limit import Bucket, Charge
from analytiq.settings import ModelRateLimit, RateLimitSettings
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.rate_limits import RateLimitRepository
from analytiq.tenancy.rate_limits import gcra
from analytiq.tenancy.rate_limits.limits import DOCUMENTS_CODE, LONGEST_BLOCK_SECONDS, RateLimits

MODEL = "openai/fake-embedding"

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
async def rows(migrated: MongoConnection) -> RateLimitRepository:
    return RateLimitRepository(migrated)


@pytest.fixture
async def connections(migrated: MongoConnection, mongo_uri: SecretStr) -> AsyncIterator[Sequence[MongoConnection]]:
    """Four clients, as four processes have them, on the test's database."""
    opened = [await connect(mongo_uri, migrated.database.name) for _ in range(4)]
    yield opened
    for connection in opened:
        await connection.close()


def limits(rows: RateLimitRepository, **settings: object) -> RateLimits:
    return RateLimits(rows, RateLimitSettings.model_validate(settings))


async def is_limited(limits: RateLimits, organization_id: str, model: str = MODEL, *, tokens: int = 1) -> float | None:
    """The wait in seconds that a call is refused with, None where it is granted."""
    try:
        await limits.take_call(organization_id, model, tokens=tokens)
    except RateLimitedError as error:
        return error.retry_after
    return None


async def test_server_decides_as_the_arithmetic_does(rows: RateLimitRepository) -> None:
    organization_id, key = new_id(), "call:any"
    chance = random.Random(5)
    buckets = {"requests": Bucket(interval_ms=7.5, burst=4), "tokens": Bucket(interval_ms=0.3, burst=40)}
    state = gcra.LimitState()
    verdicts: set[bool] = set()
    for _ in range(200):
        cost = chance.choice([1, 5, 30, 90])
        charges = [Charge("requests", buckets["requests"], 1), Charge("tokens", buckets["tokens"], cost)]
        patience_ms = chance.choice([0.0, 10.0, 60.0])
        outcome = await rows.take(organization_id, key, charges, patience_ms=patience_ms)
        expected, state = gcra.take(state, outcome.now_ms, charges, patience_ms=patience_ms)
        assert (outcome.is_granted, outcome.wait_ms) == (expected.is_granted, pytest.approx(expected.wait_ms, abs=0.01))
        verdicts.add(outcome.is_granted)
    assert verdicts == {True, False}


async def test_server_takes_as_many_at_once_as_the_arithmetic_does(rows: RateLimitRepository) -> None:
    organization_id, key = new_id(), "document:any"
    chance = random.Random(5)
    charge = Charge("documents", Bucket(interval_ms=7.5, burst=6), 1)
    state = gcra.LimitState()
    numbers: set[int] = set()
    for _ in range(100):
        count = chance.choice([1, 3, 30])
        row = await rows.take_up_to(organization_id, key, charge, count)
        expected, state = gcra.take_up_to(state, row.now_ms, charge, count)
        assert (row.granted, row.wait_ms) == (expected.granted, pytest.approx(expected.wait_ms, abs=0.01))
        numbers.add(row.granted)
    assert len(numbers) > 2


async def test_many_tasks_over_several_connections_never_exceed_the_rate(
    connections: Sequence[MongoConnection],
) -> None:
    organization_id, key = new_id(), "call:any"
    bucket = Bucket(interval_ms=5.0, burst=10)
    deadline = time.monotonic() + 1.5
    moments: list[float] = []

    async def worker(connection: MongoConnection) -> None:
        rows = RateLimitRepository(connection)
        while time.monotonic() < deadline:
            outcome = await rows.take(organization_id, key, [Charge("requests", bucket, 1)], patience_ms=20.0)
            if outcome.is_granted:
                moments.append(outcome.now_ms + outcome.wait_ms)

    await asyncio.gather(*[worker(connection) for connection in connections for _ in range(8)])
    moments.sort()
    assert len(moments) > 3 * bucket.burst
    for first, begin in enumerate(moments):
        for last in range(first, len(moments)):
            allowed = bucket.burst + (moments[last] - begin) / bucket.interval_ms
            assert last - first + 1 <= allowed + 0.01


async def test_crowd_that_begins_together_gets_the_burst_and_not_one_more(
    connections: Sequence[MongoConnection],
) -> None:
    organization_id = new_id()
    # The burst of 400 a minute is 40; 34 more become free within the patience of some 4 s and a few places more.
    apart = [limits(RateLimitRepository(connection), requests_per_minute=400) for connection in connections]
    takes = [is_limited(own, organization_id) for own in apart for _ in range(50)]
    answers = await asyncio.gather(*takes)
    granted, refused = answers.count(None), [answer for answer in answers if answer is not None]
    assert 40 <= granted < 120
    assert refused
    assert min(refused) > 0


async def test_take_that_the_tokens_refuse_costs_no_request(rows: RateLimitRepository) -> None:
    organization_id = new_id()
    own = limits(rows, requests_per_minute=1, tokens_per_minute=10_000)
    fill = Charge("tokens", gcra.bucket_of(10_000), 5000)
    await rows.take(organization_id, f"call:{organization_id}:{MODEL}", [fill], patience_ms=0)
    assert (await is_limited(own, organization_id, tokens=1000) or 0) > 20
    without_tokens = limits(rows, requests_per_minute=1, tokens_per_minute=0)
    assert await is_limited(without_tokens, organization_id) is None
    assert await is_limited(without_tokens, organization_id) is not None


async def test_short_wait_is_waited_out_in_place(rows: RateLimitRepository) -> None:
    own, organization_id = limits(rows, requests_per_minute=60), new_id()
    answers = [await is_limited(own, organization_id) for _ in range(7)]
    assert answers == [None] * 7


async def test_told_to_wait_holds_for_every_connection_and_no_other_model_or_organization(
    connections: Sequence[MongoConnection],
) -> None:
    organization_id = new_id()
    first, *others = [limits(RateLimitRepository(connection)) for connection in connections]
    await first.told_to_wait(organization_id, MODEL, seconds=60)
    for own in others:
        assert 55 < (await is_limited(own, organization_id) or 0) <= 60
        assert await is_limited(own, organization_id, "text-embedding-3-small") is None
        assert await is_limited(own, new_id()) is None


async def test_told_to_wait_reaches_those_who_have_their_place_and_wait_for_it(
    rows: RateLimitRepository, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    own, organization_id = limits(rows, requests_per_minute=60), new_id()
    for _ in range(6):
        assert await is_limited(own, organization_id) is None
    taken = await migrated.database["rate_limits"].find_one({})
    assert taken is not None
    waiting = asyncio.create_task(is_limited(own, organization_id))

    async def has_its_place() -> bool:
        return await migrated.database["rate_limits"].find_one({"full_at_ms": taken["full_at_ms"]}) is None

    await eventually(has_its_place)
    assert not waiting.done()
    await own.told_to_wait(organization_id, MODEL, seconds=30)
    assert 20 < (await waiting or 0) <= 30


async def is_over(migrated: MongoConnection, field: str) -> None:
    """Let the block of the only row end now."""
    await migrated.database["rate_limits"].update_one({}, {"$set": {field: 1.0}, "$unset": {"full_at_ms": 1}})


async def test_provider_that_asks_for_a_day_is_probed_by_one_call_at_a_time_until_it_answers(
    rows: RateLimitRepository, migrated: MongoConnection
) -> None:
    own, organization_id = limits(rows), new_id()
    await own.told_to_wait(organization_id, MODEL, seconds=1e12)
    assert LONGEST_BLOCK_SECONDS - 30 < (await is_limited(own, organization_id) or 0) <= LONGEST_BLOCK_SECONDS
    for _ in range(3):
        await is_over(migrated, "blocked_until_ms")
        answers = await asyncio.gather(*[is_limited(own, organization_id) for _ in range(20)])
        assert answers.count(None) == 1
        assert min(answer for answer in answers if answer is not None) > LONGEST_BLOCK_SECONDS - 30
    assert await own.recovered(organization_id, MODEL)
    assert not await own.recovered(organization_id, MODEL)
    assert await is_limited(own, organization_id) is None
    await own.told_to_wait(organization_id, MODEL, seconds=1e12)
    await is_over(migrated, "held_until_ms")
    await is_over(migrated, "blocked_until_ms")
    assert [await is_limited(own, organization_id) for _ in range(5)] == [None] * 5


async def test_persons_test_is_made_in_spite_of_a_block_and_within_the_limit(rows: RateLimitRepository) -> None:
    own, organization_id = limits(rows, requests_per_minute=60), new_id()
    await own.told_to_wait(organization_id, MODEL, seconds=86_400)
    assert await own.take_call(organization_id, MODEL, tokens=1, ignores_block=True)
    assert await is_limited(own, organization_id) is not None
    few = limits(rows, requests_per_minute=1)
    assert await is_limited(few, organization_id, "another") is None
    with pytest.raises(RateLimitedError):
        await few.take_call(organization_id, "another", tokens=1, ignores_block=True)


async def test_lifted_block_gives_no_call_more_than_the_limit(
    rows: RateLimitRepository, migrated: MongoConnection
) -> None:
    own, organization_id = limits(rows, requests_per_minute=20), new_id()
    taken = [await is_limited(own, organization_id) for _ in range(2)]
    await own.told_to_wait(organization_id, MODEL, seconds=86_400)
    assert await own.recovered(organization_id, MODEL)
    row = await migrated.database["rate_limits"].find_one({})
    assert row is not None
    assert taken == [None, None]
    refused = await rows.take(
        organization_id,
        f"call:{organization_id}:{MODEL}",
        [Charge("requests", gcra.bucket_of(20), 1)],
        patience_ms=0,
    )
    assert not refused.is_granted


async def test_failing_provider_is_remembered_until_it_answers(rows: RateLimitRepository) -> None:
    own, organization_id = limits(rows), new_id()
    assert not await own.take_call(organization_id, MODEL, tokens=1)
    assert await own.failed(organization_id, MODEL) == 0
    assert await own.failed(organization_id, MODEL) >= 0
    assert await own.take_call(organization_id, MODEL, tokens=1)
    assert await own.troubled_models() == await own.troubled_models(organization_id) == [(organization_id, MODEL)]
    assert await own.recovered(organization_id, MODEL)
    assert not await own.take_call(organization_id, MODEL, tokens=1)
    assert await own.troubled_models() == []


@pytest.mark.parametrize("seconds", [0.0, -5.0, float("nan")])
async def test_wait_of_no_length_says_nothing(rows: RateLimitRepository, seconds: float) -> None:
    own, organization_id = limits(rows), new_id()
    await own.told_to_wait(organization_id, MODEL, seconds=seconds)
    assert await is_limited(own, organization_id) is None


async def test_local_model_is_limited_only_where_a_setting_names_it(
    rows: RateLimitRepository, migrated: MongoConnection
) -> None:
    organization_id, model = new_id(), "local/all-MiniLM-L6-v2"
    free = limits(rows, requests_per_minute=1)
    assert [await is_limited(free, organization_id, model) for _ in range(5)] == [None] * 5
    assert await migrated.database["rate_limits"].count_documents({}) == 0
    named = limits(rows, models={model: ModelRateLimit(requests_per_minute=1)})
    assert await is_limited(named, organization_id, model) is None
    assert await is_limited(named, organization_id, model) is not None


async def test_model_of_its_own_limit_keeps_the_general_one_for_what_is_not_set(rows: RateLimitRepository) -> None:
    own = limits(rows, requests_per_minute=1, models={MODEL: ModelRateLimit(tokens_per_minute=0)})
    organization_id = new_id()
    assert await is_limited(own, organization_id, tokens=50_000_000) is None
    assert await is_limited(own, organization_id, tokens=1) is not None


async def test_documents_of_one_knowledge_base_leave_the_others_alone(rows: RateLimitRepository) -> None:
    own, organization_id = limits(rows, documents_per_minute=30), new_id()
    for _ in range(3):
        await own.take_document(organization_id, "one")
    with pytest.raises(RateLimitedError) as refused:
        await own.take_document(organization_id, "one")
    assert refused.value.code == DOCUMENTS_CODE
    assert 0 < (refused.value.retry_after or 0) <= 60 / 28
    await own.take_document(organization_id, "another")


async def test_returned_document_may_be_taken_again(rows: RateLimitRepository) -> None:
    own, organization_id = limits(rows, documents_per_minute=1), new_id()
    await own.take_document(organization_id, "one")
    await own.return_document(organization_id, "one")
    await own.take_document(organization_id, "one")
    with pytest.raises(RateLimitedError):
        await own.take_document(organization_id, "one")


async def test_limits_of_zero_are_none(rows: RateLimitRepository) -> None:
    own = limits(rows, requests_per_minute=0, tokens_per_minute=0, documents_per_minute=0)
    organization_id = new_id()
    for _ in range(5):
        assert await is_limited(own, organization_id, tokens=10**9) is None
        await own.take_document(organization_id, "one")


async def test_row_is_forgotten_once_its_buckets_are_full(migrated: MongoConnection, rows: RateLimitRepository) -> None:
    own, organization_id = limits(rows, requests_per_minute=1), new_id()
    await own.take_call(organization_id, MODEL, tokens=1)
    indexes = await migrated.database["rate_limits"].index_information()
    assert any(index.get("expireAfterSeconds") for index in indexes.values())
    row = await migrated.database["rate_limits"].find_one({})
    assert row is not None
    assert row["idle_at"].timestamp() * 1000 == pytest.approx(row["full_at_ms"]["requests"], abs=1)
    await own.told_to_wait(organization_id, MODEL, seconds=600)
    row = await migrated.database["rate_limits"].find_one({})
    assert row is not None
    assert row["idle_at"].timestamp() * 1000 >= row["blocked_until_ms"] - 1
