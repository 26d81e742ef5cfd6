"""Files in bulk: what is sent by itself does not wait for all of them."""

from collections.abc import Iterator

import pytest

from analytiq.models.upload import DuplicatePolicy
from analytiq.storage.client import MongoConnection
from analytiq.telemetry import checkpoints
from tests.integration.tenant import Tenant

IN_BULK = 44
"""More than a batch of the queue, so that some are left when the first batch is done."""


@pytest.fixture
def at_checkpoints() -> Iterator[None]:
    yield
    checkpoints.install(None)


@pytest.mark.usefixtures("at_checkpoints")
async def test_single_upload_into_the_same_knowledge_base_is_indexed_before_the_rest_of_a_bulk(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    await tenant.knowledge_base()
    await tenant.drain()
    for number in range(IN_BULK):
        staged = await tenant.stage(f"{number}.txt", f"number {number} of many")
        await tenant.services.ingestion.uploads.commit(
            staged, tag_ids=[tenant.tag.id], metadata=None, policy=DuplicatePolicy.RETURN, is_bulk=True
        )
    single = (await tenant.upload("single.txt", "the only one")).document.id
    before_single: set[str] = set()
    is_found = False

    async def note(name: str) -> None:
        nonlocal is_found
        if name == "indexing.committed" and not is_found:
            indexed = {row["document_id"] async for row in migrated.database["document_index"].find()}
            is_found = single in indexed
            before_single.update(indexed)

    checkpoints.install(note)
    await tenant.drain()
    assert is_found
    assert len(before_single) < IN_BULK * 3 // 4 + 4
