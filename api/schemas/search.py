"""Request and response bodies of search."""

import re
from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue

from analytiq.errors import InvalidInputError
from analytiq.models.index_types import IndexType
from analytiq.retrieval.filters.parser import combine
from analytiq.retrieval.pipeline.details import SMALL, WantedDetails
from analytiq.retrieval.pipeline.explain import Stage
from analytiq.retrieval.pipeline.request import (
    Fusion,
    Mode,
    Preset,
    SearchRequest,
    Turn,
)
from api.schemas.chunking import SearchedTypes
from api.schemas.wire import ModelName, RequestBody, ResponseBody


def _aware(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("Must be within the years 1 to 9999 in UTC.") from error


def _written(value: object) -> object:
    """Refuse numbers, since a mistyped year would pass as seconds or milliseconds since 1970."""
    if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value)):
        raise ValueError("Write a time such as 2026-01-31T12:00:00Z.")
    return value


_NUMBER = re.compile(r"\s*[-+]?[\d._]*(?:[eE][-+]?\d+)?\s*")

Time = Annotated[datetime, BeforeValidator(_written), AfterValidator(_aware)]
"""RFC 3339; without an offset it is UTC."""


_OPTIONS = {field.name for field in fields(SearchRequest)} - {"filter", "history"}
"""Fields of a search with the same name and type in the API and the library."""


def _known_details(include: tuple[str, ...]) -> tuple[str, ...]:
    try:
        WantedDetails.of(include)
    except InvalidInputError as error:
        raise ValueError(error.errors[0].reason) from error
    return include


Included = Annotated[
    tuple[Annotated[str, Field(max_length=1000)], ...],
    Field(
        max_length=50,
        description="Details of each passage's document: `tags`, `metadata` (all), or `metadata.<key>`. "
        "Default: `tags` and `metadata.label`",
    ),
    AfterValidator(_known_details),
]


class HistoryTurn(RequestBody):
    """An earlier message of the conversation."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(max_length=20_000)]


_EXAMPLE: dict[str, JsonValue] = {
    "query": "What are the payment terms?",
    "top_k": 5,
    "skip": 0,
    "metadata_filter": {"document_name": "invoice-2024-001.pdf"},
    "upload_date_from": "2024-01-01T00:00:00Z",
    "upload_date_to": "2027-12-31T23:59:59Z",
    "coalesce_neighbors": 2,
}


class SearchBody(RequestBody):
    """A search in a knowledge base. Omitted fields have the value of the preset, else the default."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [_EXAMPLE, {"query": "INV-2024/00123", "mode": "lexical"}, {"query": "notice", "alpha": 0.3}]
        },
    )

    query: Annotated[str, Field(min_length=1, max_length=20_000)]
    top_k: Annotated[int, Field(ge=1, le=100)] = 5
    skip: Annotated[int, Field(ge=0)] = 0
    document_ids: list[str] | None = Field(None, description="Search these documents only; an empty list finds nothing")
    metadata_filter: dict[str, JsonValue] | None = None
    upload_date_from: Time | None = None
    upload_date_to: Time | None = None
    coalesce_neighbors: Annotated[
        int | None,
        Field(ge=0, le=5, description="Neighbors of each match to include; default: the knowledge base's setting"),
    ] = None
    preset: Preset | None = Field(None, description="A retrieval preset; other fields override it")
    mode: Mode | None = Field(None, description="Vector search, keyword search, or both (default)")
    fusion: Fusion | None = Field(
        None, description="Fusion of both lists: weighted scores (default) or reciprocal ranks"
    )
    alpha: Annotated[
        float | None,
        Field(ge=0, le=1, description="Weight of vector search, 0 to 1. Default: adaptive, at most 0.5"),
    ] = None
    score_threshold: Annotated[float | None, Field(ge=0, le=1, description="Minimum relevance")] = None
    deduplicate: bool | None = Field(None, description="Remove near-duplicate passages; default: true")
    hyde: bool | None = Field(None, description="Also search by hypothetical answers; requires a chat model")
    rerank: bool | None = Field(None, description="Rerank the first 50 passages with a reranking model")
    rerank_model: ModelName | None = None
    compress: bool | None = Field(None, description="Return the answering sentences of each passage as its `excerpt`")
    include_section: bool | None = Field(
        None, description="Return the `section` of each match, at most 2,000 tokens around it"
    )
    history: Annotated[
        list[HistoryTurn],
        Field(max_length=50, description="Earlier messages of the conversation, used to rewrite the question"),
    ] = Field(default_factory=list[HistoryTurn])
    model: ModelName | None = Field(None, description="Chat model of the steps that need one")
    include: Included = Field(default_factory=lambda: SMALL)
    index_types: SearchedTypes = Field(default_factory=tuple)

    def request(self) -> SearchRequest:
        """Convert to the library's request.

        Raises:
            InvalidInputError: names the invalid place in a filter.
        """
        options = {name: getattr(self, name) for name in _OPTIONS}
        return SearchRequest(
            **options,
            filter=combine(
                document_ids=self.document_ids,
                metadata_filter=self.metadata_filter,
                upload_date_from=self.upload_date_from,
                upload_date_to=self.upload_date_to,
            ),
            history=tuple(Turn(turn.role, turn.content) for turn in self.history),
        )


