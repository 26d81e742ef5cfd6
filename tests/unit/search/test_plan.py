"""Plans of a search, from its request."""

import pytest

from analytiq.errors import InvalidInputError
from analytiq.retrieval.pipeline.plan import FIRST_DEPTH, plan
from analytiq.retrieval.pipeline.request import Mode, Preset, SearchRequest, Turn
from analytiq.settings import SearchSettings

SETTINGS = SearchSettings(max_top_k=100, max_depth=10_000)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (SearchRequest(""), "query"),
        (SearchRequest(" \n"), "query"),
        (SearchRequest("q", top_k=0), "top_k"),
        (SearchRequest("q", top_k=101), "top_k"),
        (SearchRequest("q", skip=-1), "skip"),
        (SearchRequest("q", top_k=10, skip=9_991), "skip"),
        (SearchRequest("q", top_k=10, skip=991), "skip"),
        (SearchRequest("q", top_k=10, skip=991, mode=Mode.VECTOR), "skip"),
        (SearchRequest("q", top_k=10, skip=991, mode=Mode.VECTOR, deduplicate=False, rerank=True), "skip"),
        (SearchRequest("q", alpha=1.5), "alpha"),
        (SearchRequest("q", alpha=-0.1), "alpha"),
        (SearchRequest("q", score_threshold=-0.1), "score_threshold"),
        (SearchRequest("q", score_threshold=1.1), "score_threshold"),
    ],
)
def test_what_could_only_be_answered_wrongly_is_refused_by_name(request_: SearchRequest, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        plan(request_, SETTINGS)
    assert [error.field for error in caught.value.errors] == [field]


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_weight_and_threshold_may_have_any_value_from_0_to_1(value: float) -> None:
    plan(SearchRequest("q", alpha=value, score_threshold=value), SETTINGS)


def test_deepest_pages_are_allowed() -> None:
    plan(SearchRequest("q", top_k=100, skip=900), SETTINGS)
    one_leg = SearchRequest("q", top_k=100, skip=9_900, mode=Mode.LEXICAL, deduplicate=False)
    assert plan(one_leg, SETTINGS).depth == 10_000


def test_pages_that_are_fused_are_of_one_list() -> None:
    depths = {plan(SearchRequest("q", top_k=10, skip=skip), SETTINGS).depth for skip in range(0, FIRST_DEPTH - 10, 10)}
    assert depths == {FIRST_DEPTH}


@pytest.mark.parametrize(("wanted", "depth"), [(1, 1), (2, 1), (4, 1), (5, 2), (8, 2), (9, 4)])
def test_deeper_pages_double_the_depth_of_fusion(wanted: int, depth: int) -> None:
    """`wanted` and `depth` in quarters and wholes of the first depth."""
    skip = wanted * FIRST_DEPTH // 4 - 10
    assert plan(SearchRequest("q", top_k=10, skip=skip), SETTINGS).depth == depth * FIRST_DEPTH


@pytest.mark.parametrize(
    ("mode", "score_threshold", "deduplicate", "depth"),
    [
        (Mode.VECTOR, None, False, 10),
        (Mode.VECTOR, 0.5, False, 11),
        (Mode.VECTOR, None, True, 11),
        (Mode.LEXICAL, None, False, 11),
    ],
)
def test_one_retriever_is_asked_for_one_more_where_a_result_may_be_left_out(
    mode: Mode, score_threshold: float | None, depth: int, *, deduplicate: bool
) -> None:
    chosen = plan(
        SearchRequest("q", top_k=10, mode=mode, score_threshold=score_threshold, deduplicate=deduplicate), SETTINGS
    )
    assert (chosen.wanted, chosen.depth, chosen.may_leave_out) == (10, depth, depth > 10)


def test_refusal_of_a_deep_page_says_what_would_be_answered() -> None:
    with pytest.raises(InvalidInputError, match=r"Beyond 1000 .*`mode` to `vector` or `lexical`.* filter\."):
        plan(SearchRequest("q", top_k=10, skip=991), SETTINGS)


@pytest.mark.parametrize(
    ("preset", "mode", "hyde", "reranks"),
    [
        (Preset.FULL_HYBRID, Mode.HYBRID, True, True),
        (Preset.HYBRID_WITHOUT_HYDE, Mode.HYBRID, False, True),
        (Preset.VECTOR_WITH_RERANKING, Mode.VECTOR, False, True),
        (Preset.FAST_VECTOR, Mode.VECTOR, False, False),
    ],
)
def test_presets_are_the_four_retrieval_modes(preset: Preset, mode: Mode, *, hyde: bool, reranks: bool) -> None:
    chosen = plan(SearchRequest("q", preset=preset), SETTINGS)
    assert (chosen.mode, chosen.hyde, chosen.reranks) == (mode, hyde, reranks)


def test_what_is_said_beside_a_preset_wins() -> None:
    chosen = plan(SearchRequest("q", preset=Preset.FULL_HYBRID, hyde=False, mode=Mode.LEXICAL), SETTINGS)
    assert (chosen.mode, chosen.hyde, chosen.reranks) == (Mode.LEXICAL, False, True)


def test_question_is_rewritten_only_where_there_was_a_conversation() -> None:
    assert not plan(SearchRequest("q"), SETTINGS).rewrites
    assert plan(SearchRequest("q", history=(Turn("user", "before"),)), SETTINGS).rewrites
