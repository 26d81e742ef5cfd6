"""Checks of the books by doctor, while organizations are charged and after."""

import asyncio

from analytiq.models.quota import SpuPurpose
from analytiq.models.usage import Operation
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.books import BooksRepository
from analytiq.storage.repositories.embedding_cache import CacheRow
from analytiq.tenancy.metering.audit import imbalances
from analytiq.tenancy.metering.charges import Metering
from tests.integration.tenant import REMOTE_MODEL, Tenant, new_tenant, prose


async def test_books_balance_at_every_moment_of_an_organizations_work(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    kb = await tenant.knowledge_base()
    other = await new_tenant(tenant.services)
    await other.knowledge_base()
    await tenant.upload("a.txt", prose("whales", 200))
    await other.upload("b.txt", prose("birds", 100))
    repository = BooksRepository(migrated)
    working = asyncio.create_task(tenant.drain())
    readings = 0
    while not working.done() or not readings:
        assert imbalances(await repository.read()) == []
        readings += 1
    await working
    await tenant.search(kb.id, "whales")
    books = await repository.read()
    assert imbalances(books) == []
    assert books.charged == {(tenant.id, REMOTE_MODEL): 201, (other.id, REMOTE_MODEL): 100}
    assert books.used == {tenant.id: 201, other.id: 100}


async def test_charge_that_is_not_released_yet_does_not_unbalance_the_books(
    tenant: Tenant, migrated: MongoConnection, cache_row: CacheRow
) -> None:
    purpose = SpuPurpose(organization_id=tenant.id, kb_id=None, operation=Operation.INDEX, embedding_model=REMOTE_MODEL)
    metering = Metering(Repositories(migrated))
    async with metering.reserved(purpose, 4) as reservation:
        await metering.keep_and_charge(reservation, [cache_row])
        books = await BooksRepository(migrated).read()
        assert (books.used, books.unreleased) == ({tenant.id: 0}, {tenant.id: 1})
        assert imbalances(books) == []


async def test_embedding_that_was_removed_by_hand_is_found(tenant: Tenant, migrated: MongoConnection) -> None:
    await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    await migrated.database["embedding_cache"].delete_one({"payer_organization_id": tenant.id})
    (found,) = imbalances(await BooksRepository(migrated).read())
    assert found.organization_id == tenant.id
