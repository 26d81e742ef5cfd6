"""The embedding service: cached texts are free; the rest is embedded in batches, stored and charged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analytiq.errors import AnalytiqError
from analytiq.inference.embedding.base import InputType, Vectors
from analytiq.inference.embedding.cache_key import cache_key, chunk_hash
from analytiq.inference.embedding.calling import Calling
from analytiq.inference.embedding.filling import Filling, Wanted
from analytiq.inference.embedding.models import ChosenModel, EmbeddingModels
from analytiq.inference.embedding.question_cache import QuestionCache
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.models.quota import SpuPurpose
from analytiq.models.usage import Operation
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.embedding_cache import LOOKUP_SIZE
from analytiq.telemetry import metrics
from analytiq.tenancy.metering.charges import Metering

CLAIM_LEASE_SECONDS = 15.0
"""Time for which a killed worker keeps others from its texts; a live one renews its claim."""

LONGEST_JUDGED = 2000
"""Characters of a question that are examined for the share of known words."""


@dataclass(frozen=True, slots=True)
class EmbeddedDocuments:
    """The embeddings of several documents, each whole or missing."""

    vectors: Sequence[Vectors | None]
    """For each document, shape (texts, dimensions), or None."""
    waiting: frozenset[int]
    """Positions of the missing documents that another call may complete; the others have a refused text."""
    error: AnalytiqError | None
    """The error that keeps the waiting documents from their embeddings; None if other workers embed their texts."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The texts of one call of the service, and the keys of their embeddings in the cache."""

    wanted: Wanted
    keys: Sequence[str]


