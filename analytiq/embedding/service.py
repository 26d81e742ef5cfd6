"""Embeds texts: what the cache has is free, the rest is embedded in batches, kept and charged."""

from collections.abc import Sequence

import numpy as np
import stamina
import structlog

from analytiq.embedding.base import Embedder, InputType, Vectors
from analytiq.embedding.cache_key import cache_key, chunk_hash
from analytiq.embedding.models import ChosenModel, EmbeddingModels
from analytiq.errors import DimensionMismatchError, RateLimitedError, TransientError
from analytiq.metering.charges import Metering
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.models.quota import SpuPurpose
from analytiq.models.usage import Operation
from analytiq.mongo.repositories.embedding_cache import CacheRow, EmbeddingCacheRepository
from analytiq.rate_limits.limits import RateLimits
from analytiq.telemetry import metrics

log = structlog.get_logger(__name__)

LOOKUP_SIZE = 1000
"""Keys a cache look-up asks for at once (design 2.5)."""
BYTES_PER_TOKEN = 4
"""Of UTF-8, in cl100k: 4.5 in English, 3 and fewer in Chinese; what limits work with is an estimate."""
LONGEST_JUDGED = 2000
"""Characters of a question that are looked at to tell how well a model knows its words."""
ATTEMPTS = 3
"""Within seconds; what lasts longer is the queue's to retry."""
LONGEST_PAUSE_SECONDS = 5.0


