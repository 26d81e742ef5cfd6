"""From ranked candidates to passages: texts, near-identical ones left out, reranked, with neighbours and highlights."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from analytiq.errors import AnalytiqError
from analytiq.models.organization import Organization
from analytiq.models.vector import Passage
from analytiq.retrieval.search import coalescing
from analytiq.retrieval.search.candidates import Candidate, Key, Scope
from analytiq.retrieval.search.deduplication import duplicates
from analytiq.retrieval.search.finding import Ranking
from analytiq.retrieval.search.highlight import Highlighter
from analytiq.retrieval.search.legs import Legs
from analytiq.retrieval.search.plan import SearchPlan
from analytiq.retrieval.search.request import HitScores, SearchRequest, SearchResult, SourceSummary
from analytiq.retrieval.search.steps import ModelSteps
from analytiq.retrieval.search.trail import Trail
from analytiq.storage.repositories.vectors import VectorRepository

RERANK_DEPTH = 50
"""Candidates that a reranker reads: the same for every page, so that pages fit each other."""


@dataclass(slots=True)
class Shown:
    """Candidates that may be shown, best first, with their texts."""

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    is_whole: bool = False
    """Every candidate was looked at: none of those that are not among them may be shown."""
    passages: dict[Key, Passage] = field(default_factory=dict[Key, Passage])


class Presenting:
    """Makes results of candidates."""

    def __init__(
        self, vectors: VectorRepository, legs: Legs, steps: ModelSteps, *, step_timeout_seconds: float
    ) -> None:
        self._vectors = vectors
        self._legs = legs
        self._steps = steps
        self._step_timeout_seconds = step_timeout_seconds

    async def choose(self, plan: SearchPlan, ranking: Ranking, trail: Trail) -> Shown:
        """The first candidates that are neither near-identical to a better one nor below the threshold.

        Where a reranker is to follow, the threshold is for its scores, and is left to it.
        """
        shown = Shown()
        candidates = ranking.checked.candidates
        if plan.score_threshold is not None and not plan.reranks:
            candidates = tuple(item for item in candidates if item.relevance >= plan.score_threshold)
            trail.count(below_threshold=len(ranking.checked.candidates) - len(candidates))
        trail.count(duplicates=0)
        wanted = max(plan.needed, RERANK_DEPTH) if plan.reranks else plan.needed
        window = max(wanted * 2, 20)
        for place in range(0, len(candidates), window):
            if len(shown.candidates) >= wanted:
                break
            await self._add(shown, ranking.scopes, candidates[place : place + window], plan, trail)
        else:
            shown.is_whole = ranking.is_whole or ranking.is_below(plan.score_threshold)
        return shown

    async def _add(
        self, shown: Shown, scopes: Sequence[Scope], part: Sequence[Candidate], plan: SearchPlan, trail: Trail
    ) -> None:
        with trail.step("passages"):
            passages = await self._read(scopes, [item.key for item in part])
        # A row may be gone by now: its document was re-indexed, and is found at its new place by the next search.
        added = [item for item in part if item.key in passages]
        shown.passages |= passages
        shown.candidates += added
        if not plan.deduplicates:
            return
        with trail.step("deduplicate"):
            texts = [shown.passages[item.key].chunk_text for item in shown.candidates]
            repeated = duplicates(texts)
        shown.candidates = [item for place, item in enumerate(shown.candidates) if place not in repeated]
        trail.count(duplicates=trail.statistics.duplicates + len(repeated))

    async def rerank(
        self, organization: Organization, request: SearchRequest, plan: SearchPlan, shown: Shown, trail: Trail
    ) -> None:
        """Put the first RERANK_DEPTH in the reranker's order; one paid call a search.

        With a threshold only what the reranker has read, and scored high enough, stays; where it fails, what the search
        itself found high enough.
        """
        scores = await self._scores(organization, request, plan, shown, trail)
        if scores is not None:
            read, rest = shown.candidates[: len(scores)], shown.candidates[len(scores) :]
            scored = [
                replace(item, scores=replace(item.scores, rerank=min(1.0, max(0.0, score))))
                for item, score in zip(read, scores, strict=True)
            ]
            scored.sort(key=lambda item: -(item.scores.rerank or 0.0))
            trail.count(reranked=len(scored))
            shown.candidates = scored if plan.score_threshold is not None else [*scored, *rest]
        if plan.score_threshold is not None:
            above = [item for item in shown.candidates if item.relevance >= plan.score_threshold]
            trail.count(below_threshold=len(shown.candidates) - len(above))
            shown.candidates = above
            # What the reranker has not read is not shown on any page.
            shown.is_whole = True

    async def _scores(
        self, organization: Organization, request: SearchRequest, plan: SearchPlan, shown: Shown, trail: Trail
    ) -> list[float] | None:
        """Of the first candidates; None where there is no reranker or it fails, which is noted."""
        if self._steps.reranker is None:
            trail.lack("rerank", "not_configured", "no reranking model is configured; the order is that of the search")
            return None
        texts = [shown.passages[item.key].chunk_text for item in shown.candidates[:RERANK_DEPTH]]
        if not texts:
            return []
        try:
            async with asyncio.timeout(self._step_timeout_seconds):
                return await self._steps.reranker.rerank(organization, plan.query, texts, model=request.rerank_model)
        except TimeoutError:
            trail.lack("rerank", "timeout", f"it took longer than {self._step_timeout_seconds:g} s")
        except AnalytiqError as error:
            trail.degrade("rerank", error)
        return None

    async def results(
        self, request: SearchRequest, plan: SearchPlan, ranking: Ranking, shown: Shown, trail: Trail
    ) -> list[SearchResult]:
        """The page that was asked for, each match with its neighbours beside it."""
        hits = shown.candidates[request.skip : plan.wanted]
        neighbors = {
            scope.knowledge_base.id: (
                scope.knowledge_base.coalesce_neighbors
                if request.coalesce_neighbors is None
                else request.coalesce_neighbors
            )
            for scope in ranking.scopes
        }
        places = coalescing.plan(hits, neighbors=neighbors, chunk_counts=ranking.checked.chunk_counts)
        beside = [_key(place) for place in places if place.hit is None]
        passages, relevances = await self._neighbours(ranking.scopes, shown, beside, trail)
        highlighter = Highlighter(plan.query)
        results: list[SearchResult] = []
        for place in places:
            passage = passages.get(_key(place))
            if passage is None:
                continue
            scores = place.hit.scores if place.hit else HitScores(vector=relevances.get(_key(place)))
            candidate = place.hit or Candidate(
                place.kb_id, place.generation_id, place.document_id, place.chunk_index, scores
            )
            name = ranking.checked.names[place.document_id]
            marked = highlighter.spans(passage.chunk_text) if place.hit is not None else ()
            result = _result(passage, candidate, name, marked, is_matched=place.hit is not None)
            text_hash = ranking.checked.text_hashes.get(place.generation_id) or None
            results.append(replace(result, text_hash=text_hash))
        return results

    async def _neighbours(
        self, scopes: Sequence[Scope], shown: Shown, beside: Sequence[Key], trail: Trail
    ) -> tuple[Mapping[Key, Passage], Mapping[Key, float]]:
        if not beside:
            return shown.passages, {}
        with trail.step("neighbours"):
            passages = await self._read(scopes, beside)
            asked = [Candidate(kb_id, generation_id, "", chunk_index) for kb_id, generation_id, chunk_index in beside]
            try:
                relevances = await self._legs.vector_scores(scopes, asked)
            except AnalytiqError:
                relevances = {}
        return {**shown.passages, **passages}, relevances

    async def _read(self, scopes: Sequence[Scope], keys: Sequence[Key]) -> dict[Key, Passage]:
        async def of(scope: Scope) -> dict[Key, Passage]:
            kb = scope.knowledge_base
            wanted = [(generation_id, place) for kb_id, generation_id, place in keys if kb_id == kb.id]
            found = await self._vectors.passages(kb.organization_id, kb.id, wanted)
            return {(kb.id, *place): passage for place, passage in found.items()}

        parts = await asyncio.gather(*(of(scope) for scope in scopes))
        return {key: passage for part in parts for key, passage in part.items()}

    async def compress(
        self,
        organization: Organization,
        request: SearchRequest,
        plan: SearchPlan,
        results: list[SearchResult],
        trail: Trail,
    ) -> list[SearchResult]:
        """The results of which something answers, each with the sentences that do as its excerpt (seed 000)."""
        compressor = self._steps.compressor
        if compressor is None:
            trail.lack("compress", "not_configured", "no model is configured that could shorten passages")
            return results
        try:
            async with asyncio.timeout(self._step_timeout_seconds):
                excerpts = await compressor.compress(
                    organization, plan.query, [result.content for result in results], model=request.model
                )
        except TimeoutError:
            trail.lack("compress", "timeout", f"it took longer than {self._step_timeout_seconds:g} s")
            return results
        except AnalytiqError as error:
            trail.degrade("compress", error)
            return results
        kept = [
            replace(result, excerpt=excerpt)
            for result, excerpt in zip(results, excerpts, strict=True)
            if excerpt.strip()
        ]
        trail.count(without_excerpt=len(results) - len(kept))
        return kept


def sources_of(results: Sequence[SearchResult]) -> tuple[SourceSummary, ...]:
    """The documents among the matches, in the order of their best one."""
    by_document: dict[str, list[SearchResult]] = {}
    for result in results:
        if result.is_matched:
            by_document.setdefault(result.document_id, []).append(result)
    return tuple(
        SourceSummary(
            document_id=document_id,
            source=of_document[0].source,
            chunk_count=len(of_document),
            average_relevance=sum(result.relevance for result in of_document) / len(of_document),
        )
        for document_id, of_document in by_document.items()
    )


def _key(place: coalescing.Place) -> Key:
    return place.kb_id, place.generation_id, place.chunk_index


def _result(
    passage: Passage, candidate: Candidate, name: str, marked: tuple[tuple[int, int], ...], *, is_matched: bool
) -> SearchResult:
    return SearchResult(
        kb_id=candidate.kb_id,
        content=passage.chunk_text,
        source=name,
        document_id=passage.document_id,
        relevance=candidate.relevance,
        chunk_index=passage.chunk_index,
        is_matched=is_matched,
        first_page=passage.first_page,
        last_page=passage.last_page,
        start=passage.start,
        end=passage.end,
        scores=candidate.scores,
        matched_terms=tuple(dict.fromkeys(passage.chunk_text[start:end].casefold() for start, end in marked)),
        highlights=marked,
    )
