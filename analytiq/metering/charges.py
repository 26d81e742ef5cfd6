"""Charges SPUs, and adds them up."""

from collections.abc import Sequence
from datetime import datetime

from analytiq import clock
from analytiq.models.usage import Operation, SpuCharge, UsageTotal
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.repositories.embedding_cache import CacheRow, EmbeddingCacheRepository, LedgerRepository
from analytiq.mongo.session import Session
from analytiq.mongo.transactions import run_in_transaction
from analytiq.telemetry import metrics


class Metering:
    """Keeps new embeddings and their charge in one transaction, so that neither exists without the other.

    Invariant: for each organization and model, its `index` SPUs are the cache rows that it first stored.
    """

    def __init__(self, connection: MongoConnection, cache: EmbeddingCacheRepository, ledger: LedgerRepository) -> None:
        self._connection = connection
        self._cache = cache
        self._ledger = ledger

    async def keep_and_charge(
        self, organization_id: str, kb_id: str, operation: Operation, model: str, rows: Sequence[CacheRow]
    ) -> int:
        """Store the embeddings that nobody stored before, charge for these; returns their number (SPUs)."""

        async def keep(session: Session) -> int:
            spus = await self._cache.keep(session, rows)
            if spus:
                charge = SpuCharge(
                    organization_id=organization_id,
                    kb_id=kb_id,
                    operation=operation,
                    embedding_model=model,
                    spus=spus,
                    charged_at=clock.now(),
                )
                await self._ledger.add(session, charge)
            return spus

        spus = await run_in_transaction(self._connection, keep)
        if spus:
            metrics.spus_charged.labels(operation_type=operation.value).inc(spus)
        return spus

    async def totals(self, organization_id: str, *, since: datetime | None, until: datetime | None) -> list[UsageTotal]:
        """SPUs by knowledge base, operation and model within [since, until)."""
        return await self._ledger.totals(organization_id, since=since, until=until)
