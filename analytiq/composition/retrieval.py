"""Services of retrieval: indexes, search, reranking, places on pages."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from functools import cached_property
from typing import TYPE_CHECKING

from analytiq.retrieval.backends.feeding import KeywordFeeder
from analytiq.retrieval.backends.registry import Backends, open_backends
from analytiq.retrieval.pipeline.compress import ChatCompressor
from analytiq.retrieval.pipeline.explain import Explain
from analytiq.retrieval.pipeline.ports import SearchModels
from analytiq.retrieval.pipeline.resolve import Resolve
from analytiq.retrieval.pipeline.retrieve import Retrieve
from analytiq.retrieval.pipeline.search import Search
from analytiq.retrieval.pipeline.understand import ChatUnderstanding
from analytiq.retrieval.places.service import Locating
from analytiq.retrieval.reranking.max_sim import MaxSim
from analytiq.retrieval.reranking.models import RerankModels
from analytiq.retrieval.reranking.service import Reranking

if TYPE_CHECKING:
    from analytiq.composition.services import Services


class Retrieval:
    """Indexes of a process, and search in them."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._rows = services.repositories
        self._settings = services.settings
        self._backends: Backends | None = None

    async def open_backends(self) -> None:
        """Ask the server for its backends; required before any other use of this group."""
        self._backends = await open_backends(self._rows, self._settings)
        self._services.closing.push_async_callback(self._backends.close)

    @property
    def backends(self) -> Backends:
        """The indexes of each KB."""
        if self._backends is None:
            raise RuntimeError("The backends are not open: await Services.prepare() first.")
        return self._backends

    @cached_property
    def keyword_feeder(self) -> KeywordFeeder | None:
        """The task that brings commits into this process's keyword indexes."""
        if not self.backends.has_keywords:
            return None
        return KeywordFeeder(self.backends, self._rows.knowledge_bases, self._rows.epochs)

    @contextlib.asynccontextmanager
    async def feeding_keyword_index(self) -> AsyncGenerator[None]:
        """Feed the keyword indexes of this process with commits within the block: for processes that search."""
        feeding = None if self.keyword_feeder is None else asyncio.create_task(self.keyword_feeder.run())
        try:
            yield
        finally:
            if feeding is not None:
                feeding.cancel()
                await asyncio.wait([feeding])

    @cached_property
    def reranking(self) -> Reranking:
        """Rerankers."""
        inference, limits = self._services.inference, self._services.tenancy.rate_limits
        models = RerankModels(inference.credentials, self._settings.llm)
        return Reranking(self._rows, models, MaxSim(inference.embedding_models.local), limits)

    @cached_property
    def search(self) -> Search:
        """Search in one KB."""
        settings, chat = self._settings.search, self._services.inference.chat_models
        models = SearchModels(
            embedding=self._services.inference.embedding,
            understanding=ChatUnderstanding(chat, cache_seconds=settings.understanding_cache_seconds),
            reranker=self.reranking,
            compressor=ChatCompressor(chat),
        )
        retrieve = Retrieve(has_keywords=self.backends.has_keywords, timeout_seconds=settings.leg_timeout_seconds)
        return Search(resolve=self._resolve, retrieve=retrieve, models=models, settings=settings)

    @cached_property
    def explain(self) -> Explain:
        """The reasons for a document's presence or absence in a search."""
        states = self._services.ingestion.indexing_states
        return Explain(search=self.search, resolve=self._resolve, states=states, settings=self._settings.search)

    @cached_property
    def locating(self) -> Locating:
        """Places of passages on a document's pages."""
        rows, reader = self._rows, self._services.ingestion.reader
        return Locating(rows, reader, self._services.inference.vault, self._settings.extraction)

    @cached_property
    def _resolve(self) -> Resolve:
        return Resolve(self._rows, self.backends)
