"""Search: runs the steps of the pipeline, and builds the response from the filled context."""

import asyncio
from collections.abc import Mapping, Sequence

import structlog
from pydantic import JsonValue

from analytiq.errors import AnalytiqError, InvalidInputError, TransientError
from analytiq.models.index_types import IndexType
from analytiq.models.organization import Organization
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.selection import NOTHING, DocumentSet
from analytiq.retrieval.filters.tree import Filter, speaks_of_pages
from analytiq.retrieval.pipeline.check import Check
from analytiq.retrieval.pipeline.compress import compress
from analytiq.retrieval.pipeline.context import Observer, Scope, SearchContext, ignore
from analytiq.retrieval.pipeline.details import Details
from analytiq.retrieval.pipeline.embed import Embed
from analytiq.retrieval.pipeline.expand import expand, sources_of
from analytiq.retrieval.pipeline.fuse import fuse
from analytiq.retrieval.pipeline.passages import PassageCache, PassageReader
from analytiq.retrieval.pipeline.plan import plan
from analytiq.retrieval.pipeline.ports import SearchModels
from analytiq.retrieval.pipeline.refill import Refill
from analytiq.retrieval.pipeline.request import SearchRequest, SearchResponse
from analytiq.retrieval.pipeline.rerank import rerank
from analytiq.retrieval.pipeline.resolve import Resolve
from analytiq.retrieval.pipeline.retrieve import Retrieve
from analytiq.retrieval.pipeline.select_hits import order_by_lines, select_hits
from analytiq.retrieval.pipeline.understand import understand
from analytiq.settings import SearchSettings
from analytiq.storage.repositories.search_openings import KnowledgeBasesAtVersions
from analytiq.telemetry import metrics

log = structlog.get_logger(__name__)

MAX_KNOWLEDGE_BASES = 20
"""Most knowledge bases of one search: each is read, searched and checked separately."""


