"""Weights of the retrievers, by the models' knowledge of the question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.inference.embedding.providers.wordpiece import WordPiece
from analytiq.retrieval.pipeline.weights import EQUAL_WEIGHT, READ_SHARE, weights_of

shares = st.lists(st.none() | st.floats(0.0, 1.0), max_size=4)


@given(alpha=st.floats(0.0, 1.0), known=shares)
def test_weight_that_is_asked_for_is_taken_as_it_is(alpha: float, known: list[float | None]) -> None:
    assert weights_of(alpha, known).vector == alpha


@given(known=shares)
def test_weight_is_never_more_than_half_and_the_legs_share_one(known: list[float | None]) -> None:
    weights = weights_of(None, known)
    assert 0.0 <= weights.vector <= EQUAL_WEIGHT
    assert weights.vector + weights.lexical == pytest.approx(1.0)


@given(one=st.floats(0.0, 1.0), other=st.floats(0.0, 1.0))
def test_more_known_words_never_weigh_less(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert weights_of(None, [low]).vector <= weights_of(None, [high]).vector


@pytest.mark.parametrize(("share", "weight"), [(0.0, 0.0), (0.2, 0.125), (0.25, 0.156), (0.4, 0.25), (0.79, 0.494)])
def test_weight_follows_the_formula_that_the_documentation_prints(share: float, weight: float) -> None:
    """0.5 x min(1, share / 0.8): docs/explanation/search.md."""
    assert weights_of(None, [share]).vector == weight


def test_model_that_does_not_tell_counts_like_the_words() -> None:
    assert weights_of(None, []).vector == weights_of(None, [None]).vector == EQUAL_WEIGHT
    assert weights_of(None, [READ_SHARE]).vector == EQUAL_WEIGHT


def test_of_several_models_the_one_that_knows_least_decides() -> None:
    assert weights_of(None, [1.0, None, 0.2]) == weights_of(None, [0.2])


def test_reason_names_the_share() -> None:
    assert "knows 20%" in weights_of(None, [0.2]).reason


@pytest.mark.parametrize(
    ("question", "least", "most"),
    [
        ("What are the payment terms of the contract?", 1.0, 1.0),
        ("who won the game", 1.0, 1.0),
        ("Welche Kündigungsfrist gilt für Mietverträge?", 0.0, 0.4),
        ("كم عدد الاعتراضات التي سُجلت", 0.0, 0.1),
        ("黑豹队的防守丢了多少分", 0.0, 0.0),
        ("この契約の解約通知期間はどれくらいですか", 0.0, 0.0),
        ("Сколько очков пропустила защита", 0.0, 0.2),
        ("สัญญานี้มีอายุกี่ปี", 0.0, 0.1),
        ("AX-42-B", 0.0, 1.0),
        ("?!", 1.0, 1.0),
        ("", 1.0, 1.0),
        ("\ud800 lone surrogate", 0.2, 1.0),
    ],
)
def test_tokenizer_tells_what_the_local_model_can_read(question: str, least: float, most: float) -> None:
    assert least <= WordPiece().known_share(question) <= most


@given(st.text())
def test_share_of_any_text_lies_between_0_and_1(text: str) -> None:
    assert 0.0 <= WORDS.known_share(text) <= 1.0


WORDS = WordPiece()
