"""The lease on an idempotency key."""

from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.models.idempotency import KeptAnswer
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.idempotency import IdempotencyRepository

LONG = 600.0
EXPIRED = -1.0
JSON = "application/json"


@pytest.fixture
def keys(migrated: MongoConnection) -> IdempotencyRepository:
    return IdempotencyRepository(migrated)


def calls_with_one_key() -> tuple[KeptAnswer, KeptAnswer]:
    now, key = clock.now(), new_id()
    first = KeptAnswer(
        id=key,
        organization_id=new_id(),
        body_hash="hash",
        expires_at=now + timedelta(hours=1),
        lease_token=new_id(),
        lease_expires_at=now,
    )
    return first, first.model_copy(update={"lease_token": new_id()})


async def test_running_call_holds_its_key(keys: IdempotencyRepository) -> None:
    first, second = calls_with_one_key()
    assert await keys.begin(first, lease_seconds=LONG) is None
    kept = await keys.begin(second, lease_seconds=LONG)
    assert kept is not None
    assert kept.status is None


async def test_key_of_a_call_that_could_not_release_it_is_free_once_its_lease_expires(
    keys: IdempotencyRepository,
) -> None:
    first, second = calls_with_one_key()
    await keys.begin(first, lease_seconds=EXPIRED)
    assert await keys.begin(second, lease_seconds=LONG) is None


async def test_renewed_lease_keeps_the_key(keys: IdempotencyRepository) -> None:
    first, second = calls_with_one_key()
    await keys.begin(first, lease_seconds=EXPIRED)
    await keys.renew(first, lease_seconds=LONG)
    assert await keys.begin(second, lease_seconds=LONG) is not None


async def test_call_that_lost_its_key_neither_answers_for_the_next_one_nor_releases_its_key(
    keys: IdempotencyRepository,
) -> None:
    first, second = calls_with_one_key()
    await keys.begin(first, lease_seconds=EXPIRED)
    await keys.begin(second, lease_seconds=LONG)
    await keys.keep(first, status=500, content_type=JSON, body=b"first")
    await keys.renew(first, lease_seconds=EXPIRED)
    await keys.release(first)
    await keys.keep(second, status=201, content_type=JSON, body=b"second")
    kept = await keys.begin(first, lease_seconds=LONG)
    assert kept is not None
    assert (kept.status, kept.body) == (201, b"second")


async def test_answer_is_kept_after_its_lease_expires(keys: IdempotencyRepository) -> None:
    first, second = calls_with_one_key()
    await keys.begin(first, lease_seconds=EXPIRED)
    await keys.keep(first, status=201, content_type=JSON, body=b"first")
    kept = await keys.begin(second, lease_seconds=LONG)
    assert kept is not None
    assert kept.body == b"first"
