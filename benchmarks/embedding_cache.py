"""The embedding cache by its size: look-ups, claims, storing and charging, eviction, and the audit of the books.

    python -m benchmarks.embedding_cache [--short] [--rows 10000 100000 1000000] [--dimensions 384] [--repeats N]

`claim` is a claim on a batch of 100 without competitors, and its release. `keep` is the cost of a batch of 100 misses
beside the provider's call: claim, second look, reservation, the transaction of the cache rows and their charge, and the
release of both. `insert` is the insertion of the same 100 rows alone. A second table has 20 concurrent callers of one
organization.
"""

import argparse
import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from time import perf_counter
from typing import Any

import numpy as np

from analytiq import clock
from analytiq.inference.embedding.eviction import CacheEviction
from analytiq.models.quota import SpuPurpose
from analytiq.models.usage import Operation
from analytiq.settings import EmbeddingSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.ids import new_id
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.books import BooksRepository
from analytiq.storage.repositories.embedding_cache import CacheRow, EmbeddingCacheRepository
from analytiq.storage.repositories.embedding_claims import EmbeddingClaimRepository
from analytiq.storage.repositories.vectors import to_bindata
from analytiq.tenancy.metering.charges import Metering
from benchmarks import report
from benchmarks.platform_under_test import running_server

MODEL = "text-embedding-3-small"
LOOKUP, BATCH, FILL_BATCH = 1000, 100, 5000
CALLERS = 20
EVICTED_SHARE = 0.05


def key_of(number: int) -> str:
    """Return a cache key, distributed like real ones."""
    return hashlib.sha256(str(number).encode()).hexdigest()


class FilledCache:
    """A cache of a given number of rows, with its operations."""

    def __init__(self, connection: MongoConnection, dimensions: int) -> None:
        self._collection = connection.database["embedding_cache"]
        self._connection = connection
        self._repository = EmbeddingCacheRepository(connection)
        self._claims = EmbeddingClaimRepository(connection)
        self._metering = Metering(Repositories(connection))
        self._purpose = SpuPurpose(
            organization_id=new_id(), kb_id=new_id(), operation=Operation.INDEX, embedding_model=MODEL
        )
        self._vectors = np.random.default_rng(1).standard_normal((FILL_BATCH, dimensions), dtype=np.float32)
        self._fresh = 0
        self.rows = 0

    async def fill(self, rows: int) -> None:
        """Fill the cache with old rows, without charging for them."""
        await self._collection.delete_many({})
        self.rows = 0
        used = clock.now() - timedelta(days=1)
        while self.rows < rows:
            count = min(FILL_BATCH, rows - self.rows)
            stored = [
                {**self._stored(index), "_id": key_of(self.rows + index), "last_used_at": used}
                for index in range(count)
            ]
            await self._collection.insert_many(stored, ordered=False)
            self.rows += count

    def _stored(self, index: int) -> dict[str, Any]:
        return {
            "chunk_hash": key_of(-index),
            "embedding_model": MODEL,
            "embedding": to_bindata(self._vectors[index]),
            "scope": "global",
            "payer_organization_id": self._purpose.organization_id,
            "operation": "index",
            "created_at": clock.now(),
        }

    def _keys(self, count: int) -> list[str]:
        """Return new keys."""
        self._fresh += 1
        return [hashlib.sha256(f"{self._fresh}:{index}".encode()).hexdigest() for index in range(count)]

    async def look_up_100(self, repetition: int) -> None:
        """Look up 100 present keys."""
        await self._look_up(BATCH, repetition)

    async def look_up_1000(self, repetition: int) -> None:
        """Look up 1,000 present keys."""
        await self._look_up(LOOKUP, repetition)

    async def _look_up(self, count: int, repetition: int) -> None:
        numbers = np.random.default_rng(repetition).integers(0, self.rows, count)
        found = await self._repository.find([key_of(int(number)) for number in numbers])
        assert len(found.embeddings) == len(set(numbers.tolist()))

    async def look_up_misses(self, _: int) -> None:
        """Look up missing keys."""
        assert not (await self._repository.find(self._keys(LOOKUP))).embeddings

    async def note_use(self, repetition: int) -> None:
        """Record the use of a thousand rows, which happens once in ten minutes for each."""
        numbers = np.random.default_rng(repetition).integers(0, self.rows, LOOKUP)
        await self._repository.note_use([key_of(int(number)) for number in numbers])

    async def claim(self, _: int) -> None:
        """Claim a batch without competitors, and release it."""
        keys, token = self._keys(BATCH), new_id()
        assert len(await self._claims.take(keys, token, lease_seconds=60)) == BATCH
        await self._claims.release(keys, token)

    async def keep(self, _: int) -> None:
        """Perform all steps for a batch of misses, except the call."""
        keys, token = self._keys(BATCH), new_id()
        assert len(await self._claims.take(keys, token, lease_seconds=60)) == BATCH
        await self._repository.find(keys)
        async with self._metering.reserved(self._purpose, BATCH) as reservation:
            rows = [
                CacheRow(
                    key=key,
                    chunk_hash=key,
                    embedding_model=MODEL,
                    embedding=self._vectors[index],
                    scope="global",
                    payer_organization_id=self._purpose.organization_id,
                    operation=Operation.INDEX,
                )
                for index, key in enumerate(keys)
            ]
            assert await self._metering.keep_and_charge(reservation, rows) == BATCH
        await self._claims.release(keys, token)

    async def insert(self, _: int) -> None:
        """Insert a batch alone."""
        now = clock.now()
        rows = [{**self._stored(index), "_id": key, "last_used_at": now} for index, key in enumerate(self._keys(BATCH))]
        await self._collection.insert_many(rows, ordered=False)

    async def audit(self, _: int) -> None:
        """Count everything, as doctor does."""
        await BooksRepository(self._connection).read()

    async def evicted_rows_a_second(self) -> float:
        """Evict a tenth, above the bound and a twentieth more; return the rows a second."""
        size = await self._repository.size()
        settings = EmbeddingSettings(cache_max_bytes=int(size.bytes * (1 - EVICTED_SHARE)), cache_unused_days=0)
        began = perf_counter()
        evicted = await CacheEviction(self._connection, self._repository, settings).run()
        return evicted.surplus_rows / (perf_counter() - began)


