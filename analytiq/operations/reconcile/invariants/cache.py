"""Invariant: the cache contains the embeddings of all knowledge bases; checked only on request.

A knowledge base is complete without the cache, which only saves the cost of the next indexing. A row may be missing
on purpose: it was evicted or erased with its scope, and must not come back every night.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import structlog

from analytiq.errors import InvalidInputError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.cache_key import cache_key
from analytiq.inference.embedding.models import ChosenModel
from analytiq.jobs.scheduling.fences import Fence
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.models.usage import Operation
from analytiq.operations.reconcile.invariants.base import BATCH, Batch, KnowledgeBaseInvariant
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.repositories.embedding_cache import CacheRow
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

TURNS = "cache"
"""Name of the lock by which transactions that count an organization's paid embeddings, and restore them, take turns."""


class CachedEmbeddings(KnowledgeBaseInvariant):
    """Checks this invariant; see the module."""

    name = "cache"
    kinds = frozenset({DriftKind.UNCACHED})
    depth = Depth.FULL
    is_bounded = False

    async def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseInvariant."""
        chosen = await self._choose(knowledge_base)
        if chosen is None:
            return
        position = after
        while True:
            vectors = await self.rows.vector_survey.chunk_hashes_after(
                knowledge_base.organization_id, knowledge_base.id, after=position, limit=BATCH
            )
            if not vectors:
                return
            position = vectors[-1][0]
            # One vector for each embedding: the same chunk may occur in many documents.
            holder = {_key(chosen, knowledge_base, chunk_hash): vector for vector, chunk_hash in vectors}
            present = await self.rows.embedding_cache.present_among(holder)
            yield Batch(
                [
                    Drift(DriftKind.UNCACHED, knowledge_base.organization_id, knowledge_base.id, target_id=vector)
                    for key, vector in holder.items()
                    if key not in present
                ],
                after=position,
            )

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Store the embeddings in the cache, free of charge; return the number of missing ones.

        The organization is their payer as far as it was charged for lost embeddings. Those that it had free of charge,
        paid by another organization, have no payer from now on.
        """
        vectors = [item.target_id for item in drift if item.target_id]
        # A batch belongs to one knowledge base.
        first = drift[0]
        knowledge_base = await self.rows.knowledge_bases.get(first.organization_id, first.kb_id or "")
        return 0 if knowledge_base is None else await self._put_back(knowledge_base, vectors, writer.fence)

    async def _put_back(self, knowledge_base: KnowledgeBase, vectors: Sequence[str], fence: Fence) -> int:
        chosen = await self._choose(knowledge_base)
        if chosen is None:
            return 0
        organization_id = knowledge_base.organization_id
        stored = await self.rows.vector_survey.embeddings(organization_id, knowledge_base.id, vectors)
        rows = [
            CacheRow(
                key=_key(chosen, knowledge_base, item.chunk_hash),
                chunk_hash=item.chunk_hash,
                embedding_model=knowledge_base.embedding_model,
                embedding=item.embedding,
                scope=chosen.scope,
                payer_organization_id=organization_id,
                operation=Operation.INDEX,
            )
            for item in stored
        ]
        if not rows:
            return 0
        await self.rows.leases.prepare(TURNS)

        async def commit(session: Session) -> int:
            await fence.hold(session=session)
            await self.rows.leases.take_turns(TURNS, session)
            paid = await self.rows.books.lost(session, organization_id, knowledge_base.embedding_model)
            nobodys = [replace(row, payer_organization_id=None) for row in rows[paid:]]
            return await self.rows.embedding_cache.keep(session, [*rows[:paid], *nobodys])

        return await run_in_transaction(self.rows.connection, commit)

    async def _choose(self, knowledge_base: KnowledgeBase) -> ChosenModel | None:
        """Return the scope and the provider's address, which are both part of a row's key."""
        organization = await self.rows.organizations.get(knowledge_base.organization_id)
        if organization is None:
            return None
        try:
            return await self.system.models.choose(organization, knowledge_base.embedding_model)
        except InvalidInputError as error:
            log.info("reconcile.cache_not_rebuilt", kb_id=knowledge_base.id, why=error.detail)
            return None


def _key(chosen: ChosenModel, knowledge_base: KnowledgeBase, chunk_hash: str) -> str:
    return cache_key(
        chunk_hash,
        model=knowledge_base.embedding_model,
        dimensions=knowledge_base.embedding_dimensions,
        input_type=InputType.DOCUMENT,
        scope=chosen.scope,
        endpoint=chosen.endpoint,
    )
