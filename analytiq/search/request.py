"""What a search asks and answers."""

from dataclasses import dataclass, field

from analytiq.errors import InvalidInputError
from analytiq.models.filter import EVERYTHING, Filter


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question to one knowledge base. `coalesce_neighbors` None: the knowledge base's own."""

    query: str
    top_k: int = 5
    skip: int = 0
    filter: Filter = EVERYTHING
    coalesce_neighbors: int | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A passage with what is needed to cite it.

    `content == document_text[start:end]`; pages are counted from 1; `relevance` is its own, of neighbours too.
    """

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


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Results, best first, neighbours beside their match; `total_count`: chunks that pass the filter."""

    results: tuple[SearchResult, ...]
    total_count: int
    timings_ms: dict[str, float] = field(default_factory=dict[str, float])


def require_depth(request: SearchRequest, *, max_top_k: int, max_depth: int) -> None:
    """Refuse what could only be answered wrongly.

    Raises:
        InvalidInputError: names the field.
    """
    if not request.query.strip():
        raise InvalidInputError.of_field("query", "the question is empty")
    if not 1 <= request.top_k <= max_top_k:
        raise InvalidInputError.of_field("top_k", f"must be from 1 to {max_top_k}")
    if request.skip < 0 or request.skip + request.top_k > max_depth:
        raise InvalidInputError.of_field(
            "skip", f"skip + top_k must be from 1 to {max_depth}; narrow the question by a filter instead"
        )
