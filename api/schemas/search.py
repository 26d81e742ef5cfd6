"""Wire shapes of search (seed: "Search Knowledge Base")."""

import re
from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue

from analytiq.retrieval.filters.parser import combine
from analytiq.retrieval.pipeline.explain import Stage
from analytiq.retrieval.pipeline.request import (
    Fusion,
    Mode,
    Preset,
    SearchRequest,
    Turn,
)
from api.schemas.wire import ModelName, RequestBody, ResponseBody


def _aware(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("in UTC this time is outside the years 1 to 9999") from error


def _written(value: object) -> object:
    """Refuse numbers: read as seconds or milliseconds since 1970, a mistyped year would be a moment."""
    if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value)):
        raise ValueError("write a time as in 2026-01-31T12:00:00Z")
    return value


_NUMBER = re.compile(r"\s*[-+]?[\d._]*(?:[eE][-+]?\d+)?\s*")

Time = Annotated[datetime, BeforeValidator(_written), AfterValidator(_aware)]
"""RFC 3339; without an offset it is UTC."""


_OPTIONS = {field.name for field in fields(SearchRequest)} - {"filter", "history"}
"""Of a search, those that are the same on the wire and in the library."""


class HistoryTurn(RequestBody):
    """A message before the question."""

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
    """A question to a knowledge base. What is left out is the preset's, else the default's."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [_EXAMPLE, {"query": "INV-2024/00123", "mode": "lexical"}, {"query": "notice", "alpha": 0.3}]
        },
    )

    query: Annotated[str, Field(min_length=1, max_length=20_000)]
    top_k: Annotated[int, Field(ge=1, le=100)] = 5
    skip: Annotated[int, Field(ge=0)] = 0
    document_ids: list[str] | None = Field(None, description="Only these documents; an empty list finds nothing")
    metadata_filter: dict[str, JsonValue] | None = None
    upload_date_from: Time | None = None
    upload_date_to: Time | None = None
    coalesce_neighbors: Annotated[int | None, Field(ge=0, le=5, description="Left out: the knowledge base's own")] = (
        None
    )
    preset: Preset | None = Field(None, description="A retrieval mode; what is said beside it wins")
    mode: Mode | None = Field(None, description="By vector, by words, or by both (the default)")
    fusion: Fusion | None = Field(None, description="How both become one list: weighted (the default) or by ranks")
    alpha: Annotated[
        float | None,
        Field(
            ge=0, le=1, description="The vector's weight; left out: 0.5, and less the less the model knows the question"
        ),
    ] = None
    score_threshold: Annotated[float | None, Field(ge=0, le=1, description="The least relevance")] = None
    deduplicate: bool | None = Field(None, description="Leave near-identical passages out; true by default")
    hyde: bool | None = Field(None, description="Search by imagined answers too; needs a chat model")
    rerank: bool | None = Field(None, description="Have the first 50 read by a reranking model")
    rerank_model: ModelName | None = None
    compress: bool | None = Field(None, description="Give each passage's sentences that answer as its `excerpt`")
    history: Annotated[
        list[HistoryTurn], Field(max_length=50, description="The conversation before; the question is then rewritten")
    ] = Field(default_factory=list[HistoryTurn])
    model: ModelName | None = Field(None, description="The chat model of steps that need one")

    def request(self) -> SearchRequest:
        """The library's shape.

        Raises:
            InvalidInputError: names the place in a filter that is wrong.
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
    """A question to several knowledge bases at once."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{**_EXAMPLE, "kb_ids": ["507f1f77bcf86cd799439011", "507f191e810c19729de860ea"]}]
        },
    )

    kb_ids: Annotated[list[str], Field(min_length=1, max_length=20)]


class ExplainBody(SearchBody):
    """A search, and the document that is asked about."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{**_EXAMPLE, "document_id": "507f191e810c19729de860ea"}]}
    )

    document_id: str


def _to_places(places: int) -> AfterValidator:
    return AfterValidator(lambda value: round(value, places))


Score = Annotated[float, _to_places(6)]
Weight = Annotated[float, _to_places(3)]


class Scores(ResponseBody):
    """How a passage came to its place; ranks count from 1, and null is a leg or a step that it did not go through."""

    vector: Score | None = Field(description="(1 + cosine) / 2")
    vector_rank: int | None
    lexical: Score | None = Field(description="BM25")
    lexical_rank: int | None
    fused: Score | None = Field(description="What the order goes by before reranking")
    rerank: Score | None


class SearchResultResponse(ResponseBody):
    """A passage; `content` is `text[start:end]` of the document's text, on pages `first_page` to `last_page`.

    `text_hash` names that text: while a document is replaced, passages of its former text are found until the new one
    is indexed.
    """

    content: str
    source: str = Field(description="The document's name")
    document_id: str
    relevance: Score = Field(description="From 0 to 1: the reranker's, else (1 + cosine) / 2, else by the words")
    chunk_index: int
    is_matched: bool = Field(description="false for a neighbour of a match")
    first_page: int
    last_page: int
    start: int
    end: int
    kb_id: str
    scores: Scores
    matched_terms: list[str]
    highlights: list[tuple[int, int]] = Field(description="[start, end) within `content`")
    excerpt: str | None = Field(description="The sentences that answer, where `compress` was asked for")
    text_hash: str | None = Field(description="As `GET /documents/{document_id}/text` tells it")


class DegradationResponse(ResponseBody):
    """A step that could not be made; the answer is what comes of the others."""

    step: str
    code: str
    detail: str


class SearchStatistics(ResponseBody):
    """How many chunks went through each step."""

    vector_candidates: int
    lexical_candidates: int
    candidates: int
    refused_by_check: int
    duplicates: int
    below_threshold: int
    reranked: int
    without_excerpt: int = Field(description="Of the page: left out, as `compress` found nothing in them that answers")


class WeightsResponse(ResponseBody):
    """How much each leg of a hybrid search counts, and why."""

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
    """Passages, best first, neighbours beside their match in the order of the document."""

    results: list[SearchResultResponse]
    query: str
    total_count: int = Field(description="Matches on all pages, without near-duplicates and those below the threshold")
    total_count_is_at_least: bool = Field(description="More than `total_count` may be found on further pages")
    has_more: bool = Field(description="There is a further page")
    searched_chunk_count: int = Field(description="Chunks that pass the filter")
    skip: int
    top_k: int
    timings_ms: dict[str, float]
    mode: Mode
    degraded: list[DegradationResponse]
    statistics: SearchStatistics
    generated_queries: list[str]
    sources: list[SourceResponse]
    weights: WeightsResponse | None = Field(description="Of the two legs; null where one found everything")


class JudgementResponse(ResponseBody):
    """Whether the document passed a stage, in words."""

    stage: Stage
    is_passed: bool
    detail: str


class ExplanationResponse(ResponseBody):
    """The stages up to the first that the document does not pass, and its own best passages."""

    document_id: str
    document_name: str
    is_found: bool
    place: int | None = Field(description="Of its best chunk among all that were found, from 1")
    stages: list[JudgementResponse] = Field(validation_alias="judgements")
    passages: list[SearchResultResponse]
    degraded: list[DegradationResponse]
    weights: WeightsResponse | None = Field(description="Of the two legs; null where one found everything")
