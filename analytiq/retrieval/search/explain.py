"""Why a document is found for a question, or why not: the stages that it must pass, in their order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from analytiq.ingestion.documents.indexing_state import IndexingState, IndexingStates
from analytiq.ingestion.documents.service import Documents
from analytiq.models.document import Document, DocumentState
from analytiq.models.organization import Organization
from analytiq.retrieval.backends.base import Query
from analytiq.retrieval.filters.rendering import render_filter
from analytiq.retrieval.filters.tree import EVERYTHING, And, BuiltInField, Filter, In, evaluate, speaks_of_pages
from analytiq.retrieval.search.candidates import Candidate, Scope
from analytiq.retrieval.search.finding import Finding, Ranking
from analytiq.retrieval.search.plan import RANKED_DEPTH, SearchPlan, plan
from analytiq.retrieval.search.presenting import Presenting, Shown
from analytiq.retrieval.search.request import Degradation, Mode, SearchRequest, SearchResult
from analytiq.retrieval.search.service import Search, with_queries
from analytiq.retrieval.search.trail import Trail
from analytiq.retrieval.search.weights import Weights
from analytiq.settings import SearchSettings


class Stage(StrEnum):
    """What a document must pass to be found, in this order."""

    TAGGED = "tagged"
    EXTRACTED = "extracted"
    INDEXED = "indexed"
    FILTER = "filter"
    MATCHED = "matched"
    THRESHOLD = "threshold"
    NOT_REPEATED = "not_repeated"
    RANKED = "ranked"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether it passed a stage, in words."""

    stage: Stage
    is_passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The stages up to the first that was not passed. `place`: of its best chunk among all, from 1.

    `passages`: the document's own best chunks for the question, whatever else is better.
    """

    document_id: str
    document_name: str
    is_found: bool
    judgements: tuple[Judgement, ...]
    place: int | None = None
    passages: tuple[SearchResult, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    weights: Weights | None = None
    """Of the two legs; None where one of them found nothing."""


class Explain:
    """Follows one document through a search."""

    def __init__(
        self,
        search: Search,
        finding: Finding,
        presenting: Presenting,
        documents: Documents,
        states: IndexingStates,
        settings: SearchSettings,
    ) -> None:
        self._search = search
        self._finding = finding
        self._presenting = presenting
        self._documents = documents
        self._states = states
        self._settings = settings

    async def explain(
        self, organization: Organization, kb_id: str, document_id: str, request: SearchRequest
    ) -> Explanation:
        """Say for each stage whether the document passes it; the question is embedded as for a search.

        Raises:
            NotFoundError: the organization has no such knowledge base or document.
            InvalidInputError: names the field that is wrong.
        """
        chosen = plan(request, self._settings)
        knowledge_base, _ = await self._finding.read(organization.id, kb_id)
        document = await self._documents.get(organization.id, document_id)
        tree = await self._finding.as_meant(organization, request.filter)
        judgements = [_tagged(document, knowledge_base.tag_ids, knowledge_base.name), _extracted(document)]
        if all(item.is_passed for item in judgements):
            judgements.append(await self._indexed(document, kb_id))
            judgements.append(_filtered(document, tree))
        judgements = _to_the_first_failure(judgements)
        if not judgements[-1].is_passed:
            return Explanation(document.id, document.document_name, is_found=False, judgements=tuple(judgements))
        return await self._ranked(organization, kb_id, document, request, chosen, tree, judgements)

    async def _indexed(self, document: Document, kb_id: str) -> Judgement:
        states = {state.kb_id: state for state in await self._states.of_document(document)}
        state = states[kb_id]
        if state.is_searchable:
            newer = "" if state.state is IndexingState.INDEXED else f"; its newest text is not yet: {state.reason}"
            return _passed(Stage.INDEXED, f"{state.chunk_count} chunks are indexed{newer}")
        return _failed(Stage.INDEXED, state.reason or "it is being indexed at this moment")

    async def _ranked(
        self,
        organization: Organization,
        kb_id: str,
        document: Document,
        request: SearchRequest,
        chosen: SearchPlan,
        tree: Filter,
        judgements: list[Judgement],
    ) -> Explanation:
        trail = Trail()
        deep = replace(chosen, wanted=RANKED_DEPTH, depth=RANKED_DEPTH, score_threshold=None, deduplicates=False)
        scopes = await self._search.scopes_of(organization, [kb_id], tree, trail)
        deep = await self._search.weighed(scopes, deep, request.alpha)
        queries = await self._search.queries_of(organization, scopes, deep, trail)
        scopes = with_queries(scopes, queries)
        alone = await self._alone(scopes[0], document, deep, tree, queries, trail)
        passages = await self._passages(request, deep, alone, trail)
        if not alone.checked.candidates:
            judgements.append(_failed(Stage.MATCHED, _nothing_matched(chosen, tree)))
            return _explanation(document, judgements, None, passages, trail, None, is_found=False)
        best = max(item.relevance for item in passages) if passages else 0.0
        judgements.append(_passed(Stage.MATCHED, f"its best chunk has a relevance of {best:.2f}"))
        if chosen.score_threshold is not None:
            judgements.append(_threshold(best, chosen.score_threshold))
        ranking = await self._finding.rank(scopes, deep, queries, tree, trail, depth=deep.depth)
        place = _place(ranking.checked.candidates, document.id)
        shown = await self._presenting.choose(replace(deep, deduplicates=chosen.deduplicates), ranking, trail)
        if chosen.deduplicates and place is not None:
            judgements.append(_not_repeated(shown, document.id))
        if chosen.reranks:
            await self._presenting.rerank(organization, request, deep, shown, trail)
        of_shown = _place(shown.candidates, document.id)
        judgements.append(_rank_judgement(of_shown, request))
        judgements = _to_the_first_failure(judgements)
        is_found = judgements[-1].is_passed
        weights = deep.weights if trail.is_fused else None
        return _explanation(document, judgements, of_shown or place, passages, trail, weights, is_found=is_found)

    async def _alone(
        self,
        scope: Scope,
        document: Document,
        deep: SearchPlan,
        tree: Filter,
        queries: dict[str, Query],
        trail: Trail,
    ) -> Ranking:
        """The document's own chunks for the question."""
        own = And((In(BuiltInField.DOCUMENT_ID, (document.id,)), tree))
        chunk_filter = await self._finding.chunk_filter(scope.knowledge_base, own)
        only = replace(scope, chunk_filter=chunk_filter)
        return await self._finding.rank([only], deep, queries, own, trail, depth=10)

    async def _passages(
        self, request: SearchRequest, deep: SearchPlan, alone: Ranking, trail: Trail
    ) -> list[SearchResult]:
        first = replace(deep, wanted=3, reranks=False)
        shown = await self._presenting.choose(first, alone, trail)
        page = replace(request, skip=0, top_k=3, coalesce_neighbors=0)
        return await self._presenting.results(page, first, alone, shown, trail)


