"""The books balance whatever is done in whatever order: indexing, questions, quotas, evictions, and workers that die.

Each seed is another order. ANALYTIQ_TEST_BOOKS_SEEDS says how many there are.
"""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.errors import QuotaExceededError, TransientError
from analytiq.inference.embedding.eviction import CacheEviction
from analytiq.settings import EmbeddingSettings
from analytiq.storage.repositories.books import BooksRepository
from analytiq.storage.repositories.embedding_cache import EmbeddingCacheRepository
from analytiq.tenancy.metering.audit import imbalances
from tests.fault import invariants
from tests.fault.processes import Process
from tests.fault.site import Site
from tests.fault.worker_process import Fault
from tests.integration.tenant import Tenant, new_tenant, prose

SEEDS = range(int(os.environ.get("ANALYTIQ_TEST_BOOKS_SEEDS", "3")))
STEPS = 40
SUBJECTS = ("whales", "birds", "trees", "ships")
DEADLY = (
    "embedding.claimed",
    "embedding.answered",
    "metering.reserved",
    "metering.charged",
    "indexing.window_embedded",
)
SETTINGS = {
    "ANALYTIQ_EMBEDDING__BATCH_SIZE": "8",
    # So many deaths in a row are no fault of the job.
    "ANALYTIQ_QUEUE__MAX_WORKER_DEATHS": "1000",
}
CONSTANTS = {"analytiq.ingestion.indexing.staging.STAGE_BATCH_SIZE": 20}


@dataclass(slots=True)
class Round:
    """Two organizations that share a cache, and what is done to them."""

    site: Site
    chance: random.Random
    tenants: list[Tenant]
    kb_ids: dict[str, list[str]] = field(default_factory=dict)
    workers: list[Process] = field(default_factory=list)
    uploads: int = 0

    def tenant(self) -> Tenant:
        return self.chance.choice(self.tenants)

    async def upload(self) -> None:
        """Texts that organizations have in part in common, so that they want the same embeddings at once."""
        self.uploads += 1
        first, sentences = self.chance.choice((0, 10, 20)), self.chance.randint(5, 40)
        text = prose(self.chance.choice(SUBJECTS), sentences, first=first)
        await asyncio.gather(*(each.upload(f"{self.uploads}.txt", text) for each in self.tenants))

    async def make_knowledge_base(self) -> None:
        tenant = self.tenant()
        if len(self.kb_ids.setdefault(tenant.id, [])) < 3:
            self.kb_ids[tenant.id].append((await tenant.knowledge_base()).id)

    async def ask(self) -> None:
        tenant = self.tenant()
        for kb_id in self.kb_ids.get(tenant.id, ()):
            question = f"{self.chance.choice(SUBJECTS)} {self.chance.randint(1, 5)}?"
            try:
                await asyncio.gather(*(tenant.search(kb_id, question) for _ in range(3)))
            except (QuotaExceededError, TransientError):
                continue

    async def change_quota(self) -> None:
        tenant = self.tenant()
        account = await tenant.services.tenancy.metering.account(tenant.id)
        quota = self.chance.choice((None, account.used, account.used + self.chance.randint(1, 60), 10))
        await tenant.services.tenancy.metering.set_quota(tenant.id, quota)

    async def evict(self) -> None:
        """As if everything had been made an hour ago; then a part goes."""
        connection = self.site.connection
        used = {"$set": {"last_used_at": clock.now() - timedelta(hours=1)}}
        await connection.database["embedding_cache"].update_many({}, used)
        cache = EmbeddingCacheRepository(connection)
        size = await cache.size()
        settings = EmbeddingSettings(cache_max_bytes=max(1, int(size.bytes * self.chance.random())))
        await asyncio.gather(*(CacheEviction(connection, cache, settings).run() for _ in range(2)))

    async def start_worker(self) -> None:
        faults = (
            [Fault(self.chance.choice(DEADLY), nth=self.chance.randint(1, 5))] if self.chance.random() < 0.7 else []
        )
        if sum(not worker.has_ended for worker in self.workers) < 3:
            self.workers.append(self.site.processes.worker(*faults, settings=SETTINGS, constants=CONSTANTS))

    async def kill_worker(self) -> None:
        living = [worker for worker in self.workers if not worker.has_ended]
        if living:
            await self.chance.choice(living).kill()

    async def look(self) -> None:
        """At any moment, whatever is under way."""
        assert imbalances(await BooksRepository(self.site.connection).read()) == []
        await asyncio.sleep(0.1)

    def next_step(self) -> Callable[[], Awaitable[None]]:
        weights = {
            self.upload: 6, self.make_knowledge_base: 3, self.ask: 5, self.change_quota: 4, self.evict: 3,
            self.start_worker: 8, self.kill_worker: 2, self.look: 9,
        }  # fmt: skip
        return self.chance.choices(list(weights), list(weights.values()))[0]


@pytest.mark.parametrize("seed", SEEDS)
async def test_books_balance_at_every_moment_of_any_life(site: Site, seed: int) -> None:
    tenants = [site.tenant, await new_tenant(site.services)]
    life = Round(site, random.Random(seed), tenants)
    for _ in range(STEPS):
        await life.next_step()()
    for tenant in tenants:
        await tenant.services.tenancy.metering.set_quota(tenant.id, None)
    site.processes.worker(settings=SETTINGS, constants=CONSTANTS)
    site.processes.worker(settings=SETTINGS, constants=CONSTANTS)
    await site.mend()
    await invariants.books_balance(site)
    await life.look()
    await every_reservation_is_accounted_for(site, tenants)
    charged = sum([row["spus"] for row in await invariants.rows(site, "spu_ledger")])
    assert 0 < charged <= sum(site.embedding_server.text_counts.values()), "nothing is charged that was not embedded"


async def every_reservation_is_accounted_for(site: Site, tenants: list[Tenant]) -> None:
    """Reservations of processes that died are given back when their time is over, and told apart."""
    for row in await invariants.rows(site, "spu_accounts"):
        over = {f"open.{reservation}.expires_at": clock.now() - timedelta(seconds=1) for reservation in row["open"]}
        if over:
            await site.database["spu_accounts"].update_one({"_id": row["_id"]}, {"$set": over})
    for tenant in tenants:
        account = await tenant.services.tenancy.metering.account(tenant.id)
        ledger = [row for row in await invariants.rows(site, "spu_ledger") if row["organization_id"] == tenant.id]
        assert (account.used, account.reserved) == (sum(row["spus"] for row in ledger), 0)
    assert imbalances(await BooksRepository(site.connection).read()) == []