class SearchSeveralBody(SearchBody):
    """A search in several knowledge bases."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{**_EXAMPLE, "kb_ids": ["507f1f77bcf86cd799439011", "507f191e810c19729de860ea"]}]
        },
    )

    kb_ids: Annotated[list[str], Field(min_length=1, max_length=20)]


class ExplainBody(SearchBody):
    """A search and the document to explain."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{**_EXAMPLE, "document_id": "507f191e810c19729de860ea"}]}
    )

    document_id: str


def _to_places(places: int) -> AfterValidator:
    return AfterValidator(lambda value: round(value, places))


Score = Annotated[float, _to_places(6)]
Weight = Annotated[float, _to_places(3)]


class Scores(ResponseBody):
    """Scores of a passage by step. Ranks start at 1; null: the passage did not pass the retriever or step."""

    vector: Score | None = Field(description="(1 + cosine) / 2")
    vector_rank: int | None
    lexical: Score | None = Field(description="BM25")
    lexical_rank: int | None
    fused: Score | None = Field(description="Sort key before reranking")
    rerank: Score | None


class SectionResponse(ResponseBody):
    """The section around a passage; text between its chunks, such as running heads, is an empty line."""

    content: str
    start: int
    end: int
    first_page: int
    last_page: int
    heading_path: list[str] = Field(description="Ends with the section's own heading; empty for a page")


class SearchResultResponse(ResponseBody):
    """A passage; `content` is `text[start:end]` of the document's text, on pages `first_page` to `last_page`.

    `text_hash` identifies the text's version: after a document is replaced, searches find its former text until the
    new text is indexed.
    """

    content: str
    source: str = Field(description="The document's name")
    document_id: str
    relevance: Score = Field(
        description="0 to 1: the reranker's score, else (1 + cosine) / 2, else from the keyword score"
    )
    chunk_index: int = Field(description="Number among the document's chunks of the same index type, from 0")
    index_type: IndexType
    is_matched: bool = Field(description="false for a neighbor of a match")
    first_page: int
    last_page: int
    start: int
    end: int
    kb_id: str
    scores: Scores
    matched_terms: list[str]
    highlights: list[tuple[int, int]] = Field(description="[start, end) within `content`")
    excerpt: str | None = Field(description="The answering sentences, if `compress` was requested")
    text_hash: str | None = Field(description="As in `GET /documents/{document_id}/text`")
    chunk_id: str = Field(description="As in the knowledge base's chunks; valid until its document is indexed again")
    rank: int | None = Field(description="Place among all matches, from 1; null for a neighbor")
    token_count: int
    heading_path: list[str] = Field(description="The headings above the whole passage, outermost first")
    page_name: str = Field(description="Name of its sheet, slide or chapter; empty for none")
    section: SectionResponse | None = Field(description="Of a match, if `include_section` was requested")
    source_url: str | None = Field(description="Web address of the document's original, as its uploader gave it")
    tags: list[str] = Field(description="Names of the document's tags, if `include` asks for them")
    metadata: dict[str, JsonValue] = Field(description="The document's metadata that `include` asks for")


class DegradationResponse(ResponseBody):
    """A failed step, skipped by the search."""

    step: str
    code: str
    detail: str


class SearchStatistics(ResponseBody):
    """Numbers of chunks by step."""

    vector_candidates: int
    lexical_candidates: int
    candidates: int
    refused_by_check: int
    duplicates: int
    below_threshold: int
    reranked: int
    without_excerpt: int = Field(description="Passages of the page removed by `compress`, since no sentence answers")


class WeightsResponse(ResponseBody):
    """The weights of the retrievers in a hybrid search, and their reason."""

    vector: Weight
    lexical: Weight
    reason: str


class SourceResponse(ResponseBody):
    """A document among the matches."""

    document_id: str
    source: str
    chunk_count: int
    average_relevance: float


class SearchAnswer(ResponseBody):
    """Passages, best first, with neighbors beside their match in document order."""

    results: list[SearchResultResponse]
    query: str
    total_count: int = Field(
        description="Matches on all pages, without near-duplicates and matches below the threshold"
    )
    total_count_is_at_least: bool = Field(description="True if further pages may have more matches than `total_count`")
    has_more: bool = Field(description="True if there is a further page")
    searched_chunk_count: int = Field(description="Chunks that pass the filter")
    skip: int
    top_k: int
    timings_ms: dict[str, float]
    mode: Mode
    degraded: list[DegradationResponse]
    statistics: SearchStatistics
    generated_queries: list[str]
    sources: list[SourceResponse]
    weights: WeightsResponse | None = Field(
        description="Weights of the retrievers; null if a single one found all matches"
    )


class JudgementResponse(ResponseBody):
    """The document's result at one stage."""

    stage: Stage
    is_passed: bool
    detail: str


class ExplanationResponse(ResponseBody):
    """The stages up to the first one the document fails, and its best passages."""

    document_id: str
    document_name: str
    is_found: bool
    place: int | None = Field(description="Rank of its best chunk among all matches, from 1")
    stages: list[JudgementResponse] = Field(validation_alias="judgements")
    passages: list[SearchResultResponse]
    degraded: list[DegradationResponse]
    weights: WeightsResponse | None = Field(
        description="Weights of the retrievers; null if a single one found all matches"
    )