def _explanation(
    document: Document,
    judgements: Sequence[Judgement],
    place: int | None,
    passages: Sequence[SearchResult],
    trail: Trail,
    weights: Weights | None,
    *,
    is_found: bool,
) -> Explanation:
    return Explanation(
        document_id=document.id,
        document_name=document.document_name,
        is_found=is_found,
        judgements=tuple(judgements),
        place=place,
        passages=tuple(passages),
        degraded=tuple(trail.degraded),
        weights=weights,
    )


def _to_the_first_failure(judgements: Sequence[Judgement]) -> list[Judgement]:
    kept: list[Judgement] = []
    for judgement in judgements:
        kept.append(judgement)
        if not judgement.is_passed:
            break
    return kept


def _passed(stage: Stage, detail: str) -> Judgement:
    return Judgement(stage, is_passed=True, detail=detail)


def _failed(stage: Stage, detail: str) -> Judgement:
    return Judgement(stage, is_passed=False, detail=detail)


def _tagged(document: Document, tag_ids: Sequence[str], kb_name: str) -> Judgement:
    shared = set(document.tag_ids) & set(tag_ids)
    if shared:
        return _passed(Stage.TAGGED, f"it shares {len(shared)} tag(s) with {kb_name!r}")
    return _failed(
        Stage.TAGGED,
        f"it shares no tag with {kb_name!r}: give it one of that knowledge base's",
    )


def _extracted(document: Document) -> Judgement:
    if document.state is DocumentState.FAILED and document.text_id is None:
        detail = document.error.detail if document.error else "for an unknown reason"
        return _failed(Stage.EXTRACTED, f"its text could not be extracted: {detail}")
    if document.text_id is None:
        state = document.state.value
        return _failed(Stage.EXTRACTED, f"its text is not extracted yet ({state})")
    if not document.character_count:
        return _failed(Stage.EXTRACTED, "it has no extractable text")
    return _passed(Stage.EXTRACTED, f"{document.character_count:,} characters were extracted")


def _filtered(document: Document, tree: Filter) -> Judgement:
    """Pages are of chunks, and judged with them: what the filter says of them counts as passed here."""
    failing = [part for part in _parts(tree) if not speaks_of_pages(part) and not evaluate(part, document)]
    if failing:
        told = "; ".join(render_filter(part) for part in failing[:3])
        return _failed(Stage.FILTER, f"the filter leaves it out: {told}")
    detail = "there is no filter" if tree == EVERYTHING else "it passes the filter"
    return _passed(Stage.FILTER, detail)


def _parts(tree: Filter) -> tuple[Filter, ...]:
    return tuple(part for operand in tree.operands for part in _parts(operand)) if isinstance(tree, And) else (tree,)


def _nothing_matched(chosen: SearchPlan, tree: Filter) -> str:
    if speaks_of_pages(tree):
        return "none of its chunks is on the pages that the filter asks for"
    if chosen.mode is Mode.LEXICAL:
        return "none of its chunks has a word of the question"
    return "none of its chunks was found at all"


def _threshold(best: float, threshold: float) -> Judgement:
    is_passed = best >= threshold
    compared = "reaches" if is_passed else "is below"
    return Judgement(
        Stage.THRESHOLD,
        is_passed=is_passed,
        detail=f"a relevance of {best:.2f} {compared} the least of {threshold:.2f}",
    )


def _not_repeated(shown: Shown, document_id: str) -> Judgement:
    if _place(shown.candidates, document_id) is None:
        return _failed(
            Stage.NOT_REPEATED,
            "each of its chunks repeats a better one of another document; ask with `deduplicate` false",
        )
    return _passed(Stage.NOT_REPEATED, "it is not only a repetition of another document")


def _rank_judgement(place: int | None, request: SearchRequest) -> Judgement:
    first, last = request.skip + 1, request.skip + request.top_k
    if place is None:
        return _failed(Stage.RANKED, f"{RANKED_DEPTH:,} chunks are better; ask for less by a filter")
    if first <= place <= last:
        return _passed(Stage.RANKED, f"its best chunk is number {place}")
    return _failed(
        Stage.RANKED,
        f"its best chunk is number {place}; those from {first} to {last} were asked for",
    )


def _place(candidates: Sequence[Candidate], document_id: str) -> int | None:
    return next((place for place, item in enumerate(candidates, start=1) if item.document_id == document_id), None)