class EmbeddingService:
    """The only entry point to embedding models."""

    def __init__(self, rows: Repositories, models: EmbeddingModels, metering: Metering, calling: Calling) -> None:
        self._models = models
        self._cache = rows.embedding_cache
        self._metering = metering
        self._calling = calling
        self._questions = QuestionCache()
        self._filling = Filling(rows, metering, calling, lease_seconds=CLAIM_LEASE_SECONDS)

    async def dimensions_of(self, organization: Organization, model: str) -> int:
        """Measure the length of one free embedding by the model.

        Raises:
            InvalidInputError: no such model, or no key for its provider.
        """
        chosen = await self._models.choose(organization, model)
        vectors = await self._calling.call(chosen.embedder, organization.id, ["test"], InputType.DOCUMENT)
        return int(vectors.shape[1])

    async def embed_chunks(
        self, organization: Organization, knowledge_base: KnowledgeBase, texts: Sequence[str]
    ) -> Vectors:
        """Embed chunks for a knowledge base; shape (len(texts), dimensions), in order.

        Each batch is stored as it arrives: after a failure, a retry pays only for the missing rest. Texts that another
        worker is embedding are waited for.

        Raises:
            RateLimitedError: the provider, a limit, or other workers at the same texts ask for a long wait.
        """
        chosen = await self._models.choose(organization, knowledge_base.embedding_model)
        return await self._embed(chosen, organization, knowledge_base, texts, InputType.DOCUMENT, Operation.INDEX)

    async def embed_documents(
        self, organization: Organization, knowledge_base: KnowledgeBase, documents: Sequence[Sequence[str]]
    ) -> EmbeddedDocuments:
        """Embed the chunks of several documents for a knowledge base, in as few calls of the provider as they fit into.

        As `embed_chunks`, but a failure keeps the documents that are whole by then: a refused text costs its document
        alone, and an error is returned with the others.
        """
        chosen = await self._models.choose(organization, knowledge_base.embedding_model)
        texts = [text for document in documents for text in document]
        asked = _ask(chosen, organization, knowledge_base, texts, InputType.DOCUMENT, Operation.INDEX)
        found = await self._look_up(list(dict.fromkeys(asked.keys)))
        self._count_cached(asked, found)
        keys_of = _divided(asked.keys, documents)
        parts = [[key for key in keys if key not in found] for keys in keys_of]
        filled = await self._filling.embed_parts(asked.wanted, parts)
        found |= filled.embeddings
        whole = {place for place, keys in enumerate(keys_of) if all(key in found for key in keys)}
        used = [key for place in whole for key in keys_of[place]]
        await self._metering.note_saved(asked.wanted.purpose, len(used) - len(filled.made.intersection(used)))
        refused = {place for place, keys in enumerate(keys_of) if filled.refused.intersection(keys)}
        left = set[int]() if filled.is_given_up else set(range(len(documents))) - whole - refused
        return EmbeddedDocuments(
            [np.stack([found[key] for key in keys]) if place in whole else None for place, keys in enumerate(keys_of)],
            frozenset(left),
            filled.error,
        )

    async def embed_query(self, organization: Organization, knowledge_base: KnowledgeBase, query: str) -> Vectors:
        """Embed a question for a knowledge base; shape (dimensions,). A repeated question is free."""
        chosen = await self._models.choose(organization, knowledge_base.embedding_model)
        vectors = await self._embed(chosen, organization, knowledge_base, [query], InputType.QUERY, Operation.SEARCH)
        return vectors[0]

    async def require_spus(self, organization: Organization) -> None:
        """Refuse work without SPUs for its embedding, before anything else is paid for it.

        Raises:
            QuotaExceededError: the organization's SPUs are used up.
        """
        await self._metering.require_left(organization.id)

    async def known_share(self, knowledge_base: KnowledgeBase, query: str) -> float | None:
        """Return the share of a question's letters (0 to 1) in words the model knows whole; None if it cannot tell."""
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
        if not texts:
            return np.zeros((0, knowledge_base.embedding_dimensions), dtype=np.float32)
        asked = _ask(chosen, organization, knowledge_base, texts, input_type, operation)
        keys = asked.keys
        is_question = input_type is InputType.QUERY
        kept = self._questions.find(keys) if is_question else dict[str, Vectors]()
        unknown = [key for key in dict.fromkeys(keys) if key not in kept]
        found = kept | await self._look_up(unknown)
        missing = self._count_cached(asked, found)
        embedded = 0
        if missing:
            is_claimed = operation is Operation.INDEX
            fill = self._filling.embed_claimed if is_claimed else self._filling.embed
            filled = await fill(asked.wanted, missing)
            found |= filled.embeddings
            embedded = len(filled.made)
        if is_question:
            self._questions.keep({key: found[key] for key in unknown})
        await self._metering.note_saved(asked.wanted.purpose, len(keys) - embedded)
        return np.stack([found[key] for key in keys])

    def _count_cached(self, asked: _Asked, found: Mapping[str, Vectors]) -> list[str]:
        """Count the texts that the cache has in the metrics; return the keys of the others, each once."""
        missing = [key for key in dict.fromkeys(asked.keys) if key not in found]
        model = asked.wanted.purpose.embedding_model
        metrics.cache_hits.labels(model=model).inc(len(asked.keys) - len(missing))
        metrics.cache_misses.labels(model=model).inc(len(missing))
        return missing

    async def _look_up(self, keys: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for start in range(0, len(keys), LOOKUP_SIZE):
            cached = await self._cache.find(keys[start : start + LOOKUP_SIZE])
            found |= cached.embeddings
            await self._cache.note_use(cached.stale_keys)
        return found


def _ask(
    chosen: ChosenModel,
    organization: Organization,
    knowledge_base: KnowledgeBase,
    texts: Sequence[str],
    input_type: InputType,
    operation: Operation,
) -> _Asked:
    hashes = [chunk_hash(text) for text in texts]
    keys = [
        cache_key(
            text_hash,
            model=knowledge_base.embedding_model,
            dimensions=knowledge_base.embedding_dimensions,
            input_type=input_type,
            scope=chosen.scope,
            endpoint=chosen.endpoint,
        )
        for text_hash in hashes
    ]
    wanted = Wanted(
        chosen=chosen,
        knowledge_base=knowledge_base,
        purpose=SpuPurpose(
            organization_id=organization.id,
            kb_id=knowledge_base.id,
            operation=operation,
            embedding_model=knowledge_base.embedding_model,
        ),
        input_type=input_type,
        texts=dict(zip(keys, texts, strict=True)),
        hashes=dict(zip(keys, hashes, strict=True)),
    )
    return _Asked(wanted, keys)


def _divided(keys: Sequence[str], documents: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the keys of each document."""
    divided: list[Sequence[str]] = []
    start = 0
    for texts in documents:
        divided.append(keys[start : start + len(texts)])
        start += len(texts)
    return divided
