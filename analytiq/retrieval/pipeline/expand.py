"""Expand: cuts the requested page and adds the neighbours and the section of each match, as results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytiq.errors import AnalytiqError
from analytiq.models.document import DocumentDetails
from analytiq.models.index_types import ChunkCounts, index_type_at, number_of
from analytiq.retrieval.pipeline.context import Hit, SearchContext
from analytiq.retrieval.pipeline.details import Details, WantedDetails
from analytiq.retrieval.pipeline.highlight import Highlighter
from analytiq.retrieval.pipeline.passages import PassageReader
from analytiq.retrieval.pipeline.request import SearchResult, Section, SourceSummary
from analytiq.retrieval.pipeline.retrieve import Retrieve
from analytiq.retrieval.pipeline.sections import read_sections

NO_COUNTS = ChunkCounts(())


async def expand(context: SearchContext, passages: PassageReader, retrieve: Retrieve, details: Details) -> None:
    """Fill in the results, with the details of their documents that the request asks for."""
    own = context.request.coalesce_neighbors
    neighbors = {
        scope.knowledge_base.id: scope.knowledge_base.coalesce_neighbors if own is None else own
        for scope in context.scopes
    }
    page = context.selected[context.request.skip : context.plan.wanted]
    shown = with_neighbors(page, neighbors=neighbors, chunk_counts=context.chunk_counts)
    await _read_neighbors(context, [hit for hit in shown if not hit.is_matched], passages, retrieve)
    highlighter = Highlighter(context.question)
    documents = {hit.document_id: context.members[hit.document_id] for hit in shown}
    wanted = WantedDetails.of(context.request.include)
    with context.trace.step("details"):
        described = await details.of(context.organization.id, documents, context.tag_names, wanted) if documents else {}
    ranks = {hit.key: rank for rank, hit in enumerate(page, start=context.request.skip + 1)}
    sections = await read_sections(context, passages, page) if context.request.include_section else {}
    shown = [hit for hit in shown if hit.key in context.texts]
    context.results = [
        _result(
            context, hit, highlighter, _Beside(ranks.get(hit.key), sections.get(hit.key), described[hit.document_id])
        )
        for hit in shown
    ]


def with_neighbors(
    hits: Sequence[Hit], *, neighbors: Mapping[str, int], chunk_counts: Mapping[str, ChunkCounts]
) -> list[Hit]:
    """Add the neighbours of matches, best first: adjacent windows become one, in the document's order.

    No window leaves its document and index type (`chunk_counts`: by generation id), and no chunk appears twice.
    `neighbors`: the number of chunks on each side, by knowledge base.
    """
    windows = _windows(hits, neighbors, chunk_counts)
    hit_at = {(hit.generation_id, hit.chunk_index): hit for hit in hits}
    shown: dict[tuple[str, int], Hit] = {}
    for hit in hits:
        if (hit.generation_id, hit.chunk_index) in shown:
            continue
        start, stop = next(window for window in windows[hit.generation_id] if window[0] <= hit.chunk_index < window[1])
        for index in range(start, stop):
            place = (hit.generation_id, index)
            neighbor = Hit(hit.kb_id, hit.generation_id, hit.document_id, index, is_matched=False)
            shown[place] = hit_at.get(place, neighbor)
    return list(shown.values())


def sources_of(results: Sequence[SearchResult]) -> tuple[SourceSummary, ...]:
    """Summarize the documents among the matches, ordered by their best match."""
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


async def _read_neighbors(
    context: SearchContext, neighbors: Sequence[Hit], passages: PassageReader, retrieve: Retrieve
) -> None:
    """Read the texts of neighbours, and their relevance if available."""
    if not neighbors:
        return
    keys = [hit.key for hit in neighbors]
    with context.trace.step("neighbours"):
        context.texts |= await passages.read(context, keys)
        try:
            scores = await retrieve.scores_of(context, keys)
        except AnalytiqError:
            return
        for hit in neighbors:
            hit.scores.vector = scores.get(hit.key)


def _windows(
    hits: Sequence[Hit], neighbors: Mapping[str, int], chunk_counts: Mapping[str, ChunkCounts]
) -> dict[str, list[tuple[int, int]]]:
    """Map generation ids to disjoint ranges [start, stop) of chunks, adjacent ones merged."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for hit in sorted(hits, key=lambda hit: hit.chunk_index):
        alike = chunk_counts.get(hit.generation_id, NO_COUNTS).around(hit.chunk_index)
        beside = neighbors[hit.kb_id]
        start = max(alike.start, hit.chunk_index - beside)
        stop = min(alike.stop, hit.chunk_index + beside + 1)
        merged = ranges.setdefault(hit.generation_id, [])
        if merged and beside and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return ranges


@dataclass(frozen=True, slots=True)
class _Beside:
    """The parts of a result that come from elsewhere than its chunk."""

    rank: int | None
    section: Section | None
    details: DocumentDetails


def _result(context: SearchContext, hit: Hit, highlighter: Highlighter, beside: _Beside) -> SearchResult:
    passage = context.texts[hit.key]
    marked = highlighter.spans_in(context.analysed[hit.key]) if hit.is_matched else ()
    return SearchResult(
        kb_id=hit.kb_id,
        content=passage.chunk_text,
        source=context.members[hit.document_id].document_name,
        document_id=passage.document_id,
        relevance=hit.relevance,
        chunk_index=number_of(passage.chunk_index),
        index_type=index_type_at(passage.chunk_index),
        is_matched=hit.is_matched,
        first_page=passage.first_page,
        last_page=passage.last_page,
        start=passage.start,
        end=passage.end,
        scores=hit.scores,
        matched_terms=tuple(dict.fromkeys(passage.chunk_text[start:end].casefold() for start, end in marked)),
        highlights=marked,
        text_hash=context.text_hashes.get(hit.generation_id) or None,
        chunk_id=f"{passage.generation_id}-{passage.chunk_index}",
        rank=beside.rank,
        token_count=passage.token_count,
        heading_path=passage.heading_path,
        page_name=passage.page_name,
        section=beside.section,
        source_url=beside.details.source_url,
        tags=beside.details.tags,
        metadata=beside.details.metadata,
    )
