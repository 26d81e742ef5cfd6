"""Embeddings that knowledge bases hold are put back into the cache, without a call, when that is asked for."""

import asyncio
from datetime import timedelta

from analytiq import clock
from analytiq.composition import Services
from analytiq.jobs.scheduling.fences import NoFence
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.reconciler import PassOptions, Scope
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.books import BooksRepository
from analytiq.storage.repositories.embedding_cache import EmbeddingCacheRepository
from analytiq.storage.transactions import run_in_transaction
from analytiq.tenancy.metering.audit import imbalances
from tests.integration.reconcile.conftest import Patient
from tests.integration.tenant import REMOTE_MODEL, Tenant, new_tenant, prose

YEAR = timedelta(days=365)


def rebuilding(*, is_dry: bool = False) -> PassOptions:
    return PassOptions(rebuilds_cache=True, is_dry=is_dry)


async def test_cache_that_was_lost_is_filled_from_vectors_without_a_call_or_a_charge(patient: Patient) -> None:
    services: Services = patient.tenant.services
    index = {"operation": "index"}
    before = [row async for row in patient.database["embedding_cache"].find(index).sort("_id", 1)]
    ledger = await patient.database["spu_ledger"].count_documents({})
    await patient.database["embedding_cache"].delete_many(index)
    assert (await patient.look(depth=Depth.FULL)).counts() == {}, "a knowledge base is whole without the cache"
    dry = await services.operations.reconciler.reconcile(rebuilding(is_dry=True), NoFence())
    assert dry.counts() == {"uncached": 10}
    assert await patient.database["embedding_cache"].count_documents(index) == 0
    report = await services.operations.reconciler.reconcile(rebuilding(), NoFence())
    assert (report.count(DriftKind.UNCACHED), report.repairs) == (10, 10)
    after = [row async for row in patient.database["embedding_cache"].find(index).sort("_id", 1)]
    shaped = ("_id", "chunk_hash", "embedding", "embedding_model", "scope", "payer_organization_id")
    assert [{name: row[name] for name in shaped} for row in after] == [
        {name: row[name] for name in shaped} for row in before
    ]
    assert await patient.database["spu_ledger"].count_documents({}) == ledger
    assert (await services.operations.reconciler.reconcile(rebuilding(), NoFence())).counts() == {}
    # What is in the cache again is used: the same texts cost nothing once more.
    await patient.vectors.delete_many({})
    await patient.mend()
    await patient.is_well()


async def test_chunk_that_stands_in_many_documents_is_put_back_once(tenant: Tenant, patient: Patient) -> None:
    for number in range(3):
        await tenant.document(f"same-{number}.txt", prose("stones", 2))
    await patient.database["embedding_cache"].delete_many({"operation": "index"})
    report = await tenant.services.operations.reconciler.reconcile(rebuilding(), NoFence())
    assert report.count(DriftKind.UNCACHED) == 12
    assert report.repairs == 12


async def fill_for_nothing(tenant: Tenant, payer: Patient) -> None:
    """Index the patient's texts in another organization: nothing of them is embedded, or charged, again."""
    embedded = payer.embedded
    for name, subject in (("a.txt", "whales"), ("b.txt", "birds")):
        await tenant.document(name, prose(subject, 5))
    assert payer.embedded == embedded


async def rebuild(tenant: Tenant, *kbs: KnowledgeBase) -> None:
    """Runs over these knowledge bases, at once."""
    reconciler = tenant.services.operations.reconciler
    options = [PassOptions(scope=Scope(kb.organization_id, kb.id), rebuilds_cache=True) for kb in kbs]
    await asyncio.gather(*(reconciler.reconcile(option, NoFence()) for option in options))


async def test_embeddings_that_another_organization_paid_for_are_put_back_as_nobodys(
    patient: Patient, migrated: MongoConnection
) -> None:
    other = await new_tenant(patient.tenant.services)
    kb = await other.knowledge_base()
    await fill_for_nothing(other, patient)
    await patient.database["embedding_cache"].delete_many({"operation": "index"})
    await rebuild(other, kb)
    assert await patient.database["embedding_cache"].count_documents({"operation": "index"}) == 10
    await rebuild(patient.tenant, patient.kb)
    books = await BooksRepository(migrated).read()
    assert (other.id, REMOTE_MODEL) not in books.cached
    assert [found.is_explained for found in imbalances(books)] == [True], "the payer's are nobody's now"


async def test_embeddings_that_were_evicted_are_put_back_as_nobodys_since_the_books_count_them_as_removed(
    patient: Patient, migrated: MongoConnection
) -> None:
    cache = EmbeddingCacheRepository(migrated)
    keys = [row["_id"] async for row in patient.database["embedding_cache"].find({"operation": "index"}).limit(4)]
    removed = await run_in_transaction(
        migrated, lambda session: cache.remove(session, keys, unused_since=clock.now() + timedelta(hours=1))
    )
    assert removed.rows == 4
    await patient.database["embedding_cache"].delete_one({"operation": "index"})
    await rebuild(patient.tenant, patient.kb)
    assert await patient.database["embedding_cache"].count_documents({"operation": "index"}) == 10
    assert imbalances(await BooksRepository(migrated).read()) == []
    nobodys = {"operation": "index", "payer_organization_id": None}
    assert await patient.database["embedding_cache"].count_documents(nobodys) == 4


async def test_runs_at_once_do_not_take_one_charge_for_two_embeddings(
    patient: Patient, migrated: MongoConnection
) -> None:
    other = await new_tenant(patient.tenant.services)
    free = await other.knowledge_base()
    await fill_for_nothing(other, patient)
    tag = await other.new_tag("charged")
    charged = await other.knowledge_base(tag_ids=(tag.id,))
    await other.document("own.txt", prose("rocks", 5), tags=[tag.id])
    await patient.database["embedding_cache"].delete_many({})
    await rebuild(other, free, charged)
    assert await patient.database["embedding_cache"].count_documents({}) == 15
    books = await BooksRepository(migrated).read()
    assert books.cached[other.id, REMOTE_MODEL] == books.charged[other.id, REMOTE_MODEL] == 5


async def test_embeddings_that_were_evicted_are_put_back_as_nobodys_and_the_books_balance(
    patient: Patient, migrated: MongoConnection
) -> None:
    """Their eviction explains their charge already."""
    await patient.database["embedding_cache"].update_many({}, {"$set": {"last_used_at": clock.now() - YEAR}})
    report = await patient.tenant.services.inference.cache_eviction.run()
    assert report.left.rows == 0
    await rebuild(patient.tenant, patient.kb)
    assert await patient.database["embedding_cache"].distinct("payer_organization_id") == [None]
    books = await BooksRepository(migrated).read()
    assert imbalances(books) == []
