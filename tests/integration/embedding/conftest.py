"""Contents of the cache and the ledger, read without the library."""

from collections import Counter
from typing import Any

import pytest

from analytiq.storage.client import MongoConnection


class Books:
    """The cache rows and the charges of a database."""

    def __init__(self, connection: MongoConnection) -> None:
        self._database = connection.database

    async def cached(self) -> Counter[tuple[str, str, str]]:
        """(payer, model, operation) → cache rows."""
        return await self._count("embedding_cache", ("payer_organization_id", "embedding_model", "operation"))

    async def charged(self) -> Counter[tuple[str, str, str]]:
        """(payer, model, operation) → SPUs."""
        return await self._count("spu_ledger", ("organization_id", "embedding_model", "operation"), "spus")

    async def spus(self, operation: str = "index") -> int:
        return sum(count for key, count in (await self.charged()).items() if key[2] == operation)

    async def _count(
        self, collection: str, fields: tuple[str, ...], weight: str | None = None
    ) -> Counter[tuple[str, str, str]]:
        counts: Counter[Any] = Counter()
        async for row in self._database[collection].find({}):
            counts[tuple(row[field] for field in fields)] += row[weight] if weight else 1
        return counts


@pytest.fixture
def books(migrated: MongoConnection) -> Books:
    return Books(migrated)
