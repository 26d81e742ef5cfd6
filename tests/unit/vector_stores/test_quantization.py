"""The promise of the codes: no cosine is larger than the bound that is computed from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from analytiq.retrieval.backends.local.vectors.quantization import (
    Codes,
    at_most,
    cosines,
    normalised,
    quantize,
    question_of,
)
from tests.examples import examples

values = st.floats(-1e6, 1e6, width=32)
shapes = st.tuples(st.integers(1, 8), st.integers(1, 70))


def codes_of(vectors: NDArray[np.float32]) -> Codes:
    count = len(vectors)
    codes = Codes(np.empty(vectors.shape, np.int8), np.empty(count), np.empty(count))
    quantize(vectors, codes)
    return codes


@examples(300)
@given(data=st.data(), shape=shapes, scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e20]))
def test_no_cosine_exceeds_its_bound(data: st.DataObject, shape: tuple[int, int], scale: float) -> None:
    raw = data.draw(arrays.arrays(np.float32, shape, elements=values)) * np.float32(scale)
    query = data.draw(arrays.arrays(np.float32, shape[1], elements=values))
    vectors, question = normalised(raw), question_of(query)
    exact = vectors.astype(np.float64) @ question.direction.astype(np.float64)
    assert (at_most(question, codes_of(vectors)) >= exact).all()
    assert cosines(question, vectors) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("dimensions", [1, 3, 384, 1536, 3072])
def test_bound_is_close_enough_to_be_of_use(dimensions: int) -> None:
    random = np.random.default_rng(5)
    vectors = normalised(random.standard_normal((500, dimensions)).astype(np.float32))
    question = question_of(random.standard_normal(dimensions).astype(np.float32))
    exact = vectors @ question.direction
    assert (at_most(question, codes_of(vectors)) - exact).max() < 0.05


def test_vectors_along_an_axis_are_bound_too() -> None:
    """All of their length in one number: the rest is cut most coarsely."""
    vectors = normalised(np.eye(400, dtype=np.float32) + np.float32(0.0039))
    codes = codes_of(vectors)
    for row in range(0, 400, 37):
        question = question_of(vectors[row])
        assert (at_most(question, codes) >= vectors @ question.direction).all()


def test_equal_vectors_have_equal_cosines_wherever_they_stand() -> None:
    random = np.random.default_rng(9)
    vectors = normalised(random.standard_normal((9000, 100)).astype(np.float32))
    same = [3, 17, 4095, 4096, 8999]
    vectors[same] = vectors[3]
    question = question_of(random.standard_normal(100).astype(np.float32))
    assert len(set(cosines(question, vectors)[same])) == 1
    assert cosines(question, vectors[[8999]])[0] == cosines(question, vectors)[3]


def test_vectors_that_are_not_finite_are_near_to_nothing() -> None:
    raw = np.asarray([[np.nan, 1], [np.inf, 0], [0, 0], [3e38, 3e38], [2, 0]], dtype=np.float32)
    vectors = normalised(raw)
    assert vectors.tolist() == [[0, 0], [0, 0], [0, 0], [0, 0], [1, 0]]
    assert cosines(question_of(raw[0]), vectors).tolist() == [0] * 5
