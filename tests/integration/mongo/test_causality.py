"""A transaction sees what its process was told before it: on a busy server too."""

import asyncio
from typing import Any

from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.write_concern import WriteConcern

from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.transactions import run_in_transaction

ROUNDS = 300
"""Without the time of the newest answer about five of these did not see the write before them."""


async def test_transaction_sees_each_write_acknowledged_before_it(migrated: MongoConnection) -> None:
    rows, others = migrated.database["causality"], migrated.database["causality_load"]
    by_primary = rows.with_options(write_concern=WriteConcern(w=1))
    is_over = False

    async def write_beside() -> None:
        # Writes under way are what a snapshot must stop short of.
        while not is_over:
            async with migrated.client.start_session() as session, await session.start_transaction():
                load: list[dict[str, Any]] = [{"text": "y" * 2000} for _ in range(300)]
                await others.insert_many(load, session=session)

    await rows.insert_one({"_id": "row"})
    await others.insert_one({})
    writers = [asyncio.create_task(write_beside()) for _ in range(6)]
    missed = 0
    for number in range(ROUNDS):
        token = new_id()
        await by_primary.find_one_and_update({"_id": "row"}, {"$set": {"token": token}})

        async def change(session: AsyncClientSession, token: str = token, number: int = number) -> int:
            changed = await rows.update_one({"_id": "row", "token": token}, {"$set": {"n": number}}, session=session)
            return changed.matched_count

        missed += 1 - await run_in_transaction(migrated, change)
    is_over = True
    await asyncio.gather(*writers)
    assert missed == 0
