"""Migrations: run from every process at every start."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from pymongo import IndexModel

from analytiq import clock
from analytiq.storage import migrations
from analytiq.storage.client import MongoConnection
from analytiq.storage.migrations import MIGRATIONS, Migration, declared_indexes, migrate

NAMES = [step.name for step in MIGRATIONS]


async def state_of(database: MongoConnection) -> dict[str, Any]:
    row = await database.database["schema_migrations"].find_one({})
    assert row is not None
    return row


async def test_eight_processes_that_start_at_once_migrate_once(database: MongoConnection) -> None:
    applied = await asyncio.gather(*(migrate(database) for _ in range(8)))
    assert sorted(applied, key=len) == [[]] * 7 + [NAMES]
    state = await state_of(database)
    assert (state["version"], state["token"]) == (MIGRATIONS[-1].version, None)


async def test_migrated_database_has_every_declared_index(database: MongoConnection) -> None:
    await migrate(database)
    for collection, indexes in declared_indexes().items():
        present = await database.database[collection].index_information()
        missing = {index.document["name"] for index in indexes} - set(present)
        assert missing == set(), collection
    assert "kb_epochs" in await database.database.list_collection_names()


async def test_first_start_creates_the_indexes_once_for_all_steps(
    database: MongoConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings: list[int] = []

    def counted() -> dict[str, list[IndexModel]]:
        declared = declared_indexes()
        readings.append(len(declared))
        return declared

    monkeypatch.setattr(migrations, "declared_indexes", counted)
    assert await migrate(database) == NAMES
    assert len(readings) == 1


async def test_second_start_applies_nothing(database: MongoConnection) -> None:
    await migrate(database)
    assert await migrate(database) == []


def test_versions_count_up_by_one() -> None:
    assert [step.version for step in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


async def test_step_of_a_process_that_died_is_taken_over_when_its_lease_has_run_out(
    database: MongoConnection,
) -> None:
    expired = clock.now() - timedelta(seconds=1)
    await database.database["schema_migrations"].insert_one(
        {"_id": "migrations", "version": 0, "token": "dead", "lease_expires_at": expired}
    )
    assert await migrate(database) == NAMES


async def test_process_waits_while_another_migrates(database: MongoConnection) -> None:
    await database.database["schema_migrations"].insert_one(
        {
            "_id": "migrations",
            "version": 0,
            "token": "alive",
            "lease_expires_at": clock.now() + timedelta(hours=1),
        }
    )
    waiting = asyncio.create_task(migrate(database))
    for _ in range(5):
        assert await database.database["docs"].index_information() == {}
    assert not waiting.done()
    await database.database["schema_migrations"].update_one(
        {"_id": "migrations"}, {"$set": {"version": MIGRATIONS[-1].version, "token": None}}
    )
    assert await waiting == []


async def test_step_that_fails_gives_the_lease_back_and_is_tried_again_at_the_next_start(
    database: MongoConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    async def first(_: MongoConnection) -> None:
        runs.append("first")

    async def second(_: MongoConnection) -> None:
        runs.append("second")
        if runs.count("second") == 1:
            raise RuntimeError("the disk is full")

    monkeypatch.setattr(migrations, "MIGRATIONS", (Migration(1, "first", first), Migration(2, "second", second)))
    with pytest.raises(RuntimeError, match="disk"):
        await migrate(database)
    assert await migrate(database) == ["second"]
    assert runs == ["first", "second", "second"]


async def test_older_release_beside_a_newer_one_leaves_its_schema_alone(database: MongoConnection) -> None:
    await migrate(database)
    newer = MIGRATIONS[-1].version + 1
    await database.database["schema_migrations"].update_one({}, {"$set": {"version": newer}})
    assert await migrate(database) == []
    assert (await state_of(database))["version"] == newer
