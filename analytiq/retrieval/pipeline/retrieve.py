"""Retrieve: queries the vector and the keyword retriever concurrently, over every knowledge base of a search."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

import structlog

from analytiq.errors import (
    AnalytiqError,
    InvalidInputError,
    NotFoundError,
    QuotaExceededError,
    StoreLoadingError,
    TransientError,
)
from analytiq.retrieval.pipeline.context import Hit, Key, Scope, SearchContext
from analytiq.retrieval.pipeline.fuse import above_floor, floors_of
from analytiq.retrieval.pipeline.request import HitScores
from analytiq.telemetry import traces

log = structlog.get_logger(__name__)

BUILDING = "keyword_index_building"
"""Code of a search whose keyword index lacks the latest commits."""
THE_CALLERS_OWN = (InvalidInputError, NotFoundError, QuotaExceededError)
"""Errors that the other retriever cannot compensate: the request is invalid, or the quota is used up."""

Ask = Callable[[SearchContext, Scope], Awaitable[list[Hit]]]


class Retrieve:
    """Queries the retrievers of a plan."""

    def __init__(self, *, has_keywords: bool, timeout_seconds: float) -> None:
        self.has_keywords = has_keywords
        """True if this installation has a keyword index."""
        self._timeout_seconds = timeout_seconds

    async def run(self, context: SearchContext) -> None:
        """Fill in the hits of each retriever, to the context's depth; a failed retriever is left out.

        Raises:
            AnalytiqError: every retriever of the plan failed; the vector retriever's error.
        """
        asks: dict[str, Ask] = {}
        if context.queries:
            asks["vector"] = self._vector
        if context.plan.uses_keywords and self.has_keywords:
            asks["lexical"] = self._keyword
        context.is_behind = False
        with context.trace.step("find"):
            outcomes = await asyncio.gather(*(self._ask(name, ask, context) for name, ask in asks.items()))
        found = {name: one for name, one in zip(asks, outcomes, strict=True) if not isinstance(one, AnalytiqError)}
        failed = {name: one for name, one in zip(asks, outcomes, strict=True) if isinstance(one, AnalytiqError)}
        has_nothing = not any(hits for lists in found.values() for hits in lists)
        if failed and (len(failed) == len(asks) or (context.is_behind and has_nothing)):
            raise next(iter(failed.values()))
        for name, error in failed.items():
            context.trace.leave_out(name, error.code, error.detail)
        of_vectors, of_keywords = found.get("vector", []), found.get("lexical", [])
        context.scales = floors_of(context.scopes, of_vectors)
        context.vector = _best_first(
            of_vectors, lambda hit: above_floor(hit.scores.vector or 0.0, context.scales.get(hit.kb_id))
        )
        context.keyword = _best_first(of_keywords, lambda hit: hit.scores.lexical or 0.0)
        context.is_whole = all(len(hits) < context.depth for lists in found.values() for hits in lists)
        context.trace.statistics.vector_candidates = len(context.vector)
        context.trace.statistics.lexical_candidates = len(context.keyword)

    async def scores_of(self, context: SearchContext, keys: Sequence[Key]) -> dict[Key, float]:
        """Return the exact vector scores of chunks that the vector retriever has not found; this is cheap."""
        scores: dict[Key, float] = {}
        for scope in context.scopes:
            kb = scope.knowledge_base
            query = context.queries.get(kb.embedding_model)
            chunks = [(generation_id, index) for kb_id, generation_id, index in keys if kb_id == kb.id]
            if chunks and query is not None:
                found = await scope.reader.scores(query, chunks)
                scores |= {(kb.id, *chunk): score for chunk, score in found.items()}
        return scores

    async def _ask(self, name: str, ask: Ask, context: SearchContext) -> list[list[Hit]] | AnalytiqError:
        began = perf_counter()
        try:
            with traces.span(f"search.{name}", knowledge_bases=len(context.scopes), depth=context.depth):
                async with asyncio.timeout(self._timeout_seconds):
                    return await asyncio.gather(*(ask(context, scope) for scope in context.scopes))
        except THE_CALLERS_OWN:
            raise
        except TimeoutError:
            return TransientError(f"The retriever took longer than {self._timeout_seconds:g} s.", code="timeout")
        except AnalytiqError as error:
            return error
        except Exception:
            # The other retriever may answer; the cause of this failure is for the log and not for the caller.
            log.exception("search.retriever_failed", retriever=name)
            return TransientError(
                "The retriever failed unexpectedly. The server's log has the reason.", code="internal_error"
            )
        finally:
            timings = context.trace.timings_ms
            timings[name] = round(timings.get(name, 0.0) + (perf_counter() - began) * 1000, 2)

    async def _vector(self, context: SearchContext, scope: Scope) -> list[Hit]:
        kb = scope.knowledge_base
        query = context.queries[kb.embedding_model]
        found = await scope.reader.vector_search(query, limit=context.depth, chunk_filter=scope.chunk_filter)
        return [
            Hit(kb.id, one.generation_id, one.document_id, one.chunk_index, HitScores(one.relevance)) for one in found
        ]

    async def _keyword(self, context: SearchContext, scope: Scope) -> list[Hit]:
        """Search the keyword index; during a build, the part built so far."""
        kb, chunk_filter = scope.knowledge_base, scope.chunk_filter
        try:
            found = await scope.reader.keyword_search(context.question, limit=context.depth, chunk_filter=chunk_filter)
        except StoreLoadingError:
            context.is_behind = True
            context.trace.leave_out(
                "lexical",
                BUILDING,
                f"The keyword index of the knowledge base {kb.name!r} is being built: keyword search does not find the"
                " latest documents yet.",
            )
            found = await scope.reader.keyword_search_behind(
                context.question, limit=context.depth, chunk_filter=chunk_filter
            )
        return [
            Hit(kb.id, one.generation_id, one.document_id, one.chunk_index, HitScores(lexical=one.score))
            for one in found
        ]


def _best_first(lists: Sequence[Sequence[Hit]], score: Callable[[Hit], float]) -> Sequence[Hit]:
    """Merge sorted lists into one, best first; a single list stays unchanged."""
    if len(lists) == 1:
        return lists[0]
    together = [hit for one in lists for hit in one]
    together.sort(key=lambda hit: (-score(hit), hit.document_id, hit.chunk_index, hit.kb_id))
    return together
