"""Embeddings that knowledge bases hold and the cache does not: put back without any call, when that is asked for.

Not by itself. A knowledge base is whole without the cache, which only saves the next indexing its price; that a row is
missing may well be meant, as it was evicted, or erased with its scope, and would come back every night.
"""

from collections.abc import AsyncGenerator, Sequence

import structlog

from analytiq.embedding.base import InputType
from analytiq.embedding.cache_key import cache_key
from analytiq.embedding.models import ChosenModel, EmbeddingModels
from analytiq.errors import InvalidInputError
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.models.usage import Operation
from analytiq.mongo.repositories.embedding_cache import CacheRow, EmbeddingCacheRepository
from analytiq.mongo.repositories.organizations import OrganizationRepository
from analytiq.mongo.repositories.vector_survey import VectorSurvey
from analytiq.reconcile.report import Drift
from analytiq.reconcile.stages import BATCH, Batch

log = structlog.get_logger(__name__)


class CacheStage:
    """Walks a knowledge base's vectors, and looks each chunk up."""

    name = "cache"
    depth = Depth.FULL

    def __init__(
        self,
        survey: VectorSurvey,
        cache: EmbeddingCacheRepository,
        organizations: OrganizationRepository,
        models: EmbeddingModels,
    ) -> None:
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

    async def put_back(self, knowledge_base: KnowledgeBase, vectors: Sequence[str]) -> int:
        """Store the embeddings of these vectors in the cache, free of charge; returns how many were not there."""
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
        return await self._cache.restore(rows) if rows else 0

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
