"""Request and response bodies of cost forecasts."""

from typing import Annotated

from pydantic import ConfigDict, Field

from analytiq.inference.credentials.destinations import Destination
from analytiq.ingestion.knowledge_bases.estimation import Estimate
from analytiq.ingestion.knowledge_bases.forecast import Forecast, ForecastRequest
from analytiq.models.index_types import PARAGRAPHS, Chunking
from api.schemas.chunking import IndexTypes, SectionLevel
from api.schemas.destinations import DestinationResponse
from api.schemas.knowledge_bases import SearchedMetadata, TagIds
from api.schemas.wire import NO_CONTROLS, RequestBody, ResponseBody

CENT_PARTS = 8
"""Decimals of a price: a token costs 0.00000002 dollars."""


class ForecastBody(RequestBody):
    """A planned knowledge base, with the defaults of a new one."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "tag_ids": ["507f1f77bcf86cd799439011"],
                    "chunker_type": "recursive",
                    "chunk_size": 512,
                    "chunk_overlap": 128,
                    "embedding_model": "local/all-minilm-l6-v2",
                }
            ]
        },
    )

    tag_ids: TagIds
    chunker_type: str = "auto"
    chunk_size: Annotated[int, Field(ge=1, le=8192, description="Tokens")] = 512
    chunk_overlap: Annotated[
        int, Field(ge=0, le=4096, description="Tokens; default: 128, at most a quarter of chunk_size")
    ] = 128
    embedding_model: Annotated[str, Field(min_length=1, max_length=200), NO_CONTROLS] | None = None
    context: Annotated[bool, Field(description="Embed each chunk with its context")] = True
    searched_metadata: SearchedMetadata = Field(default_factory=tuple)
    section_level: SectionLevel = 0
    index_types: IndexTypes = PARAGRAPHS

    def wanted(self, tag_ids: list[str]) -> ForecastRequest:
        """Convert to the library's request."""
        is_given = "chunk_overlap" in self.model_fields_set
        return ForecastRequest(
            tag_ids=tuple(tag_ids),
            chunking=Chunking(
                self.chunker_type,
                self.chunk_size,
                self.chunk_overlap if is_given else min(self.chunk_overlap, self.chunk_size // 4),
                section_level=self.section_level,
                index_types=self.index_types,
            ),
            embedding_model=self.embedding_model,
            context=self.context,
            searched_metadata=self.searched_metadata,
        )


class Range(ResponseBody):
    """A number with its 95 % interval if estimated; else all three are equal."""

    value: int
    low: int
    high: int

    @classmethod
    def from_estimate(cls, estimate: Estimate) -> "Range":
        """Round the estimate."""
        value = round(estimate.value)
        return cls(value=value, low=min(value, estimate.low), high=max(value, estimate.high))


class PriceRange(ResponseBody):
    """US dollars with their 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def from_tokens(cls, tokens: Estimate, token_usd: float) -> "PriceRange":
        """Return the price of an estimated number of tokens."""
        value, low, high = (round(count * token_usd, CENT_PARTS) for count in (tokens.value, tokens.low, tokens.high))
        return cls(value=value, low=min(value, low), high=max(value, high))


class UnknownDocumentItem(ResponseBody):
    """A document without a known text."""

    document_id: str
    document_name: str
    state: str


_ESTIMATES = ("chunks", "tokens", "cached_chunks", "spus")


class ForecastAnswer(ResponseBody):
    """The present cost of indexing. Nothing was embedded or charged."""

    embedding_model: str
    document_count: int = Field(
        validation_alias="documents",
        description="Documents with one of the tags and a known text, the basis of the numbers",
    )
    unknown_document_count: int = Field(
        validation_alias="unknown_documents",
        description="Documents with one of the tags that are not extracted yet or failed; excluded from the numbers",
    )
    unknown_documents: list[UnknownDocumentItem] = Field(
        validation_alias="named_unknown", description="The first of the excluded documents"
    )
    chunks: Range
    tokens: Range = Field(description="cl100k tokens of all chunks, overlaps counted twice")
    cached_chunks: Range = Field(description="Chunks with cached embeddings, free of charge")
    cached_share: float | None = Field(description="Share of cached chunks, 0 to 1; null without chunks")
    spus: Range = Field(description="Embeddings to pay for: chunks that are not cached, each text once")
    price_usd: PriceRange | None = Field(
        description="The provider's list price for these embeddings, if known; 0 for local models"
    )
    is_cache_known: bool = Field(description="False: the cache was unavailable, so all chunks are assumed to be new")
    is_estimated: bool = Field(description="True if the numbers are extrapolated by length from a sample")
    sampled_documents: int
    sampled_characters: int
    texts_go_to: DestinationResponse = Field(description="The recipient of the texts of all chunks that are not cached")

    @classmethod
    def from_forecast(cls, forecast: Forecast, destination: Destination) -> "ForecastAnswer":
        """Build the response with rounded estimates, and prices if known."""
        chunks, cached = forecast.chunks, forecast.cached_chunks
        price = None if forecast.token_usd is None else PriceRange.from_tokens(forecast.spu_tokens, forecast.token_usd)
        ranges = {name: Range.from_estimate(getattr(forecast, name)) for name in _ESTIMATES}
        return cls.from_model(
            forecast,
            **ranges,
            cached_share=round(cached.value / chunks.value, 4) if chunks.value else None,
            price_usd=price,
            texts_go_to=destination,
        )
