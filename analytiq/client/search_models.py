"""What the API answers to questions: passages with their scores, and why one is missing."""

from typing import Any

from pydantic import Field

from analytiq.client.answers import Answer


class Scores(Answer):
    """How a passage came to its place; None for a leg or step that it did not go through."""

    vector: float | None
    vector_rank: int | None
    lexical: float | None
    lexical_rank: int | None
    fused: float | None
    rerank: float | None


class Passage(Answer):
    """A passage of a document, on pages `first_page` to `last_page`; `highlights` are [start, end) in `content`."""

    content: str
    source: str
    document_id: str
    relevance: float
    chunk_index: int
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


class Degradation(Answer):
    """A step that could not be made; the answer is what comes of the others."""

    step: str
    code: str
    detail: str


class LegWeights(Answer):
    """How much each leg of a hybrid search counted, and why."""

    vector: float
    lexical: float
    reason: str


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


class Judgement(Answer):
    """Whether a document passed a stage of a search, in words."""

    stage: str
    is_passed: bool
    detail: str


class Explanation(Answer):
    """The stages up to the first that a document does not pass; `place` is its best chunk's among all, from 1."""

    document_id: str
    document_name: str
    is_found: bool
    place: int | None
    stages: list[Judgement]
    passages: list[Passage]
    degraded: list[Degradation]
    weights: LegWeights | None = None


MetadataFilter = dict[str, Any]
"""As the API takes it: field → value, or an operator such as {"$gte": 2024}."""
