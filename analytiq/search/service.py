"""Search: question → vector → candidates → check → neighbours → passages (design 2.11)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import structlog

from analytiq.embedding.service import EmbeddingService
from analytiq.errors import NotFoundError, TransientError
from analytiq.models.filter import EVERYTHING
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.models.selection import ChunkFilter, DocumentSet
from analytiq.models.vector import Passage
from analytiq.mongo.filters import compile_filter
from analytiq.mongo.repositories.documents import DocumentRepository
from analytiq.mongo.repositories.knowledge_bases import EpochRepository, KnowledgeBaseRepository
from analytiq.mongo.repositories.tags import TagRepository
from analytiq.mongo.repositories.vectors import VectorRepository
from analytiq.search import coalescing
from analytiq.search.check import Check, Checked
from analytiq.search.request import SearchRequest, SearchResponse, SearchResult, require_depth
from analytiq.search.tag_names import tag_names_in, with_tag_ids
from analytiq.settings import SearchSettings
from analytiq.telemetry import metrics
from analytiq.vector_stores.base import Query, VectorHit, VectorStore

log = structlog.get_logger(__name__)

_NOTHING = DocumentSet(frozenset())
OUTDATED_ROUNDS = 10
"""How often a search starts again because a document was re-indexed between finding and checking it."""


class _Timer:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        now = perf_counter()
        elapsed = round((now - self._last) * 1000, 2)
        self.milliseconds[stage] = round(self.milliseconds.get(stage, 0.0) + elapsed, 2)
        self._last = now


@dataclass(frozen=True, slots=True)
class _Found:
    epoch: Epoch
    checked: Checked


class Search:
    """Searches knowledge bases of an organization."""

    def __init__(
        self,
        knowledge_bases: KnowledgeBaseRepository,
        epochs: EpochRepository,
        documents: DocumentRepository,
        tags: TagRepository,
        vectors: VectorRepository,
        embedding: EmbeddingService,
        store: VectorStore,
        check: Check,
        settings: SearchSettings,
    ) -> None:
        self._knowledge_bases = knowledge_bases
        self._epochs = epochs
        self._documents = documents
        self._tags = tags
        self._vectors = vectors
        self._embedding = embedding
        self._store = store
        self._check = check
        self._settings = settings

    async def search(self, organization: Organization, kb_id: str, request: SearchRequest) -> SearchResponse:
        """Answer a question from one knowledge base; it sees every write that was acknowledged before.

        Raises:
            NotFoundError: no such knowledge base.
            InvalidInputError: names the field that is wrong.
            StoreLoadingError: the vectors are being loaded into memory; ask again.
        """
        require_depth(request, max_top_k=self._settings.max_top_k, max_depth=self._settings.max_depth)
        timer = _Timer()
        knowledge_base, _ = await self._read(organization.id, kb_id)
        timer.lap("read")
        allowed = await self._allowed(knowledge_base, request)
        timer.lap("filter")
        if allowed is not None and allowed.selection == _NOTHING:
            metrics.search_results.observe(0)
            return SearchResponse((), 0, timer.milliseconds)
        query = await self._embedding.embed_query(organization, knowledge_base, request.query)
        timer.lap("embed")
        found = await self._find(knowledge_base, query, request, allowed, timer)
        total = await self._store.count(knowledge_base, found.epoch, chunk_filter=allowed)
        results = await self._passages(knowledge_base, query, request, found)
        timer.lap("passages")
        metrics.search_results.observe(len(results))
        log.debug("search.answered", kb_id=kb_id, results=len(results), timings_ms=timer.milliseconds)
        return SearchResponse(tuple(results), total, timer.milliseconds)

    async def _read(self, organization_id: str, kb_id: str) -> tuple[KnowledgeBase, Epoch]:
        knowledge_base = await self._knowledge_bases.get(organization_id, kb_id)
        epoch = await self._epochs.read(kb_id) if knowledge_base else None
        if knowledge_base is None or epoch is None:
            raise NotFoundError(f"no knowledge base has the id {kb_id!r}")
        return knowledge_base, epoch

    async def _allowed(self, knowledge_base: KnowledgeBase, request: SearchRequest) -> ChunkFilter | None:
        if request.filter == EVERYTHING:
            return None
        organization_id = knowledge_base.organization_id
        tree = request.filter
        if names := tag_names_in(tree):
            tree = with_tag_ids(tree, await self._tags.ids_of_names(organization_id, names))
        document_ids = await self._documents.ids_of_members_matching(
            organization_id, knowledge_base.tag_ids, compile_filter(tree)
        )
        return ChunkFilter(tree, DocumentSet(frozenset(document_ids)))

    async def _find(
        self,
        knowledge_base: KnowledgeBase,
        query: Query,
        request: SearchRequest,
        allowed: ChunkFilter | None,
        timer: _Timer,
    ) -> _Found:
        """Candidates that pass the check; begins again where a swap came between finding and checking.

        A swap moves the epoch. Where the epoch stands and an entry still names another generation, that is drift:
        the reconciler's to mend, and no reason to show nothing of the other documents.
        """
        seen: Epoch | None = None
        for _ in range(OUTDATED_ROUNDS):
            current, epoch = await self._read(knowledge_base.organization_id, knowledge_base.id)
            is_drift = epoch == seen
            checked = await self._refill(current, epoch, query, request, allowed, timer, is_drift=is_drift)
            if not checked.is_outdated or is_drift:
                return _Found(epoch, checked)
            seen = epoch
        raise TransientError(
            f"the knowledge base {knowledge_base.name!r} is being indexed anew faster than it can be searched; ask"
            " again in a moment",
            retry_after=0.5,
        )

    async def _refill(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        request: SearchRequest,
        allowed: ChunkFilter | None,
        timer: _Timer,
        *,
        is_drift: bool,
    ) -> Checked:
        """Ask for more candidates, doubling, until enough pass the check or there are no more."""
        wanted = request.skip + request.top_k
        limit = wanted
        while True:
            hits = await self._store.search(knowledge_base, epoch, query, limit=limit, chunk_filter=allowed)
            timer.lap("vector")
            checked = await self._check.check(knowledge_base, hits)
            timer.lap("check")
            if (checked.is_outdated and not is_drift) or len(checked.hits) >= wanted or len(hits) < limit:
                return checked
            limit *= 2

    async def _passages(
        self, knowledge_base: KnowledgeBase, query: Query, request: SearchRequest, found: _Found
    ) -> list[SearchResult]:
        hits: Sequence[VectorHit] = found.checked.hits[request.skip : request.skip + request.top_k]
        neighbors = request.coalesce_neighbors
        if neighbors is None:
            neighbors = knowledge_base.coalesce_neighbors
        places = coalescing.plan(hits, neighbors=neighbors, chunk_counts=found.checked.chunk_counts)
        keys = [(place.generation_id, place.chunk_index) for place in places]
        beside = [key for key, place in zip(keys, places, strict=True) if place.hit is None]
        passages, relevances = await asyncio.gather(
            self._vectors.passages(knowledge_base.organization_id, knowledge_base.id, keys),
            self._relevances(knowledge_base, found.epoch, query, beside),
        )
        results: list[SearchResult] = []
        for key, place in zip(keys, places, strict=True):
            passage = passages.get(key)
            if passage is not None:
                relevance = place.hit.relevance if place.hit else relevances.get(key, 0.0)
                name = found.checked.names[place.document_id]
                results.append(_result(passage, name, relevance, is_matched=place.hit is not None))
        return results

    async def _relevances(
        self, knowledge_base: KnowledgeBase, epoch: Epoch, query: Query, chunks: Sequence[tuple[str, int]]
    ) -> dict[tuple[str, int], float]:
        if not chunks:
            return {}
        return await self._store.relevance_of(knowledge_base, epoch, query, chunks)


def _result(passage: Passage, name: str, relevance: float, *, is_matched: bool) -> SearchResult:
    return SearchResult(
        content=passage.chunk_text,
        source=name,
        document_id=passage.document_id,
        relevance=relevance,
        chunk_index=passage.chunk_index,
        is_matched=is_matched,
        first_page=passage.first_page,
        last_page=passage.last_page,
        start=passage.start,
        end=passage.end,
    )
