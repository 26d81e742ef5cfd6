"""Plan of a search: fills in a request's defaults, and refuses a request that cannot be answered correctly. Pure."""

from dataclasses import dataclass

from analytiq.errors import InvalidInputError
from analytiq.retrieval.pipeline.request import Mode, Preset, SearchRequest
from analytiq.settings import SearchSettings

FIRST_DEPTH = 100
"""Chunks requested from each retriever at first; recall@100 is where their recall flattens."""
RANKED_DEPTH = 1000
"""Greatest depth at which the order of fused or deduplicated hits is reliable."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The request completed by the preset and the defaults. `wanted`: results needed for the page, from the first.

    `depth`: chunks first requested from each retriever. `may_leave_out`: True if the results may lack chunks that pass
    the filter.
    """

    mode: Mode
    wanted: int
    depth: int
    deduplicates: bool
    hyde: bool
    rewrites: bool
    reranks: bool
    may_leave_out: bool

    @property
    def needed(self) -> int:
        """The number of results to find: one extra, if some may be left out, reveals a further page."""
        return self.wanted + 1 if self.may_leave_out else self.wanted

    @property
    def uses_vectors(self) -> bool:
        """True if the question is embedded."""
        return self.mode is not Mode.LEXICAL

    @property
    def uses_keywords(self) -> bool:
        """True if the keyword index is searched."""
        return self.mode is not Mode.VECTOR


_PRESETS: dict[Preset, tuple[Mode, bool, bool, bool]] = {
    Preset.FULL_HYBRID: (Mode.HYBRID, True, True, True),
    Preset.HYBRID_WITHOUT_HYDE: (Mode.HYBRID, False, True, True),
    Preset.VECTOR_WITH_RERANKING: (Mode.VECTOR, False, True, True),
    Preset.FAST_VECTOR: (Mode.VECTOR, False, False, False),
}
"""Mode, HyDE, reranking, deduplication."""
_DEFAULTS = (Mode.HYBRID, False, False, True)


def plan(request: SearchRequest, settings: SearchSettings) -> SearchPlan:
    """Decide the steps; refuse a request that cannot be answered correctly.

    Raises:
        InvalidInputError: names the field.
    """
    _require(request, settings)
    mode, hyde, reranks, deduplicates = _PRESETS[request.preset] if request.preset else _DEFAULTS
    mode = request.mode or mode
    deduplicates = deduplicates if request.deduplicate is None else request.deduplicate
    reranks = reranks if request.rerank is None else request.rerank
    wanted = request.skip + request.top_k
    is_hybrid = mode is Mode.HYBRID
    may_leave_out = deduplicates or request.score_threshold is not None or mode is Mode.LEXICAL
    if (is_hybrid or deduplicates or reranks) and wanted > RANKED_DEPTH:
        raise InvalidInputError.of_field(
            "skip",
            f"Beyond {RANKED_DEPTH} results only one retriever without further steps has a certain order. Set"
            " `mode` to `vector` or `lexical` and `deduplicate` and `rerank` to false, or narrow the question by a"
            " filter.",
        )
    return SearchPlan(
        mode=mode,
        wanted=wanted,
        depth=_depth(wanted) if is_hybrid else min(wanted + may_leave_out, settings.max_depth),
        deduplicates=deduplicates,
        hyde=hyde if request.hyde is None else request.hyde,
        rewrites=bool(request.history),
        reranks=reranks,
        may_leave_out=may_leave_out,
    )


def _depth(wanted: int) -> int:
    """Return the retrievers' first depth for fusion: the same for many pages, so that they are consistent.

    The order of one retriever alone does not depend on the depth.
    """
    depth = FIRST_DEPTH
    while depth < wanted:
        depth *= 2
    return depth


def _require(request: SearchRequest, settings: SearchSettings) -> None:
    if not request.query.strip():
        raise InvalidInputError.of_field("query", "The question is empty. Send its text.")
    if not 1 <= request.top_k <= settings.max_top_k:
        raise InvalidInputError.of_field("top_k", f"Must be from 1 to {settings.max_top_k}.")
    if request.skip < 0 or request.skip + request.top_k > settings.max_depth:
        raise InvalidInputError.of_field(
            "skip", f"`skip` + `top_k` must be from 1 to {settings.max_depth}. Narrow the question by a filter instead."
        )
    for name, value in (("alpha", request.alpha), ("score_threshold", request.score_threshold)):
        if value is not None and not 0.0 <= value <= 1.0:
            raise InvalidInputError.of_field(name, "Must be from 0 to 1.")
