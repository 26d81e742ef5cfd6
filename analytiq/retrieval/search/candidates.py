"""Chunks on their way through a search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import IndexReader, Query
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.retrieval.search import fusion
from analytiq.retrieval.search.plan import SearchPlan
from analytiq.retrieval.search.request import Fusion, HitScores, Mode

Key = tuple[str, str, int]
"""Knowledge base, generation, place of the chunk."""

LEXICAL_HALF = 10.0
"""The BM25 score that counts as a relevance of one half, where there is no vector to compare."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A knowledge base as it is searched: its chunks that pass the filter, at one index version, for one vector."""

    knowledge_base: KnowledgeBase
    epoch: Epoch
    chunk_filter: ChunkFilter | None
    query: Query | None
    reader: IndexReader


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that some leg has found."""

    kb_id: str
    generation_id: str
    document_id: str
    chunk_index: int
    scores: HitScores = field(default_factory=HitScores)

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return self.kb_id, self.generation_id, self.chunk_index

    def scored(self, scores: HitScores) -> "Candidate":
        """The same chunk with other scores: a fifth of the time of `dataclasses.replace`, for hundreds in a search."""
        return Candidate(self.kb_id, self.generation_id, self.document_id, self.chunk_index, scores)

    @property
    def relevance(self) -> float:
        """From 0 to 1: the reranker's score, else the vector's, else the words' brought below 1."""
        if self.scores.rerank is not None:
            return self.scores.rerank
        if self.scores.vector is not None:
            return self.scores.vector
        lexical = self.scores.lexical or 0.0
        return lexical / (lexical + LEXICAL_HALF)


@dataclass(frozen=True, slots=True)
class Scale:
    """Brings the vector scores of one model to those of others: how far one stands above what is no match at all.

    A model's cosines lie in a band of their own: 0.7 may be a stranger to one and a twin to another. `floor` is the
    score at the end of a long list, which the model gives to chunks that have nothing to do with the question.
    """

    floor: float

    def of(self, score: float) -> float:
        """From 0 to 1."""
        return max(0.0, (score - self.floor) / max(1e-6, 1.0 - self.floor))


SAME_SCALE = Scale(0.0)


@dataclass(frozen=True, slots=True)
class Found:
    """What the legs found, best first in each; `is_whole`: there is no more to be found.

    `scales`: by knowledge base, where models differ.
    """

    vector: tuple[Candidate, ...] = ()
    lexical: tuple[Candidate, ...] = ()
    is_whole: bool = True
    scales: Mapping[str, Scale] = field(default_factory=dict[str, Scale])


@dataclass(slots=True)
class Merged:
    """Both legs' candidates, each once."""

    scales: Mapping[str, Scale]
    by_key: dict[Key, Candidate] = field(default_factory=dict[Key, Candidate])

    @classmethod
    def of(cls, found: Found) -> "Merged":
        """Put the legs together; ranks count from 1."""
        merged = cls(found.scales)
        for rank, candidate in enumerate(found.vector, start=1):
            merged.by_key[candidate.key] = candidate.scored(HitScores(candidate.scores.vector, rank))
        for rank, candidate in enumerate(found.lexical, start=1):
            scores = merged.by_key.get(candidate.key, candidate).scores
            both = HitScores(scores.vector, scores.vector_rank, candidate.scores.lexical, rank)
            merged.by_key[candidate.key] = candidate.scored(both)
        return merged

    def keep(self, candidates: Iterable[Candidate]) -> None:
        """Leave only these."""
        kept = {candidate.key for candidate in candidates}
        self.by_key = {key: candidate for key, candidate in self.by_key.items() if key in kept}

    def with_vector_scores(self, scores: dict[Key, float]) -> None:
        """Add the vector scores of chunks that only words found: they are known exactly, and cheaply."""
        for key, score in scores.items():
            candidate = self.by_key[key]
            known = candidate.scores
            self.by_key[key] = candidate.scored(HitScores(score, known.vector_rank, known.lexical, known.lexical_rank))

    def ranked(self, plan: SearchPlan) -> list[Candidate]:
        """Best first, by the plan's fusion; ties by the better rank, then in order of document and chunk."""
        fused = self._fused(plan)
        candidates: list[Candidate] = []
        for key, candidate in self.by_key.items():
            known = candidate.scores
            scores = HitScores(known.vector, known.vector_rank, known.lexical, known.lexical_rank, fused[key])
            candidates.append(candidate.scored(scores))
        candidates.sort(key=_order)
        return candidates

    def _fused(self, plan: SearchPlan) -> dict[Key, float]:
        vector = {
            key: self.scales.get(item.kb_id, SAME_SCALE).of(item.scores.vector)
            for key, item in self.by_key.items()
            if item.scores.vector is not None
        }
        lexical = {key: item.scores.lexical for key, item in self.by_key.items() if item.scores.lexical is not None}
        if not vector or not lexical or plan.mode is not Mode.HYBRID:
            # One leg alone keeps its scores: what they are is worth more than how they lie to each other.
            return vector or lexical
        if plan.fusion is Fusion.RRF:
            candidates = self.by_key.values()
            return fusion.reciprocal_ranks(
                _in_order((item.scores.vector_rank, item.key) for item in candidates),
                _in_order((item.scores.lexical_rank, item.key) for item in candidates),
                alpha=plan.weights.vector,
            )
        return fusion.weighted(vector, lexical, alpha=plan.weights.vector)


def _order(item: Candidate) -> tuple[float, int, str, int, str]:
    """What both legs have deep down only, fusion gives nothing; there the better of its ranks decides."""
    fused = item.scores.fused or 0.0
    ranks = [rank for rank in (item.scores.vector_rank, item.scores.lexical_rank) if rank is not None]
    return -fused, min(ranks, default=0) if fused <= 0.0 else 0, item.document_id, item.chunk_index, item.kb_id


def _in_order(ranked: Iterable[tuple[int | None, Key]]) -> Sequence[Key]:
    return [key for _, key in sorted((rank, key) for rank, key in ranked if rank is not None)]
