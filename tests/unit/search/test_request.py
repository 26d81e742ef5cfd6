"""How deep a search may go."""

import pytest

from analytiq.errors import InvalidInputError
from analytiq.search.request import SearchRequest, require_depth


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (SearchRequest(""), "query"),
        (SearchRequest(" \n"), "query"),
        (SearchRequest("q", top_k=0), "top_k"),
        (SearchRequest("q", top_k=101), "top_k"),
        (SearchRequest("q", skip=-1), "skip"),
        (SearchRequest("q", top_k=10, skip=991), "skip"),
    ],
)
def test_what_could_only_be_answered_wrongly_is_refused_by_name(request_: SearchRequest, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        require_depth(request_, max_top_k=100, max_depth=1000)
    assert [error.field for error in caught.value.errors] == [field]


def test_the_deepest_page_is_allowed() -> None:
    require_depth(SearchRequest("q", top_k=100, skip=900), max_top_k=100, max_depth=1000)
