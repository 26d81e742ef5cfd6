"""Stage, commit, sweep on a real mongod (design 2.2)."""
import time
from tests.integration.tenant import Tenant, prose


async def test_smoke(tenant: Tenant) -> None:
    t=time.perf_counter()
    kb = await tenant.knowledge_base(); print("kb", time.perf_counter()-t); t=time.perf_counter()
    await tenant.drain(); print("drain", time.perf_counter()-t); t=time.perf_counter()
    d = await tenant.document("a.txt", prose("whales", 300)); print("doc", time.perf_counter()-t); t=time.perf_counter()
    r = await tenant.search(kb.id, "whales year 1004", top_k=3); print("search", time.perf_counter()-t)
    print(r)
    print(await tenant.application.knowledge_bases.get(tenant.id, kb.id))
    t=time.perf_counter()
    d = await tenant.document("b.txt", prose("birds", 30)); print("doc", time.perf_counter()-t); t=time.perf_counter()