async def milliseconds(work: Callable[[int], Awaitable[None]], repeats: int) -> float:
    """Return the median of repetitions, after one that does not count."""
    taken: list[float] = []
    for repetition in range(repeats + 1):
        began = perf_counter()
        await work(repetition)
        taken.append((perf_counter() - began) * 1000)
    return report.median(taken[1:])


async def batches_a_second(work: Callable[[int], Awaitable[None]], repeats: int) -> float:
    """Measure batches a second with CALLERS concurrent callers."""

    async def caller() -> None:
        for repetition in range(repeats):
            await work(repetition)

    began = perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return CALLERS * repeats / (perf_counter() - began)


async def measure(connection: MongoConnection, sizes: Sequence[int], dimensions: int, repeats: int) -> None:
    """Print a line for each size."""
    cache = FilledCache(connection, dimensions)
    lines: list[list[str]] = []
    crowded: list[list[str]] = []
    for size in sizes:
        await cache.fill(size)
        looks = (cache.look_up_100, cache.look_up_1000, cache.look_up_misses)
        read = [await milliseconds(work, repeats) for work in looks]
        keep, insert = await milliseconds(cache.keep, repeats), await milliseconds(cache.insert, repeats)
        audit = await milliseconds(cache.audit, 1)
        each = max(1, repeats // 2)
        many = await batches_a_second(cache.keep, each), await batches_a_second(cache.insert, each)
        evicted = await cache.evicted_rows_a_second()
        # Last: what was used a moment ago is not evicted.
        note = await milliseconds(cache.note_use, repeats)
        claim = await milliseconds(cache.claim, repeats)
        times = [f"{value:.1f}" for value in (*read, note, claim, keep, insert)]
        lines.append([f"{size:,}", *times, f"{keep / insert:.1f}x", f"{evicted:.0f}", f"{audit:.0f}"])
        crowded.append([f"{size:,}", *(f"{value:.0f}" for value in many), f"{many[1] / many[0]:.1f}x"])
    report.print_table(
        [
            "rows", "100 hits ms", "1,000 hits ms", "1,000 misses ms", "note 1,000 uses ms", "claim 100 ms",
            "keep 100 ms",
            "insert 100 ms", "keep to insert", "evicted rows/s", "audit ms",
        ],
        lines,
    )  # fmt: skip
    print()
    report.print_table(["rows", f"kept batches/s of {CALLERS} callers", "inserted batches/s", "ratio"], crowded)


async def run(sizes: Sequence[int], dimensions: int, repeats: int) -> None:
    """Measure and print."""
    async with running_server() as server:
        connection = await connect(server.uri, "cache")
        await migrate(connection)
        report.print_heading(f"Embedding cache, {dimensions} dimensions", mongod=connection.server_version)
        await measure(connection, sizes, dimensions, repeats)
        await connection.close()


def main(argv: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser: argparse.ArgumentParser = report.arguments(__doc__ or "", repeats=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--dimensions", type=int, default=384)
    chosen = parser.parse_args(argv)
    sizes, repeats = ([10_000], 4) if chosen.short else (chosen.rows, chosen.repeats)
    asyncio.run(run(sizes, chosen.dimensions, repeats))


if __name__ == "__main__":
    main()
