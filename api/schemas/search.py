"""Wire shapes of search (seed: "Search Knowledge Base")."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from analytiq.search.request import SearchResponse, SearchResult
from api.schemas.wire import RequestBody, ResponseBody


def _aware(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("in UTC this time is outside the years 1 to 9999") from error


Time = Annotated[datetime, AfterValidator(_aware)]
"""Without an offset it is UTC."""


class SearchBody(RequestBody):
    """A question to a knowledge base."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "query": "What are the payment terms?",
                    "top_k": 5,
                    "skip": 0,
                    "metadata_filter": {"document_name": "invoice-2024-001.pdf"},
                    "upload_date_from": "2024-01-01T00:00:00Z",
                    "upload_date_to": "2027-12-31T23:59:59Z",
                    "coalesce_neighbors": 2,
                }
            ]
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


class SearchResultResponse(ResponseBody):
    """A passage; `content` is `text[start:end]` of the document's text, on pages `first_page` to `last_page`."""

    content: str
    source: str = Field(description="The document's name")
    document_id: str
    relevance: float = Field(description="(1 + cosine) / 2; from 0 to 1")
    chunk_index: int
    is_matched: bool = Field(description="false for a neighbour of a match")
    first_page: int
    last_page: int
    start: int
    end: int

    @classmethod
    def of(cls, result: SearchResult) -> "SearchResultResponse":
        """From the library's shape."""
        return cls(
            content=result.content,
            source=result.source,
            document_id=result.document_id,
            relevance=round(result.relevance, 6),
            chunk_index=result.chunk_index,
            is_matched=result.is_matched,
            first_page=result.first_page,
            last_page=result.last_page,
            start=result.start,
            end=result.end,
        )


class SearchAnswer(ResponseBody):
    """Passages, best first, neighbours beside their match in the order of the document."""

    results: list[SearchResultResponse]
    query: str
    total_count: int = Field(description="Chunks that pass the filter")
    skip: int
    top_k: int
    timings_ms: dict[str, float]

    @classmethod
    def of(cls, body: SearchBody, response: SearchResponse) -> "SearchAnswer":
        """From the library's shape."""
        return cls(
            results=[SearchResultResponse.of(result) for result in response.results],
            query=body.query,
            total_count=response.total_count,
            skip=body.skip,
            top_k=body.top_k,
            timings_ms=response.timings_ms,
        )
