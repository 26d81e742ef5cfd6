"""The forecast of a knowledge base's cost, without embedding or charging anything."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analytiq.errors import TransientError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.cache_key import cache_key, chunk_hash
from analytiq.inference.embedding.models import ChosenModel, EmbeddingModels
from analytiq.inference.embedding.prices import known_model
from analytiq.inference.embedding.providers.local import LocalEmbedder
from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.context import ChunkContexts
from analytiq.ingestion.chunking.index_types import check, chunks_of_types, cuts_by_meaning, without_last
from analytiq.ingestion.chunking.skipping import outline_without
from analytiq.ingestion.knowledge_bases.estimation import Estimate, extrapolate, sample_size
from analytiq.ingestion.knowledge_bases.window import fitted_to
from analytiq.models.chunk import Chunk
from analytiq.models.index_types import Chunking, index_type_at
from analytiq.models.knowledge_base import searched_values
from analytiq.models.organization import Organization
from analytiq.models.text import DocumentText
from analytiq.models.vector import in_context
from analytiq.storage.repositories.embedding_cache import LOOKUP_SIZE, EmbeddingCacheRepository
from analytiq.storage.repositories.forecasts import ForecastRepository, SampledText, TextTotals, UnknownDocument
from analytiq.storage.repositories.texts import TextRepository

CHARACTERS_READ = 2_000_000
"""Characters read for one forecast: chunking them takes 1 to 2 s."""
CHARACTERS_READ_BY_MEANING = 60_000
"""The same for chunkers that compare sentences, which takes thirty times as long."""
DOCUMENTS_READ = 1000
CHARACTERS_OF_ONE = 500_000
"""Most characters read of one text: its beginning stands for the whole, unless all texts can be read."""
READ_SECONDS = 10.0
"""Time limit on a busy machine: then the documents read so far stand for all."""


@dataclass(frozen=True, slots=True)
class ForecastRequest:
    """Settings of the knowledge base to forecast; `embedding_model` None: the organization's default."""

    tag_ids: tuple[str, ...]
    chunking: Chunking
    embedding_model: str | None
    context: bool = True
    searched_metadata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampled:
    """The counts of a sampled document.

    `cached_chunks`: found in the cache. `spus`: neither in the cache nor in an earlier document.
    """

    characters: int
    chunks: int
    tokens: int
    cached_chunks: int
    spus: int
    spu_tokens: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """The present forecast. Chunks that are neither cached nor an SPU occur more than once.

    `token_usd` is None if the model's price is unknown. `is_cache_known` is False if the dimensions of the model's
    vectors are unknown, so that the cache cannot be asked and every chunk counts as new.
    """

    embedding_model: str
    documents: int
    unknown_documents: int
    named_unknown: tuple[UnknownDocument, ...]
    chunks: Estimate
    tokens: Estimate
    cached_chunks: Estimate
    spus: Estimate
    spu_tokens: Estimate
    token_usd: float | None
    is_cache_known: bool
    is_estimated: bool
    sampled_documents: int
    sampled_characters: int


class Forecasts:
    """Makes forecasts."""

    def __init__(
        self,
        rows: ForecastRepository,
        texts: TextRepository,
        cache: EmbeddingCacheRepository,
        models: EmbeddingModels,
    ) -> None:
        self._rows = rows
        self._texts = texts
        self._cache = cache
        self._models = models

    async def forecast(self, organization: Organization, wanted: ForecastRequest) -> Forecast:
        """Forecast the cost of the knowledge base if it were created now.

        Raises:
            InvalidInputError: chunker, sizes or model are invalid, or the model's provider has no key.
        """
        check(wanted.chunking)
        model = wanted.embedding_model or await self._models.default_model()
        chosen = await self._models.choose(organization, model)
        known = await asyncio.to_thread(known_model, model)
        wanted = replace(wanted, chunking=fitted_to(wanted.chunking, known))
        dimensions = await self._dimensions(organization, model) or known.dimensions
        totals = await self._rows.totals(organization.id, wanted.tag_ids)
        plan = _Plan(organization, wanted, chosen, model, dimensions)
        reading = _Reading(self._texts, self._cache, self._models.local, plan)
        read = await self._read(reading, organization, wanted, totals)
        return Forecast(
            embedding_model=model,
            documents=totals.documents,
            unknown_documents=totals.unknown,
            named_unknown=totals.named,
            chunks=_of_all(totals, [(one.characters, one.chunks) for one in read]),
            tokens=_of_all(totals, [(one.characters, one.tokens) for one in read]),
            cached_chunks=_of_all(totals, [(one.characters, one.cached_chunks) for one in read]),
            spus=_of_all(totals, [(one.characters, one.spus) for one in read]),
            spu_tokens=_of_all(totals, [(one.characters, one.spu_tokens) for one in read]),
            # A user's own server may charge anything.
            token_usd=None if chosen.endpoint else known.token_usd,
            is_cache_known=dimensions is not None,
            is_estimated=sum(one.characters for one in read) < totals.characters,
            sampled_documents=len(read),
            sampled_characters=sum(one.characters for one in read),
        )

    async def _read(
        self, reading: "_Reading", organization: Organization, wanted: ForecastRequest, totals: TextTotals
    ) -> list[Sampled]:
        budget = CHARACTERS_READ_BY_MEANING if cuts_by_meaning(wanted.chunking) else CHARACTERS_READ
        longest = budget if totals.characters <= budget else min(budget, CHARACTERS_OF_ONE)
        size = sample_size(
            totals.documents, totals.characters, budget=budget, most_documents=DOCUMENTS_READ, longest=longest
        )
        loop = asyncio.get_running_loop()
        deadline = loop.time() + READ_SECONDS
        read: list[Sampled] = []
        left = budget
        for text in await self._rows.sample(organization.id, wanted.tag_ids, size=size):
            one = await reading.read(text, characters=min(longest, left), needs_whole_chunks=bool(read))
            if one is not None:
                read.append(one)
                left -= one.characters
            is_spent = left <= 0 or (one is None and left < min(text.characters, longest))
            if is_spent or loop.time() >= deadline:
                break
        return read

    async def _dimensions(self, organization: Organization, model: str) -> int | None:
        if model == self._models.local.model:
            return self._models.local.dimensions
        return await self._rows.dimensions(organization.id, model)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A forecast's knowledge base, its organization and model; `dimensions` None: unknown."""

    organization: Organization
    wanted: ForecastRequest
    chosen: ChosenModel
    model: str
    dimensions: int | None


