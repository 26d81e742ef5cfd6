"""Quotas of storage: nobody gets over one, however many try at once, and what goes is given back."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from analytiq.errors import QuotaExceededError
from analytiq.ingestion.documents.storage import STORAGE_CODE
from analytiq.ingestion.upload.store import UploadResult
from analytiq.models.upload import DuplicatePolicy, UploadOutcome
from analytiq.storage.client import MongoConnection
from tests.integration.conftest import Compose
from tests.integration.tenant import Tenant, new_tenant

LARGE = 300_000
"""More than is written together with its document, so that it streams into GridFS under a lease."""


async def use_of(tenant: Tenant) -> tuple[int, int]:
    """Bytes and documents, as the organization is shown them."""
    account = await tenant.services.ingestion.storage.account(tenant.id)
    return account.used.stored_bytes, account.used.documents


async def test_use_is_counted_where_there_is_no_quota(tenant: Tenant) -> None:
    await tenant.upload("a.txt", "12345")
    await tenant.upload("b.txt", b"x" * LARGE)
    account = await tenant.services.ingestion.storage.account(tenant.id)
    assert (account.max_bytes, account.max_documents) == (None, None)
    assert await use_of(tenant) == (5 + LARGE, 2)


async def test_quota_begins_with_what_is_stored_already(tenant: Tenant) -> None:
    await tenant.upload("a.txt", "12345")
    account = await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=8, max_documents=None)
    assert (account.used.stored_bytes, account.bytes_left) == (5, 3)
    with pytest.raises(QuotaExceededError, match=r"4 bytes.*8 bytes, of which 5 bytes are used") as refused:
        await tenant.upload("b.txt", "1234")
    assert refused.value.code == STORAGE_CODE
    await tenant.upload("b.txt", "123")
    assert await use_of(tenant) == (8, 2)


@pytest.mark.parametrize("byte_size", [1000, LARGE])
async def test_parallel_uploads_cannot_overshoot(tenant: Tenant, byte_size: int) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=3 * byte_size + 10, max_documents=None)

    async def upload(number: int) -> UploadResult | QuotaExceededError:
        try:
            return await tenant.upload(f"{number}.txt", f"{number:03}" + "x" * (byte_size - 3))
        except QuotaExceededError as error:
            return error

    outcomes = await asyncio.gather(*(upload(number) for number in range(12)))
    assert sum(isinstance(outcome, UploadResult) for outcome in outcomes) == 3
    assert await use_of(tenant) == (3 * byte_size, 3)
    connection = tenant.services.connection
    assert await connection.database["fs.files"].count_documents({"metadata.organization_id": tenant.id}) == 3


async def test_parallel_uploads_cannot_overshoot_the_number_of_documents(tenant: Tenant) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=None, max_documents=2)
    outcomes = await asyncio.gather(
        *(tenant.upload(f"{number}.txt", f"text {number}") for number in range(8)), return_exceptions=True
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, QuotaExceededError)]
    assert len(refused) == 6
    assert "2 documents" in str(refused[0])
    assert (await use_of(tenant))[1] == 2


async def test_file_is_refused_while_it_streams_in_and_leaves_nothing(tenant: Tenant) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=LARGE, max_documents=None)
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65_536
            yield b"x" * 65_536

    with pytest.raises(QuotaExceededError, match="more than"):
        await tenant.services.ingestion.uploads.stage(
            tenant.id, document_name="endless.bin", content_type="text/plain", source=endless()
        )
    assert sent <= LARGE + 65_536
    database = tenant.services.connection.database
    assert await database["fs.chunks"].count_documents({}) == 0
    assert await database["uploads"].count_documents({}) == 0


async def test_deletion_gives_back(tenant: Tenant) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=10, max_documents=1)
    made = await tenant.upload("a.txt", "1234567890")
    with pytest.raises(QuotaExceededError):
        await tenant.upload("b.txt", "1")
    await tenant.services.ingestion.documents.delete(tenant.id, made.document.id)
    assert await use_of(tenant) == (0, 0)
    await tenant.upload("b.txt", "1")
    assert await use_of(tenant) == (1, 1)


async def test_replacement_needs_only_what_it_is_larger_by(tenant: Tenant) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=LARGE + 10, max_documents=1)
    await tenant.upload("a.txt", b"x" * LARGE)
    replaced = await tenant.replace("a.txt", b"y" * (LARGE + 10))
    assert replaced.outcome is UploadOutcome.REPLACED
    assert await use_of(tenant) == (LARGE + 10, 1)
    with pytest.raises(QuotaExceededError):
        await tenant.replace("a.txt", b"z" * (LARGE + 11))
    await tenant.replace("a.txt", "short")
    assert await use_of(tenant) == (5, 1)


async def test_file_that_is_there_already_needs_no_room(tenant: Tenant) -> None:
    first = await tenant.upload("a.txt", b"x" * LARGE)
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=1, max_documents=1)
    again = await tenant.upload("a.txt", b"x" * LARGE)
    assert (again.outcome, again.document.id) == (UploadOutcome.RETURNED, first.document.id)
    with pytest.raises(QuotaExceededError):
        await tenant.upload("a.txt", b"x" * LARGE, policy=DuplicatePolicy.CREATE)
    assert await use_of(tenant) == (LARGE, 1)


async def test_what_is_over_a_lowered_quota_stays_and_may_shrink(tenant: Tenant) -> None:
    await tenant.upload("a.txt", "1234567890")
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=3, max_documents=None)
    with pytest.raises(QuotaExceededError):
        await tenant.upload("b.txt", "1")
    await tenant.replace("a.txt", "12345")
    assert await use_of(tenant) == (5, 1)


async def test_recount_mends_what_is_wrong(tenant: Tenant) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=100, max_documents=10)
    await tenant.upload("a.txt", "12345")
    database = tenant.services.connection.database
    await database["storage_accounts"].update_one({"_id": tenant.id}, {"$set": {"used_bytes": 99, "used_documents": 7}})
    assert await tenant.services.ingestion.storage.recount_all() == 1
    assert await use_of(tenant) == (5, 1)


async def test_recount_is_true_while_uploads_go_on(tenant: Tenant) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=1_000_000, max_documents=None)

    async def recount() -> None:
        for _ in range(5):
            await tenant.services.ingestion.storage.recount(tenant.id)

    await asyncio.gather(recount(), *(tenant.upload(f"{number}.txt", f"text {number:02}") for number in range(20)))
    assert await use_of(tenant) == (20 * 7, 20)


async def test_lifted_quota_stops_nobody(tenant: Tenant) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=1, max_documents=0)
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=None, max_documents=None)
    await tenant.upload("a.txt", "12345")
    assert await use_of(tenant) == (5, 1)


async def test_quota_is_of_one_organization(compose_services: Compose, migrated: MongoConnection) -> None:
    services = await compose_services()
    bounded, free = await new_tenant(services), await new_tenant(services)
    await services.ingestion.storage.set_quota(bounded.id, max_bytes=1, max_documents=0)
    await free.upload("a.txt", "12345")
    assert await use_of(bounded) == (0, 0)
    assert await migrated.database["storage_accounts"].count_documents({}) == 1
