"""The request and the response of a search."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

from analytiq.models.index_types import IndexType
from analytiq.retrieval.filters.tree import EVERYTHING, Filter
from analytiq.retrieval.pipeline.details import SMALL
from analytiq.retrieval.pipeline.weights import Weights


class Mode(StrEnum):
    """The retrievers that a search uses."""

    HYBRID = "hybrid"
    """Both retrievers, fused."""
    VECTOR = "vector"
    LEXICAL = "lexical"


class Fusion(StrEnum):
    """A method of merging the two retrievers' results."""

    WEIGHTED = "weighted"
    """alpha x vector score + (1 - alpha) x lexical score, each scaled to [0, 1] first."""
    RRF = "rrf"
    """Reciprocal rank fusion, k = 60 (Cormack, Clarke and Büttcher 2009), each retriever with its weight."""


class Preset(StrEnum):
    """The four retrieval modes by name."""

    FULL_HYBRID = "full_hybrid"
    HYBRID_WITHOUT_HYDE = "hybrid_without_hyde"
    VECTOR_WITH_RERANKING = "vector_with_reranking"
    FAST_VECTOR = "fast_vector"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation before the question."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question to knowledge bases of an organization. None: the preset decides, else the defaults.

    `coalesce_neighbors` None: the knowledge base's own. `alpha`: the weight of the vector retriever, from 0 to 1; None:
    by the share of the question that the embedding model knows (`analytiq.retrieval.pipeline.weights`). `model`: the
    chat model of the steps that need one. `include_section`: return the section of each match.
    `include`: details of the documents, see `WantedDetails`. `index_types`: of the passages; empty: all.
    """

    query: str
    top_k: int = 5
    skip: int = 0
    filter: Filter = EVERYTHING
    coalesce_neighbors: int | None = None
    preset: Preset | None = None
    mode: Mode | None = None
    fusion: Fusion | None = None
    alpha: float | None = None
    score_threshold: float | None = None
    deduplicate: bool | None = None
    hyde: bool | None = None
    rerank: bool | None = None
    rerank_model: str | None = None
    compress: bool | None = None
    include_section: bool | None = None
    history: tuple[Turn, ...] = ()
    model: str | None = None
    include: tuple[str, ...] = SMALL
    index_types: tuple[IndexType, ...] = ()


@dataclass(slots=True)
class HitScores:
    """The scores that rank a passage; None if a retriever did not find it, or a step did not run.

    `vector`: (1 + cosine) / 2. `lexical`: BM25. `fused`: decides the order before reranking. Ranks count from 1.
    """

    vector: float | None = None
    vector_rank: int | None = None
    lexical: float | None = None
    lexical_rank: int | None = None
    fused: float | None = None
    rerank: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """The section around a passage: characters `start` to `end` of the same text, as its chunks hold them.

    What no chunk holds, such as running heads, is an empty line in `content`. `heading_path` ends with the section's
    own heading; it is empty for a section that is the passage's page.
    """

    content: str
    start: int
    end: int
    first_page: int
    last_page: int
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A passage with the data needed to cite it.

    `content == document_text[start:end]`, of the text with the hash `text_hash`; pages count from 1; `relevance` is
    the passage's own, also for neighbours.
    `highlights` are [start, end) in `content`. `excerpt`: the sentences that answer, if compression was requested.
    `chunk_index` counts the document's chunks of the same index type. `chunk_id` is valid until the document is
    indexed again. `rank`: among the matches, from 1; None for a neighbour.
    `heading_path`: the headings above the whole passage, outermost first. `page_name`: of its sheet, slide or chapter.
    `section`: of a match, if requested.
    `source_url`: the document's web address. `tags` (names) and `metadata`: of the document, as the request chose.
    """

    kb_id: str
    content: str
    source: str
    document_id: str
    relevance: float
    chunk_index: int
    index_type: IndexType
    is_matched: bool
    first_page: int
    last_page: int
    start: int
    end: int
    scores: HitScores = field(default_factory=HitScores)
    matched_terms: tuple[str, ...] = ()
    highlights: tuple[tuple[int, int], ...] = ()
    excerpt: str | None = None
    text_hash: str | None = None
    chunk_id: str = ""
    rank: int | None = None
    token_count: int = 0
    heading_path: tuple[str, ...] = ()
    page_name: str = ""
    section: Section | None = None
    source_url: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class Degradation:
    """A step that failed, and the reason; the other steps gave the answer."""

    step: str
    code: str
    detail: str


@dataclass(slots=True)
class Statistics:
    """Counts of chunks after each step, over all rounds."""

    vector_candidates: int = 0
    lexical_candidates: int = 0
    candidates: int = 0
    """Chunks found by either retriever, each counted once."""
    refused_by_check: int = 0
    duplicates: int = 0
    below_threshold: int = 0
    reranked: int = 0
    without_excerpt: int = 0
    """Passages left out of the page because compression found no answer in them."""


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """A document with at least one result."""

    document_id: str
    source: str
    chunk_count: int
    average_relevance: float


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Results, best first, neighbours beside their match.

    `total_count`: matches on all pages, without near-duplicates and those below the threshold; a lower bound if
    `total_count_is_at_least`. `has_more`: there is a further page. `searched_chunk_count`: chunks
    that pass the filter.
    `generated_queries`: queries searched beside the question, or instead of it. `weights`: of the two retrievers; None
    for a single one.
    """

    results: tuple[SearchResult, ...]
    total_count: int
    mode: Mode = Mode.HYBRID
    total_count_is_at_least: bool = False
    has_more: bool = False
    searched_chunk_count: int = 0
    timings_ms: dict[str, float] = field(default_factory=dict[str, float])
    degraded: tuple[Degradation, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    generated_queries: tuple[str, ...] = ()
    sources: tuple[SourceSummary, ...] = ()
    weights: Weights | None = None
