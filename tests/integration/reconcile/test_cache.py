"""Embeddings that knowledge bases hold are put back into the cache, without a call, when that is asked for."""

from analytiq.bootstrap import Application
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.reconcile.fences import NoFence
from analytiq.reconcile.reconciler import PassOptions
from tests.integration.reconcile.conftest import Patient
from tests.integration.tenant import Tenant, prose


def rebuilding(*, is_dry: bool = False) -> PassOptions:
    return PassOptions(rebuilds_cache=True, is_dry=is_dry)


async def test_cache_that_was_lost_is_filled_from_vectors_without_a_call_or_a_charge(patient: Patient) -> None:
    application: Application = patient.tenant.application
    index = {"operation": "index"}
    before = [row async for row in patient.database["embedding_cache"].find(index).sort("_id", 1)]
    ledger = await patient.database["spu_ledger"].count_documents({})
    await patient.database["embedding_cache"].delete_many(index)
    assert (await patient.look(depth=Depth.FULL)).counts() == {}, "a knowledge base is whole without the cache"
    dry = await application.reconciler.reconcile(rebuilding(is_dry=True), NoFence())
    assert dry.counts() == {"uncached": 10}
    assert await patient.database["embedding_cache"].count_documents(index) == 0
    report = await application.reconciler.reconcile(rebuilding(), NoFence())
    assert (report.count(DriftKind.UNCACHED), report.repairs) == (10, 10)
    after = [row async for row in patient.database["embedding_cache"].find(index).sort("_id", 1)]
    shaped = ("_id", "chunk_hash", "embedding", "embedding_model", "scope", "payer_organization_id")
    assert [{name: row[name] for name in shaped} for row in after] == [
        {name: row[name] for name in shaped} for row in before
    ]
    assert await patient.database["spu_ledger"].count_documents({}) == ledger
    assert (await application.reconciler.reconcile(rebuilding(), NoFence())).counts() == {}
    # What is in the cache again is used: the same texts cost nothing once more.
    await patient.vectors.delete_many({})
    await patient.mend()
    await patient.is_well()


async def test_chunk_that_stands_in_many_documents_is_put_back_once(tenant: Tenant, patient: Patient) -> None:
    for number in range(3):
        await tenant.document(f"same-{number}.txt", prose("stones", 2))
    await patient.database["embedding_cache"].delete_many({"operation": "index"})
    report = await tenant.application.reconciler.reconcile(rebuilding(), NoFence())
    assert report.count(DriftKind.UNCACHED) == 12
    assert report.repairs == 12
