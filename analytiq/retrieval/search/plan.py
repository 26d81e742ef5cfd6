"""What a search is to do, decided from what was asked: pure."""

from dataclasses import dataclass, replace

from analytiq.errors import InvalidInputError
from analytiq.retrieval.search.request import Fusion, Mode, Preset, SearchRequest
from analytiq.retrieval.search.weights import Weights, weights_of
from analytiq.settings import SearchSettings

FIRST_DEPTH = 100
"""Chunks that each leg is asked for at first; recall@100 is where the legs' recall flattens."""
RANKED_DEPTH = 1000
"""As deep as an order can be trusted that was made by fusing, or by leaving out what is near-identical."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The steps of one search. `wanted`: how many results, from the first, must be known to answer the page.

    `weights`: of the legs, as far as they are known before the question is read.
    """

    query: str
    mode: Mode
    fusion: Fusion
    weights: Weights
    wanted: int
    depth: int
    score_threshold: float | None
    deduplicates: bool
    hyde: bool
    rewrites: bool
    reranks: bool
    compresses: bool

    @property
    def leaves_out(self) -> bool:
        """Whether chunks that pass the filter may be left out of the results."""
        return self.deduplicates or self.score_threshold is not None or not self.has_vector_leg

    @property
    def needed(self) -> int:
        """Results to look for: where some are left out, one more tells whether there is a further page."""
        return self.wanted + 1 if self.leaves_out else self.wanted

    @property
    def has_vector_leg(self) -> bool:
        """Whether the question is embedded."""
        return self.mode is not Mode.LEXICAL

    @property
    def has_lexical_leg(self) -> bool:
        """Whether words are looked up."""
        return self.mode is not Mode.VECTOR


_PRESETS: dict[Preset, tuple[Mode, bool, bool, bool]] = {
    Preset.FULL_HYBRID: (Mode.HYBRID, True, True, True),
    Preset.HYBRID_WITHOUT_HYDE: (Mode.HYBRID, False, True, True),
    Preset.VECTOR_WITH_RERANKING: (Mode.VECTOR, False, True, True),
    Preset.FAST_VECTOR: (Mode.VECTOR, False, False, False),
}
"""Mode, HyDE, reranking, leaving out duplicates."""
_DEFAULTS = (Mode.HYBRID, False, False, True)


def plan(request: SearchRequest, settings: SearchSettings) -> SearchPlan:
    """Decide the steps; refuse what could only be answered wrongly.

    Raises:
        InvalidInputError: names the field.
    """
    _require(request, settings)
    mode, hyde, reranks, deduplicates = _PRESETS[request.preset] if request.preset else _DEFAULTS
    mode = request.mode or mode
    wanted = request.skip + request.top_k
    chosen = SearchPlan(
        query=request.query,
        mode=mode,
        fusion=request.fusion or Fusion.WEIGHTED,
        weights=weights_of(request.alpha, ()),
        wanted=wanted,
        depth=_depth(wanted) if mode is Mode.HYBRID else wanted,
        score_threshold=request.score_threshold,
        deduplicates=deduplicates if request.deduplicate is None else request.deduplicate,
        hyde=hyde if request.hyde is None else request.hyde,
        rewrites=bool(request.history),
        reranks=reranks if request.rerank is None else request.rerank,
        compresses=bool(request.compress),
    )
    if chosen.mode is not Mode.HYBRID:
        chosen = replace(chosen, depth=min(chosen.needed, settings.max_depth))
    is_ranked = chosen.mode is Mode.HYBRID or chosen.deduplicates or chosen.reranks
    if is_ranked and wanted > RANKED_DEPTH:
        raise InvalidInputError.of_field(
            "skip",
            f"beyond {RANKED_DEPTH} results the order is certain only for one leg without further steps: set `mode` to"
            " `vector` or `lexical` and `deduplicate` and `rerank` to false, or narrow the question by a filter",
        )
    return chosen


def _depth(wanted: int) -> int:
    """The legs' first depth where they are fused: the same for many pages, so that these fit each other.

    The order of one leg alone does not depend on how many are asked for.
    """
    depth = FIRST_DEPTH
    while depth < wanted:
        depth *= 2
    return depth


def _require(request: SearchRequest, settings: SearchSettings) -> None:
    if not request.query.strip():
        raise InvalidInputError.of_field("query", "the question is empty")
    if not 1 <= request.top_k <= settings.max_top_k:
        raise InvalidInputError.of_field("top_k", f"must be from 1 to {settings.max_top_k}")
    if request.skip < 0 or request.skip + request.top_k > settings.max_depth:
        raise InvalidInputError.of_field(
            "skip", f"skip + top_k must be from 1 to {settings.max_depth}; narrow the question by a filter instead"
        )
    for name, value in (("alpha", request.alpha), ("score_threshold", request.score_threshold)):
        if value is not None and not 0.0 <= value <= 1.0:
            raise InvalidInputError.of_field(name, "must be from 0 to 1")