class Search:
    """Searches knowledge bases of an organization."""

    def __init__(self, *, resolve: Resolve, retrieve: Retrieve, models: SearchModels, settings: SearchSettings) -> None:
        repositories = resolve.repositories
        cache = PassageCache(largest_bytes=settings.passage_cache_bytes)
        self._passages = PassageReader(repositories.vectors, cache)
        self._entries = repositories.entries
        self._models = models
        self._settings = settings
        self._resolve = resolve
        self._embed = Embed(models.embedding, has_keywords=retrieve.has_keywords)
        self._retrieve = retrieve
        self._check = Check(repositories)
        self._details = Details(repositories)

    async def search(
        self,
        organization: Organization,
        kb_id: str,
        request: SearchRequest,
        *,
        read_before: KnowledgeBasesAtVersions | None = None,
    ) -> SearchResponse:
        """Answer a question from one knowledge base; see `search_several`."""
        return await self.search_several(organization, [kb_id], request, read_before=read_before)

    async def search_several(
        self,
        organization: Organization,
        kb_ids: Sequence[str],
        request: SearchRequest,
        *,
        read_before: KnowledgeBasesAtVersions | None = None,
    ) -> SearchResponse:
        """Answer a question from knowledge bases; the search sees every write acknowledged before it.

        `read_before`: knowledge bases of the organization that the caller has read for this very search, at majority.

        Raises:
            NotFoundError: no such knowledge base.
            InvalidInputError: names the invalid field or the unknown detail.
            QuotaExceededError: the quota does not allow embedding the question.
            StoreLoadingError: the vectors are not loaded into memory yet; ask again.
        """
        if not 1 <= len(set(kb_ids)) <= MAX_KNOWLEDGE_BASES:
            raise InvalidInputError.of_field("kb_ids", f"Name from 1 to {MAX_KNOWLEDGE_BASES} knowledge bases.")
        context = SearchContext(organization, request, plan(request, self._settings), list(dict.fromkeys(kb_ids)))
        context.read_before = read_before or {}
        with context.trace.step("total"):
            has_run = await self.run(context, max_depth=self._settings.max_depth * 2)
            if has_run:
                await self.present(context)
            searched = await self._count(context) if has_run else 0
        response = _response(context, searched)
        metrics.search_results.observe(len(response.results))
        log.debug("search.answered", results=len(response.results), timings_ms=context.trace.timings_ms)
        return response

    async def run(self, context: SearchContext, *, max_depth: int, observe: Observer = ignore) -> bool:
        """Run the steps that find and rank hits; return False if no chunk passes the filter and only `resolve` ran.

        Args:
            context: the request; the steps fill in the rest.
            max_depth: half the largest number of chunks requested from a retriever.
            observe: called after each of the steps `fuse`, `select` and `rerank`.
        """
        await self._resolve.run(context)
        # No model is called, and paid, before it is known that any chunk can be found.
        if all(scope.chunk_filter is not None and scope.chunk_filter.selection == NOTHING for scope in context.scopes):
            return False
        context.question = context.request.query
        timeout = self._settings.step_timeout_seconds
        if context.plan.hyde or context.plan.rewrites:
            if context.plan.uses_vectors and self._models.understanding is not None:
                # The model's rewritten question would have to be embedded.
                await self.require_spus(context.organization)
            await understand(context, self._models.understanding, timeout_seconds=timeout)
        await self._embed.run(context)
        await self._fill(context, Refill(max_depth), observe)
        if context.plan.reranks:
            with context.trace.step("rerank"):
                await rerank(context, self._models.reranker, timeout_seconds=timeout)
        observe("rerank", context)
        return True

    async def present(self, context: SearchContext) -> None:
        """Build results of the selected hits: with their neighbours, and compressed if requested."""
        await expand(context, self._passages, self._retrieve, self._details)
        if context.request.compress and context.results:
            with context.trace.step("compress"):
                await compress(context, self._models.compressor, timeout_seconds=self._settings.step_timeout_seconds)

    async def resolve_filter(self, organization: Organization, raw: Mapping[str, JsonValue]) -> Filter:
        """Read a `metadata_filter` that selects whole documents.

        Raises:
            InvalidInputError: names the invalid place in it, or a condition on pages.
        """
        tree = parse_filter(raw)
        if speaks_of_pages(tree):
            raise InvalidInputError.of_field(
                "metadata_filter", "`page` belongs to passages. Filter documents by another field."
            )
        return await self._resolve.resolve_filter(organization, tree)

    async def index_types_of(self, organization_id: str, kb_ids: Sequence[str]) -> set[IndexType]:
        """Return the index types of these knowledge bases; those deleted meanwhile have none."""
        read = self._resolve.repositories.knowledge_bases.get
        found = await asyncio.gather(*(read(organization_id, kb_id) for kb_id in kb_ids))
        return {one for knowledge_base in found if knowledge_base for one in knowledge_base.index_types}

    async def require_spus(self, organization: Organization) -> None:
        """Refuse a new question if the SPUs are used up; run no query.

        Raises:
            QuotaExceededError: the organization's SPUs are used up.
        """
        await self._models.embedding.require_spus(organization)

    async def _fill(self, context: SearchContext, refill: Refill, observe: Observer) -> None:
        """Retrieve until the refill policy has enough visible hits."""
        context.depth = context.plan.depth
        while True:
            await self._retrieve.run(context)
            await self._check.run(context)
            await self._compare(context)
            if refill.is_stale(context):
                await self._resolve.read_scopes(context)
                continue
            fuse(context)
            context.texts, context.analysed = {}, {}
            await order_by_lines(context, self._passages)
            observe("fuse", context)
            await select_hits(context, self._passages)
            observe("select", context)
            if refill.is_enough(context):
                return

    async def _compare(self, context: SearchContext) -> None:
        """Add the vector score to chunks found only by the keyword retriever."""
        unknown = [hit for hit in context.hits if hit.scores.vector is None] if context.vector else []
        if not unknown:
            return
        with context.trace.step("compare"):
            try:
                scores = await self._retrieve.scores_of(context, [hit.key for hit in unknown])
            except AnalytiqError as error:
                context.trace.leave_out("compare", error.code, error.detail)
                return
        for hit in unknown:
            hit.scores.vector = scores.get(hit.key)

    async def _count(self, context: SearchContext) -> int:
        """Count the searchable chunks."""
        with context.trace.step("count"):
            return sum(await asyncio.gather(*(self._count_in(scope) for scope in context.scopes)))

    async def _count_in(self, scope: Scope) -> int:
        try:
            return await scope.reader.count(chunk_filter=scope.chunk_filter)
        except TransientError:
            # The vectors are not loaded yet; the entries give the count, except for pages.
            selection = scope.chunk_filter.selection if scope.chunk_filter else None
            document_ids = selection.document_ids if isinstance(selection, DocumentSet) else None
            return (await self._entries.statistics(scope.knowledge_base.id, document_ids=document_ids))[1]


def _response(context: SearchContext, searched: int) -> SearchResponse:
    trace = context.trace
    total, is_at_least = len(context.selected), not context.is_complete
    if is_at_least and not context.plan.may_leave_out:
        total, is_at_least = searched, False
    rewritten = (context.question,) if context.question != context.request.query else ()
    return SearchResponse(
        results=tuple(context.results),
        total_count=total,
        total_count_is_at_least=is_at_least,
        has_more=total > context.plan.wanted,
        searched_chunk_count=searched,
        timings_ms=trace.timings_ms,
        mode=context.plan.mode,
        degraded=tuple(trace.degraded),
        statistics=trace.statistics,
        generated_queries=(*rewritten, *context.imagined),
        sources=sources_of(context.results),
        weights=context.weights if trace.is_fused else None,
    )