class EmbeddingService:
    """The one way to embed."""

    def __init__(
        self, models: EmbeddingModels, cache: EmbeddingCacheRepository, metering: Metering, rate_limits: RateLimits
    ) -> None:
        self._models = models
        self._cache = cache
        self._metering = metering
        self._rate_limits = rate_limits

    async def dimensions_of(self, organization: Organization, model: str) -> int:
        """Ask the model for one embedding and measure it; free (design 2.6).

        Raises:
            InvalidInputError: no such model, or no key for its provider.
        """
        chosen = await self._models.choose(organization, model)
        vectors = await self._call(chosen, organization, ["test"], InputType.DOCUMENT)
        return int(vectors.shape[1])

    async def embed_chunks(
        self, organization: Organization, knowledge_base: KnowledgeBase, texts: Sequence[str]
    ) -> Vectors:
        """Embed chunks for a knowledge base; shape (len(texts), dimensions), in order.

        Each batch is kept as it arrives: after a failure, a retry pays only for what is still missing.
        """
        chosen = await self._models.choose(organization, knowledge_base.embedding_model)
        return await self._embed(chosen, organization, knowledge_base, texts, InputType.DOCUMENT, Operation.INDEX)

    async def embed_query(self, organization: Organization, knowledge_base: KnowledgeBase, query: str) -> Vectors:
        """Embed a question for a knowledge base; shape (dimensions,). A repeated question is free."""
        chosen = await self._models.choose(organization, knowledge_base.embedding_model)
        vectors = await self._embed(chosen, organization, knowledge_base, [query], InputType.QUERY, Operation.SEARCH)
        return vectors[0]

    async def known_share(self, knowledge_base: KnowledgeBase, query: str) -> float | None:
        """The share of a question's letters (0 to 1) in words the model knows whole; None where it does not tell."""
        return await self._models.known_share(knowledge_base.embedding_model, query[:LONGEST_JUDGED])

    async def _embed(
        self,
        chosen: ChosenModel,
        organization: Organization,
        knowledge_base: KnowledgeBase,
        texts: Sequence[str],
        input_type: InputType,
        operation: Operation,
    ) -> Vectors:
        dimensions = knowledge_base.embedding_dimensions
        hashes = [chunk_hash(text) for text in texts]
        keys = [
            cache_key(
                text_hash,
                model=knowledge_base.embedding_model,
                dimensions=dimensions,
                input_type=input_type,
                scope=chosen.scope,
                endpoint=chosen.endpoint,
            )
            for text_hash in hashes
        ]
        found: dict[str, Vectors] = {}
        distinct = list(dict.fromkeys(keys))
        for start in range(0, len(distinct), LOOKUP_SIZE):
            found.update(await self._cache.find(distinct[start : start + LOOKUP_SIZE]))
        place = {key: index for index, key in reversed(list(enumerate(keys)))}
        missing = [key for key in distinct if key not in found]
        model = knowledge_base.embedding_model
        metrics.cache_hits.labels(model=model).inc(len(keys) - len(missing))
        metrics.cache_misses.labels(model=model).inc(len(missing))
        purpose = SpuPurpose(
            organization_id=organization.id, kb_id=knowledge_base.id, operation=operation, embedding_model=model
        )
        start = 0
        while start < len(missing):
            wanted = min(chosen.embedder.batch_size, len(missing) - start)
            async with self._metering.reserved(purpose, wanted) as reservation:
                # Fewer than wanted where the quota ends: what it still allows is embedded all the same.
                batch = missing[start : start + reservation.spus]
                vectors = await self._call(chosen, organization, [texts[place[key]] for key in batch], input_type)
                _require_dimensions(vectors, knowledge_base)
                rows = [
                    CacheRow(
                        key=key,
                        chunk_hash=hashes[place[key]],
                        embedding_model=model,
                        embedding=vectors[index],
                        scope=chosen.scope,
                        payer_organization_id=organization.id,
                        operation=operation,
                    )
                    for index, key in enumerate(batch)
                ]
                await self._metering.keep_and_charge(reservation, rows)
            found.update(zip(batch, vectors, strict=True))
            start += len(batch)
        await self._metering.note_saved(purpose, len(keys) - len(missing))
        if not keys:
            return np.zeros((0, dimensions), dtype=np.float32)
        return np.stack([found[key] for key in keys])

    async def _call(
        self, chosen: ChosenModel, organization: Organization, texts: Sequence[str], input_type: InputType
    ) -> Vectors:
        embedder = chosen.embedder
        own_limit: RateLimitedError | None = None

        def pause(error: Exception) -> bool | float:
            # What the limit raises is not repeated: it has waited as long as it makes sense to in place.
            return error is not own_limit and _pause(error)

        async for attempt in stamina.retry_context(
            on=pause, attempts=ATTEMPTS, wait_initial=0.2, wait_max=LONGEST_PAUSE_SECONDS, timeout=None
        ):
            with attempt:
                try:
                    await self._rate_limits.take_call(organization.id, embedder.model, tokens=_tokens_of(texts))
                except RateLimitedError as error:
                    own_limit = error
                    raise
                return await self._called_once(embedder, organization, texts, input_type)
        raise AssertionError("stamina leaves the loop by returning or raising")

    async def _called_once(
        self, embedder: Embedder, organization: Organization, texts: Sequence[str], input_type: InputType
    ) -> Vectors:
        metrics.api_calls.labels(model=embedder.model).inc()
        try:
            return await embedder.embed(texts, input_type=input_type)
        except RateLimitedError as error:
            if error.retry_after is not None:
                await self._rate_limits.told_to_wait(organization.id, embedder.model, seconds=error.retry_after)
            raise


def _tokens_of(texts: Sequence[str]) -> int:
    """About how many tokens the provider will count."""
    return sum(len(text.encode(errors="replace")) // BYTES_PER_TOKEN + 1 for text in texts)


def _require_dimensions(vectors: Vectors, knowledge_base: KnowledgeBase) -> None:
    if vectors.shape[1] != knowledge_base.embedding_dimensions:
        raise DimensionMismatchError(
            f"{knowledge_base.embedding_model!r} answered vectors of {vectors.shape[1]} dimensions; the knowledge"
            f" base {knowledge_base.name!r} holds vectors of {knowledge_base.embedding_dimensions}. Create a new"
            " knowledge base with the same tags for the changed model."
        )


def _pause(error: Exception) -> bool | float:
    """Whether to repeat a failed call here, and after how many seconds where the provider says so."""
    if isinstance(error, RateLimitedError) and error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_PAUSE_SECONDS else False
    return isinstance(error, TransientError)
