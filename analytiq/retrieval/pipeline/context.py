"""The state of one search, which the steps of the pipeline fill in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from analytiq.models.document import Member
from analytiq.models.index_types import ChunkCounts
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.models.vector import Passage
from analytiq.retrieval.backends.base import IndexReader, Query
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.retrieval.filters.tree import EVERYTHING, Filter
from analytiq.retrieval.pipeline.plan import SearchPlan
from analytiq.retrieval.pipeline.request import HitScores, SearchRequest, SearchResult
from analytiq.retrieval.pipeline.trace import Trace
from analytiq.retrieval.pipeline.weights import Weights, weights_of
from analytiq.retrieval.terms.analysed_text import AnalysedText

Key = tuple[str, str, int]
"""Knowledge base, generation, index of the chunk."""

KEYWORD_HALF = 10.0
"""BM25 score that counts as a relevance of one half, if there is no vector score."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A searched knowledge base: its index version, and the selection of its chunks."""

    knowledge_base: KnowledgeBase
    epoch: Epoch
    chunk_filter: ChunkFilter | None
    reader: IndexReader


@dataclass(slots=True)
class Hit:
    """A chunk on its way through the pipeline. `is_matched` is false for a neighbour of a match."""

    kb_id: str
    generation_id: str
    document_id: str
    chunk_index: int
    scores: HitScores = field(default_factory=HitScores)
    is_matched: bool = True

    @property
    def key(self) -> Key:
        """The chunk's identity."""
        return self.kb_id, self.generation_id, self.chunk_index

    @property
    def relevance(self) -> float:
        """From 0 to 1: the reranker's score, else the vector's, else the keyword score scaled below 1."""
        if self.scores.rerank is not None:
            return self.scores.rerank
        if self.scores.vector is not None:
            return self.scores.vector
        keyword = self.scores.lexical or 0.0
        return keyword / (keyword + KEYWORD_HALF)


@dataclass(slots=True)
class SearchContext:
    """The request of a search and the results of its steps so far."""

    organization: Organization
    request: SearchRequest
    plan: SearchPlan
    kb_ids: Sequence[str]
    trace: Trace = field(default_factory=Trace)

    # resolve
    read_before: Mapping[str, tuple[KnowledgeBase, Epoch]] = field(
        default_factory=dict[str, tuple[KnowledgeBase, Epoch]]
    )
    """Knowledge bases that were read for this search before its first step; later rounds read them again."""
    filter: Filter = EVERYTHING
    """The request's filter with tag ids for tag names, and literals of the declared types."""
    scopes: list[Scope] = field(default_factory=list[Scope])
    # understand
    question: str = ""
    imagined: tuple[str, ...] = ()
    """Hypothetical answers."""
    # embed
    queries: Mapping[str, Query] = field(default_factory=dict[str, Query])
    """Embedding model → the question's vector; empty where vectors are not searched."""
    weights: Weights = field(default_factory=lambda: weights_of(None, ()))

    # retrieve, check and fuse: of the latest round
    depth: int = 0
    """Chunks requested from each retriever."""
    vector: Sequence[Hit] = ()
    keyword: Sequence[Hit] = ()
    scales: Mapping[str, float] = field(default_factory=dict[str, float])
    """Knowledge base → the floor of its vector scores, if the models differ."""
    is_whole: bool = True
    """True if the retrievers have no more hits."""
    is_behind: bool = False
    """True if the keyword index lacks the latest commits."""
    is_outdated: bool = False
    """True if a hit was dropped because a newer generation of its document is current."""
    hits: list[Hit] = field(default_factory=list[Hit])
    """Hits that may be shown, best first after fusion."""
    members: dict[str, Member] = field(default_factory=dict[str, Member])
    """The hits' documents by id."""
    tag_names: dict[str, str] = field(default_factory=dict[str, str])
    """The names of their tags by id, if the request asks for tags."""
    chunk_counts: dict[str, ChunkCounts] = field(default_factory=dict[str, ChunkCounts])
    """Generation → its chunks by index type."""
    text_hashes: dict[str, str] = field(default_factory=dict[str, str])
    """Generation → the hash of the text that its chunks are cut from."""

    # select and rerank
    selected: list[Hit] = field(default_factory=list[Hit])
    is_complete: bool = True
    """True if every hit was considered: only the selected ones may be shown."""
    texts: dict[Key, Passage] = field(default_factory=dict[Key, Passage])
    analysed: dict[Key, AnalysedText] = field(default_factory=dict[Key, AnalysedText])
    """The same texts with what is kept of their analysis."""
    # expand and compress
    results: list[SearchResult] = field(default_factory=list[SearchResult])

    @property
    def is_below_threshold(self) -> bool:
        """True if a retriever has been read to the end of the hits above the threshold."""
        threshold = self.request.score_threshold
        if threshold is None:
            return False
        found = [hit for hit in self.hits if hit.scores.vector_rank is not None]
        return any(hit.relevance < threshold for hit in found or self.hits)


Observer = Callable[[str, SearchContext], None]
"""Called after a step, with the step's name."""


def ignore(step: str, context: SearchContext) -> None:
    """Observe nothing."""
    del step, context
