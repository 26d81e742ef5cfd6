"""Answers to searches: passages with scores, and explanations."""

from typing import Any

from pydantic import Field, JsonValue

from analytiq.client.answers import Answer


class Scores(Answer):
    """Scores of a passage by retriever and step; None for those that did not score it."""

    vector: float | None
    vector_rank: int | None
    lexical: float | None
    lexical_rank: int | None
    fused: float | None
    rerank: float | None


class Section(Answer):
    """The section around a passage; text between its chunks, such as running heads, is an empty line."""

    content: str
    start: int
    end: int
    first_page: int
    last_page: int
    heading_path: list[str] = Field(default_factory=list)


class Passage(Answer):
    """A passage of a document, on pages `first_page` to `last_page`; `highlights` are [start, end) in `content`."""

    content: str
    source: str
    document_id: str
    relevance: float
    chunk_index: int
    index_type: str = "paragraph"
    is_matched: bool
    first_page: int
    last_page: int
    start: int
    end: int
    kb_id: str = ""
    scores: Scores | None = None
    matched_terms: list[str] = Field(default_factory=list)
    highlights: list[tuple[int, int]] = Field(default_factory=list)
    excerpt: str | None = None
    text_hash: str | None = None
    chunk_id: str = ""
    rank: int | None = None
    token_count: int = 0
    heading_path: list[str] = Field(default_factory=list)
    page_name: str = ""
    section: Section | None = None
    source_url: str | None = None
    tags: list[str] = Field(default_factory=list)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    """The metadata chosen by `include`; the label by default."""


class Degradation(Answer):
    """A step that failed; the answer is the result of the others."""

    step: str
    code: str
    detail: str


class LegWeights(Answer):
    """Weight of each retriever in a hybrid search, with the reason."""

    vector: float
    lexical: float
    reason: str


class SearchStatistics(Answer):
    """Numbers of chunks by step of a search."""

    vector_candidates: int = 0
    lexical_candidates: int = 0
    candidates: int = 0
    refused_by_check: int = 0
    duplicates: int = 0
    below_threshold: int = 0
    reranked: int = 0
    without_excerpt: int = 0


class SearchSource(Answer):
    """A document among the results, with the average relevance of its chunks."""

    document_id: str
    source: str
    chunk_count: int
    average_relevance: float


class SearchAnswer(Answer):
    """Passages, best first, neighbours beside their match in the order of the document."""

    results: list[Passage]
    query: str
    total_count: int
    skip: int = 0
    top_k: int = 0
    total_count_is_at_least: bool = False
    has_more: bool = False
    mode: str = "vector"
    degraded: list[Degradation] = Field(default_factory=list)
    timings_ms: dict[str, float] = Field(default_factory=dict)
    weights: LegWeights | None = None
    searched_chunk_count: int = 0
    statistics: SearchStatistics | None = None
    generated_queries: list[str] = Field(default_factory=list[str])
    sources: list[SearchSource] = Field(default_factory=list[SearchSource])


class Judgement(Answer):
    """The outcome of one stage of a search for a document."""

    stage: str
    is_passed: bool
    detail: str


class Explanation(Answer):
    """The stages up to the first failed one; `place` is the rank of its best chunk among all, from 1."""

    document_id: str
    document_name: str
    is_found: bool
    place: int | None
    stages: list[Judgement]
    passages: list[Passage]
    degraded: list[Degradation]
    weights: LegWeights | None = None


MetadataFilter = dict[str, Any]
"""The API's filter: field → value, or an operator such as {"$gte": 2024}."""