class _Reading:
    """Cuts documents as indexing would, and looks each text up in the cache once."""

    def __init__(
        self, texts: TextRepository, cache: EmbeddingCacheRepository, local: LocalEmbedder, plan: _Plan
    ) -> None:
        self._texts = texts
        self._cache = cache
        self._local = local
        self._plan = plan
        self._seen: set[str] = set()

    async def read(self, place: SampledText, *, characters: int, needs_whole_chunks: bool) -> Sampled | None:
        """Count the chunks of the beginning of a text, or of all of it.

        Return None if it was just replaced, or the part read contains no complete chunk.
        """
        try:
            text = await self._texts.read_beginning(
                self._plan.organization.id, place.text_id, min(place.characters, characters)
            )
        except TransientError:
            return None
        chunks, keys = await asyncio.to_thread(self._cut, text, place)
        length = len(text.text)
        is_cut = length < place.characters
        if is_cut and len(chunks) <= 1 and needs_whole_chunks:
            return None
        if is_cut and len(chunks) > 1:
            # A chunk cut short by the end of reading is none that indexing would make: neither cached nor charged.
            length = _whole_length(chunks)
            kept = list(without_last(chunks))
            places = {chunk.chunk_index: place for place, chunk in enumerate(chunks)}
            chunks, keys = kept, [keys[places[chunk.chunk_index]] for chunk in kept]
        cached = await self._cached(list(dict.fromkeys(keys)))
        new = {
            key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in cached and key not in self._seen
        }
        self._seen.update(new)
        return Sampled(
            characters=length,
            chunks=len(chunks),
            tokens=_tokens(chunks),
            cached_chunks=sum(key in cached for key in keys),
            spus=len(new),
            spu_tokens=_tokens(new.values()),
        )

    def _cut(self, text: DocumentText, place: SampledText) -> tuple[Sequence[Chunk], list[str]]:
        skipped = self._plan.organization.skipped_flaws
        chunks = chunks_of_types(text, self._plan.wanted.chunking, skipped, embed_texts=self._local.embed_texts)
        if self._plan.wanted.context:
            values = searched_values(place.metadata, self._plan.wanted.searched_metadata)
            contexts = ChunkContexts(outline_without(text, skipped), place.document_name, values)
            chunks = [_with_context(chunk, contexts) for chunk in chunks]
        return chunks, [self._key(chunk) for chunk in chunks]

    def _key(self, chunk: Chunk) -> str:
        return cache_key(
            chunk_hash(chunk.text),
            model=self._plan.model,
            dimensions=self._plan.dimensions or 0,
            input_type=InputType.DOCUMENT,
            scope=self._plan.chosen.scope,
            endpoint=self._plan.chosen.endpoint,
        )

    async def _cached(self, keys: Sequence[str]) -> set[str]:
        cached: set[str] = set()
        if self._plan.dimensions is not None:
            for start in range(0, len(keys), LOOKUP_SIZE):
                cached |= await self._cache.present_among(keys[start : start + LOOKUP_SIZE])
        return cached


def _whole_length(chunks: Sequence[Chunk]) -> int:
    """Return the characters that whole chunks of the smallest type cover, the basis of the extrapolation."""
    smallest = index_type_at(chunks[0].chunk_index)
    of_smallest = [chunk for chunk in chunks if index_type_at(chunk.chunk_index) is smallest]
    return of_smallest[-1].start if len(of_smallest) > 1 else of_smallest[-1].end


def _with_context(chunk: Chunk, contexts: ChunkContexts) -> Chunk:
    """Return the chunk with the text and the tokens that are embedded."""
    text = in_context(contexts.of(chunk.start, chunk.end, chunk.token_count).embedded, chunk.text)
    return replace(chunk, text=text, token_count=count_tokens(text))


def _of_all(totals: TextTotals, sample: Sequence[tuple[int, int]]) -> Estimate:
    return extrapolate(sample, documents=totals.documents, characters=totals.characters)


def _tokens(chunks: Iterable[Chunk]) -> int:
    return sum(chunk.token_count for chunk in chunks)
