"""Search: question → vector and words → candidates → check → passages (design 2.11)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import structlog
from pydantic import JsonValue

from analytiq.errors import AnalytiqError, InvalidInputError, QuotaExceededError, TransientError
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.retrieval.backends.base import Query
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.selection import NOTHING, DocumentSet
from analytiq.retrieval.filters.tree import Filter, speaks_of_pages
from analytiq.retrieval.search.candidates import Scope
from analytiq.retrieval.search.finding import Finding, Ranking
from analytiq.retrieval.search.legs import Legs
from analytiq.retrieval.search.plan import SearchPlan, plan
from analytiq.retrieval.search.presenting import Presenting, Shown, sources_of
from analytiq.retrieval.search.request import Mode, SearchRequest, SearchResponse
from analytiq.retrieval.search.steps import ModelSteps, Understood
from analytiq.retrieval.search.trail import Trail
from analytiq.retrieval.search.weights import weights_of
from analytiq.settings import SearchSettings
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.telemetry import metrics

log = structlog.get_logger(__name__)

MAX_KNOWLEDGE_BASES = 20
"""Of one search: each is read, searched and checked by itself."""


class Search:
    """Searches knowledge bases of an organization."""

    def __init__(
        self,
        finding: Finding,
        presenting: Presenting,
        legs: Legs,
        embedding: EmbeddingService,
        entries: IndexEntryRepository,
        steps: ModelSteps,
        settings: SearchSettings,
    ) -> None:
        self._finding = finding
        self._presenting = presenting
        self._legs = legs
        self._embedding = embedding
        self._entries = entries
        self._steps = steps
        self._settings = settings

    async def search(self, organization: Organization, kb_id: str, request: SearchRequest) -> SearchResponse:
        """Answer a question from one knowledge base; see `search_several`."""
        return await self.search_several(organization, [kb_id], request)

    async def search_several(
        self, organization: Organization, kb_ids: Sequence[str], request: SearchRequest
    ) -> SearchResponse:
        """Answer a question from knowledge bases; it sees every write that was acknowledged before.

        Raises:
            NotFoundError: no such knowledge base.
            InvalidInputError: names the field that is wrong.
            QuotaExceededError: the question cannot be embedded any more.
            StoreLoadingError: nothing can be searched before the vectors are loaded into memory; ask again.
        """
        if not 1 <= len(set(kb_ids)) <= MAX_KNOWLEDGE_BASES:
            raise InvalidInputError.of_field("kb_ids", f"name from 1 to {MAX_KNOWLEDGE_BASES} knowledge bases")
        chosen = plan(request, self._settings)
        trail = Trail()
        with trail.step("total"):
            response = await self._answer(organization, list(dict.fromkeys(kb_ids)), request, chosen, trail)
        metrics.search_results.observe(len(response.results))
        log.debug("search.answered", results=len(response.results), timings_ms=trail.timings_ms)
        return replace(response, timings_ms=trail.timings_ms)

    async def require_spus(self, organization: Organization) -> None:
        """Refuse a question that nobody has asked before, without asking it.

        Raises:
            QuotaExceededError: the organization's SPUs are used up.
        """
        await self._embedding.require_spus(organization)

    async def filter_of_documents(self, organization: Organization, raw: Mapping[str, JsonValue]) -> Filter:
        """A `metadata_filter` as it selects whole documents.

        Raises:
            InvalidInputError: names the place in it that is wrong, or it speaks of pages.
        """
        tree = parse_filter(raw)
        if speaks_of_pages(tree):
            raise InvalidInputError.of_field("metadata_filter", "page is of passages; documents are not filtered by it")
        return await self._finding.as_meant(organization, tree)

    async def _answer(
        self, organization: Organization, kb_ids: list[str], request: SearchRequest, chosen: SearchPlan, trail: Trail
    ) -> SearchResponse:
        tree = await self._finding.as_meant(organization, request.filter)
        scopes = await self.scopes_of(organization, kb_ids, tree, trail)
        # No model is asked, and paid, before it is known that there is something to be found.
        if not _can_find(scopes):
            return SearchResponse((), 0, chosen.mode)
        understood = Understood(request.query)
        if chosen.hyde or chosen.rewrites:
            if chosen.has_vector_leg and self._steps.understanding is not None:
                # What the model makes of the question would have to be embedded.
                await self._embedding.require_spus(organization)
            understood = await self._understand(organization, request, chosen, trail)
            chosen = replace(chosen, query=understood.question)
        chosen = await self.weighed(scopes, chosen, request.alpha)
        queries = await self.queries_of(organization, scopes, chosen, trail, understood.passages)
        scopes = with_queries(scopes, queries)
        ranking, shown = await self._rank(organization, request, chosen, scopes, queries, tree, trail)
        results = await self._presenting.results(request, chosen, ranking, shown, trail)
        if chosen.compresses and results:
            with trail.step("compress"):
                results = await self._presenting.compress(organization, request, chosen, results, trail)
        with trail.step("count"):
            searched = sum(await asyncio.gather(*(self._count(scope) for scope in ranking.scopes)))
        total, is_at_least = _total(chosen, shown, searched)
        generated = (*([understood.question] if understood.question != request.query else []), *understood.passages)
        return SearchResponse(
            results=tuple(results),
            total_count=total,
            total_count_is_at_least=is_at_least,
            has_more=total > chosen.wanted,
            searched_chunk_count=searched,
            mode=chosen.mode,
            degraded=tuple(trail.degraded),
            statistics=trail.statistics,
            generated_queries=generated,
            sources=sources_of(results),
            weights=chosen.weights if trail.is_fused else None,
        )

    async def scopes_of(
        self, organization: Organization, kb_ids: Sequence[str], tree: Filter, trail: Trail
    ) -> list[Scope]:
        """The knowledge bases as they are searched now, still without the question's vector.

        Raises:
            NotFoundError: the organization has not one of them.
        """
        with trail.step("read"):
            read = await asyncio.gather(*(self._finding.read(organization.id, kb_id) for kb_id in kb_ids))
        with trail.step("filter"):
            filters = await asyncio.gather(*(self._finding.chunk_filter(kb, tree) for kb, _ in read))
        return [self._finding.scope(kb, epoch, one) for (kb, epoch), one in zip(read, filters, strict=True)]

    async def queries_of(
        self,
        organization: Organization,
        scopes: Sequence[Scope],
        chosen: SearchPlan,
        trail: Trail,
        passages: Sequence[str] = (),
    ) -> dict[str, Query]:
        """The question's vector for each model of the knowledge bases; none where the plan has no vector leg."""
        queries = await self._embed(organization, [scope.knowledge_base for scope in scopes], chosen, passages, trail)
        if not queries and not (chosen.has_lexical_leg and self._legs.has_lexical):
            raise TransientError("there is nothing to search by: this installation has no index of words")
        return queries

    async def weighed(self, scopes: Sequence[Scope], chosen: SearchPlan, alpha: float | None) -> SearchPlan:
        """The plan with the legs' weights, by what the models know of the question; `alpha` is the caller's."""
        if alpha is not None or chosen.mode is not Mode.HYBRID:
            return chosen
        by_model = {scope.knowledge_base.embedding_model: scope.knowledge_base for scope in scopes}
        shares = [await self._embedding.known_share(kb, chosen.query) for kb in by_model.values()]
        return replace(chosen, weights=weights_of(None, shares))

    async def _understand(
        self, organization: Organization, request: SearchRequest, chosen: SearchPlan, trail: Trail
    ) -> Understood:
        """One call for rewriting and imagining; where it fails the question stands as it was asked."""
        as_asked = Understood(request.query)
        understanding = self._steps.understanding
        if understanding is None:
            trail.lack("understand", "not_configured", "no chat model is configured; the question is searched as it is")
            return as_asked
        seconds = self._settings.step_timeout_seconds
        with trail.step("understand"):
            try:
                async with asyncio.timeout(seconds):
                    return await understanding.understand(
                        organization, request.query, request.history, hyde=chosen.hyde, model=request.model
                    )
            except TimeoutError:
                trail.lack("understand", "timeout", f"it took longer than {seconds:g} s")
            except QuotaExceededError:
                raise
            except AnalytiqError as error:
                trail.degrade("understand", error)
        return as_asked

    async def _embed(
        self,
        organization: Organization,
        knowledge_bases: Sequence[KnowledgeBase],
        chosen: SearchPlan,
        passages: Sequence[str],
        trail: Trail,
    ) -> dict[str, Query]:
        """Model → the question's vector; with hypothetical answers, the mean of it and theirs (Gao et al. 2022)."""
        if not chosen.has_vector_leg:
            return {}
        by_model = {kb.embedding_model: kb for kb in knowledge_bases}
        queries: dict[str, Query] = {}
        with trail.step("embed"):
            for model, kb in by_model.items():
                try:
                    texts = [chosen.query, *passages]
                    vectors = [await self._embedding.embed_query(organization, kb, text) for text in texts]
                except QuotaExceededError:
                    raise
                except AnalytiqError as error:
                    if not (chosen.has_lexical_leg and self._legs.has_lexical):
                        raise
                    trail.degrade("embed", error)
                    return {}
                queries[model] = _mean(vectors)
        return queries

    async def _rank(
        self,
        organization: Organization,
        request: SearchRequest,
        chosen: SearchPlan,
        scopes: Sequence[Scope],
        queries: dict[str, Query],
        tree: Filter,
        trail: Trail,
    ) -> tuple[Ranking, Shown]:
        """Ask for more candidates, doubling, until enough may be shown or there are no more."""
        depth = chosen.depth
        while True:
            ranking = await self._finding.rank(scopes, chosen, queries, tree, trail, depth=depth)
            shown = await self._presenting.choose(chosen, ranking, trail)
            is_enough = len(shown.candidates) >= chosen.needed or ranking.is_whole
            if is_enough or ranking.is_below(chosen.score_threshold) or depth >= self._settings.max_depth * 2:
                break
            depth *= 2
            scopes = ranking.scopes
        if chosen.reranks:
            with trail.step("rerank"):
                await self._presenting.rerank(organization, request, chosen, shown, trail)
        return ranking, shown

    async def _count(self, scope: Scope) -> int:
        """How many chunks could be found."""
        try:
            return await scope.reader.count(chunk_filter=scope.chunk_filter)
        except TransientError:
            # The vectors are not there yet; the entries tell as much, but for pages.
            kb = scope.knowledge_base
            selection = scope.chunk_filter.selection if scope.chunk_filter else None
            document_ids = selection.document_ids if isinstance(selection, DocumentSet) else None
            _, chunks = await self._entries.statistics(kb.id, document_ids=document_ids)
            return chunks


def with_queries(scopes: Sequence[Scope], queries: Mapping[str, Query]) -> list[Scope]:
    """The scopes, each with the vector of its model."""
    return [replace(scope, query=queries.get(scope.knowledge_base.embedding_model)) for scope in scopes]


def _total(chosen: SearchPlan, shown: Shown, searched: int) -> tuple[int, bool]:
    """Count the matches on all pages, and say whether there may be more."""
    if shown.is_whole:
        return len(shown.candidates), False
    if not chosen.leaves_out:
        return searched, False
    return len(shown.candidates), True


def _can_find(scopes: Sequence[Scope]) -> bool:
    return any(scope.chunk_filter is None or scope.chunk_filter.selection != NOTHING for scope in scopes)


def _mean(vectors: Sequence[Query]) -> Query:
    if len(vectors) == 1:
        return vectors[0]
    lengths = [float(np.linalg.norm(vector)) or 1.0 for vector in vectors]
    together = np.mean([vector / length for vector, length in zip(vectors, lengths, strict=True)], axis=0)
    return together.astype(np.float32)
