"""Embeddings that knowledge bases hold and the cache does not: put back without any call, when that is asked for.

Not by itself. A knowledge base is whole without the cache, which only saves the next indexing its price; that a row is
missing may well be meant, as it was evicted, or erased with its scope, and would come back every night.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import structlog

from analytiq.errors import InvalidInputError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.cache_key import cache_key
from analytiq.inference.embedding.models import ChosenModel, EmbeddingModels
from analytiq.jobs.scheduling.fences import Fence
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.models.usage import Operation
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.stages import BATCH, Batch
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.books import BooksRepository
from analytiq.storage.repositories.embedding_cache import CacheRow, EmbeddingCacheRepository
from analytiq.storage.repositories.leases import LeaseRepository
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.vector_survey import VectorSurvey
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

TURNS = "cache"
"""Of transactions that count what an organization has paid for and put back as much: no two at once."""


class CacheStage:
    """Walks a knowledge base's vectors, and looks each chunk up."""

    name = "cache"
    depth = Depth.FULL

    def __init__(
        self,
        connection: MongoConnection,
        survey: VectorSurvey,
        cache: EmbeddingCacheRepository,
        organizations: OrganizationRepository,
        models: EmbeddingModels,
    ) -> None:
        self._connection = connection
        self._books = BooksRepository(connection)
        self._turns = LeaseRepository(connection)
        self._survey = survey
        self._cache = cache
        self._organizations = organizations
        self._models = models

    async def look(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseStage."""
        chosen = await self._choose(knowledge_base)
        if chosen is None:
            return
        position = after
        while True:
            vectors = await self._survey.chunk_hashes_after(
                knowledge_base.organization_id, knowledge_base.id, after=position, limit=BATCH
            )
            if not vectors:
                return
            position = vectors[-1][0]
            # One vector for each embedding: the same chunk may stand in many documents.
            holder = {_key(chosen, knowledge_base, chunk_hash): vector for vector, chunk_hash in vectors}
            present = await self._cache.present_among(holder)
            yield Batch(
                [
                    Drift(DriftKind.UNCACHED, knowledge_base.organization_id, knowledge_base.id, target_id=vector)
                    for key, vector in holder.items()
                    if key not in present
                ],
                after=position,
            )

    async def put_back(self, knowledge_base: KnowledgeBase, vectors: Sequence[str], fence: Fence) -> int:
        """Store the embeddings of these vectors in the cache, free of charge; returns how many were not there.

        The organization is their payer as far as it was charged for embeddings that are lost: what it had for nothing,
        since another organization had paid, is nobody's from now on.

        Raises:
            LeaseLostError: the pass may not write any more.
        """
        chosen = await self._choose(knowledge_base)
        if chosen is None:
            return 0
        organization_id = knowledge_base.organization_id
        stored = await self._survey.embeddings(organization_id, knowledge_base.id, vectors)
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
        await self._turns.prepare(TURNS)

        async def commit(session: Session) -> int:
            await fence.hold(session=session)
            await self._turns.take_turns(TURNS, session)
            paid = await self._books.lost(session, organization_id, knowledge_base.embedding_model)
            nobodys = [replace(row, payer_organization_id=None) for row in rows[paid:]]
            return await self._cache.keep(session, [*rows[:paid], *nobodys])

        return await run_in_transaction(self._connection, commit)

    async def _choose(self, knowledge_base: KnowledgeBase) -> ChosenModel | None:
        """Whose cache, and of which provider's address: both are part of a row's key."""
        organization = await self._organizations.get(knowledge_base.organization_id)
        if organization is None:
            return None
        try:
            return await self._models.choose(organization, knowledge_base.embedding_model)
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
