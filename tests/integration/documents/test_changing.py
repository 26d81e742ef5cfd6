"""The same change of many documents, while others write to some of them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from bson import ObjectId

from analytiq.ingestion.documents import changing
from analytiq.ingestion.documents.changing import ChangedBatch, Selected, WantedChange
from analytiq.storage.client import MongoConnection
from tests.integration.conftest import EventuallyTrue
from tests.integration.tenant import Tenant


@asynccontextmanager
async def written_by_another(connection: MongoConnection, document_id: str) -> AsyncGenerator[None]:
    """Hold the document's row in an open transaction."""
    async with connection.client.start_session() as session:
        await session.start_transaction()
        await connection.database["docs"].update_one(
            {"_id": ObjectId(document_id)}, {"$set": {"touched": True}}, session=session
        )
        try:
            yield
        finally:
            await session.commit_transaction()


async def changed_all(tenant: Tenant, selected: Selected, wanted: WantedChange) -> list[ChangedBatch]:
    answers: list[ChangedBatch] = []
    while True:
        answers.append(await tenant.services.ingestion.changing.change(tenant.id, selected, wanted))
        after = answers[-1].next
        if after is None:
            return answers
        selected = Selected(after=after)


@pytest.mark.parametrize("by_ids", [True, False])
async def test_one_document_that_is_written_by_another_does_not_hold_up_all_of_its_batch(
    tenant: Tenant,
    migrated: MongoConnection,
    eventually: EventuallyTrue,
    monkeypatch: pytest.MonkeyPatch,
    *,
    by_ids: bool,
) -> None:
    monkeypatch.setattr(changing, "CONTENDED_SECONDS", 0.3)
    tag_id = (await tenant.new_tag("changed")).id
    ids = [(await tenant.upload(f"{number}.txt", "text")).document.id for number in range(8)]
    wanted = WantedChange(added_tag_ids=(tag_id,))
    selected = Selected(document_ids=tuple(ids)) if by_ids else Selected()

    async def are_tagged(count: int) -> bool:
        return await migrated.database["docs"].count_documents({"tag_ids": tag_id}) == count

    async with written_by_another(migrated, ids[5]):
        work = asyncio.create_task(changed_all(tenant, selected, wanted))
        await eventually(lambda: are_tagged(5 if by_ids else 2))  # those that come before it
        assert not work.done()
    answers = await work
    assert sorted(document_id for answer in answers for document_id in answer.changed) == sorted(ids)
    assert await are_tagged(8)
