"""Explanation of a document's presence or absence in a search: the stages that it must pass, in order."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from analytiq.errors import NotFoundError
from analytiq.models.document import Document, DocumentState
from analytiq.models.organization import Organization
from analytiq.retrieval.filters.rendering import render_filter
from analytiq.retrieval.filters.tree import EVERYTHING, And, BuiltInField, Filter, In, evaluate, speaks_of_pages
from analytiq.retrieval.pipeline.context import SearchContext
from analytiq.retrieval.pipeline.plan import RANKED_DEPTH, plan
from analytiq.retrieval.pipeline.request import Degradation, Mode, SearchRequest, SearchResult
from analytiq.retrieval.pipeline.resolve import Resolve
from analytiq.retrieval.pipeline.search import Search
from analytiq.retrieval.pipeline.weights import Weights
from analytiq.settings import SearchSettings

PASSAGES = 3
"""Passages of the document that are shown, regardless of better ones elsewhere."""
OWN_DEPTH = 10
"""Chunks requested of the document alone."""


class Stage(StrEnum):
    """A stage that a document must pass to be found, in this order."""

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
    """The verdict on a stage, with its reason in words."""

    stage: Stage
    is_passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The stages up to the first failed one. `place`: rank of its best chunk among all, from 1.

    `passages`: the document's own best chunks for the question, regardless of better ones elsewhere.
    """

    document_id: str
    document_name: str
    is_found: bool
    judgements: tuple[Judgement, ...]
    place: int | None = None
    passages: tuple[SearchResult, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    weights: Weights | None = None
    """Weights of the two retrievers; None if one of them found nothing."""


class StandingInKnowledgeBase(Protocol):
    """A document's state in one of its knowledge bases; `state` is "indexed" once its newest text is."""

    @property
    def kb_id(self) -> str:
        """The knowledge base."""
        ...

    @property
    def state(self) -> str:
        """The state by name."""
        ...

    @property
    def is_searchable(self) -> bool:
        """True if a text of the document is indexed."""
        ...

    @property
    def reason(self) -> str | None:
        """Reason why the newest text is not indexed."""
        ...

    @property
    def chunk_count(self) -> int:
        """The number of its indexed chunks."""
        ...


class IndexingStates(Protocol):
    """Reader of documents' indexing states; implemented by ingestion."""

    async def of_document(self, document: Document) -> Sequence[StandingInKnowledgeBase]:
        """Return the document's state in every knowledge base that shares a tag with it."""
        ...


@dataclass(slots=True)
class _Places:
    """An observer of a search: the document's place among its hits, from 1, after each step."""

    document_id: str
    after: dict[str, int | None] = field(default_factory=dict[str, int | None])

    def __call__(self, step: str, context: SearchContext) -> None:
        hits = context.hits if step == "fuse" else context.selected
        self.after[step] = next(
            (place for place, hit in enumerate(hits, 1) if hit.document_id == self.document_id), None
        )


class Explain:
    """Follows one document through a search."""

    def __init__(self, *, search: Search, resolve: Resolve, states: IndexingStates, settings: SearchSettings) -> None:
        self._search = search
        self._documents = resolve.repositories.announced.documents
        self._resolve = resolve
        self._states = states
        self._settings = settings

    async def explain(
        self, organization: Organization, kb_id: str, document_id: str, request: SearchRequest
    ) -> Explanation:
        """Judge the document at each stage; the question is embedded as for a search.

        Raises:
            NotFoundError: the organization has no such knowledge base or document.
            InvalidInputError: names the invalid field.
        """
        # The question stays as asked: no model rewrites it or imagines an answer.
        request = replace(request, hyde=False, history=(), compress=False)
        chosen = plan(request, self._settings)
        context = SearchContext(organization, request, chosen, [kb_id])
        await self._resolve.run(context)
        knowledge_base = context.scopes[0].knowledge_base
        document = await self._documents.get(organization.id, document_id)
        if document is None:
            raise NotFoundError(f"No document has the id {document_id!r}. List the documents to find it.")
        judgements = [_tagged(document, knowledge_base.tag_ids, knowledge_base.name), _extracted(document)]
        if all(item.is_passed for item in judgements):
            judgements.append(await self._indexed(document, kb_id))
            judgements.append(_filtered(document, context.filter))
        judgements = _to_the_first_failure(judgements)
        if not judgements[-1].is_passed:
            return Explanation(document.id, document.document_name, is_found=False, judgements=tuple(judgements))
        return await self._ranked(context, document, judgements)

    async def _indexed(self, document: Document, kb_id: str) -> Judgement:
        states = {state.kb_id: state for state in await self._states.of_document(document)}
        state = states[kb_id]
        if state.is_searchable:
            newer = "" if state.state == "indexed" else f"; its newest text is not yet: {state.reason}"
            return _passed(Stage.INDEXED, f"{state.chunk_count} chunks are indexed{newer}")
        return _failed(Stage.INDEXED, state.reason or "it is being indexed at this moment")

    async def _ranked(self, asked: SearchContext, document: Document, judgements: list[Judgement]) -> Explanation:
        """Search the document's chunks alone, and then everything, as deep as the order is certain."""
        request = asked.request
        alone = await self._alone(asked, document)
        if not alone.hits:
            judgements.append(_failed(Stage.MATCHED, _nothing_matched(asked)))
            return _explanation(document, judgements, None, alone, None)
        best = max((item.relevance for item in alone.results), default=0.0)
        judgements.append(_passed(Stage.MATCHED, f"its best chunk has a relevance of {best:.2f}"))
        if request.score_threshold is not None:
            judgements.append(_threshold(best, request.score_threshold))
        places = _Places(document.id)
        deep = SearchContext(
            asked.organization,
            replace(request, score_threshold=None),
            replace(asked.plan, wanted=RANKED_DEPTH, depth=RANKED_DEPTH, may_leave_out=True),
            asked.kb_ids,
            trace=alone.trace,
            queries=alone.queries,
        )
        await self._search.run(deep, max_depth=RANKED_DEPTH, observe=places)
        if asked.plan.deduplicates and places.after["fuse"] is not None:
            judgements.append(_not_repeated(places.after["select"]))
        place = places.after["rerank"]
        judgements.append(_rank_judgement(place, request))
        judgements = _to_the_first_failure(judgements)
        return _explanation(document, judgements, place or places.after["fuse"], alone, deep)

    async def _alone(self, asked: SearchContext, document: Document) -> SearchContext:
        """Search the document's own chunks; the results are its best ones."""
        context = SearchContext(
            asked.organization,
            replace(
                asked.request,
                filter=And((In(BuiltInField.DOCUMENT_ID, (document.id,)), asked.filter)),
                score_threshold=None,
                skip=0,
                coalesce_neighbors=0,
            ),
            replace(asked.plan, wanted=PASSAGES, depth=OWN_DEPTH, deduplicates=False, reranks=False),
            asked.kb_ids,
            trace=asked.trace,
        )
        if await self._search.run(context, max_depth=OWN_DEPTH):
            await self._search.present(context)
        return context


def _explanation(
    document: Document,
    judgements: Sequence[Judgement],
    place: int | None,
    alone: SearchContext,
    deep: SearchContext | None,
) -> Explanation:
    return Explanation(
        document_id=document.id,
        document_name=document.document_name,
        is_found=judgements[-1].is_passed,
        judgements=tuple(judgements),
        place=place,
        passages=tuple(alone.results),
        degraded=tuple(alone.trace.degraded),
        weights=deep.weights if deep is not None and deep.trace.is_fused else None,
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
    """Judge the filter; conditions on pages count as passed here, and are judged with the chunks."""
    failing = [part for part in _parts(tree) if not speaks_of_pages(part) and not evaluate(part, document)]
    if failing:
        told = "; ".join(render_filter(part) for part in failing[:3])
        return _failed(Stage.FILTER, f"the filter leaves it out: {told}")
    detail = "there is no filter" if tree == EVERYTHING else "it passes the filter"
    return _passed(Stage.FILTER, detail)


def _parts(tree: Filter) -> tuple[Filter, ...]:
    return tuple(part for operand in tree.operands for part in _parts(operand)) if isinstance(tree, And) else (tree,)


def _nothing_matched(asked: SearchContext) -> str:
    if speaks_of_pages(asked.filter):
        return "none of its chunks is on the pages that the filter asks for"
    if asked.plan.mode is Mode.LEXICAL:
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


def _not_repeated(place: int | None) -> Judgement:
    if place is None:
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
