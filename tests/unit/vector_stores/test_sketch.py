"""Sketches of vectors: distances, the selection of the nearest, and estimates, against the plainest computation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.retrieval.backends.local.vectors import sketch as sketch_module
from analytiq.retrieval.backends.local.vectors.sketch import (
    FARTHEST,
    Sketcher,
    allocate_sketches,
    distances,
    estimates,
    smallest,
)
from tests.examples import examples


@pytest.mark.parametrize("dimensions", [1, 63, 64, 65, 384])
def test_distance_is_the_number_of_differing_signs(dimensions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch_module, "_SLICE_ROWS", 16)
    random = np.random.default_rng(dimensions)
    vectors = random.standard_normal((50, dimensions)).astype(np.float32)
    sketcher = Sketcher(vectors.mean(axis=0))
    sketches = allocate_sketches(50, dimensions)
    sketcher.sketch(vectors, sketches)
    question = sketcher.question_of(vectors[7])
    rotated = np.stack([sketcher.question_of(vector).rotated for vector in vectors])
    signs = rotated - (sketcher.mean @ np.eye(dimensions) @ rotation(sketcher)) > 0
    assert distances(question, sketches.words).tolist() == (signs != signs[7]).sum(axis=1).tolist()
    assert distances(question, sketches.words)[7] == 0


def rotation(sketcher: Sketcher) -> np.ndarray:
    return np.stack([sketcher.question_of(axis).rotated for axis in np.eye(len(sketcher.mean), dtype=np.float32)])


def test_estimates_differ_from_cosines_by_a_common_number_and_a_little() -> None:
    random = np.random.default_rng(1)
    vectors = (random.standard_normal((2000, 384)) + 2 * random.standard_normal(384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    sketcher = Sketcher(vectors.mean(axis=0))
    sketches = allocate_sketches(len(vectors), 384)
    sketcher.sketch(vectors, sketches)
    estimated = estimates(sketcher.question_of(vectors[0]), sketches.words, sketches.scales)
    errors = estimated - vectors @ vectors[0]
    assert np.std(errors[1:]) < 0.02
    assert abs(np.mean(errors) + vectors[0] @ sketcher.mean) < 0.02


@examples(100)
@given(
    st.lists(st.integers(0, 40) | st.just(int(FARTHEST)), max_size=300),
    st.integers(1, 60),
)
def test_smallest_are_the_smallest(values: list[int], count: int) -> None:
    array = np.asarray(values, np.uint16)
    found = smallest(array, count)
    assert sorted(array[found].tolist()) == sorted(value for value in values if value < FARTHEST)[:count]
    assert found.tolist() == sorted(set(found.tolist()))


def test_smallest_of_many_are_found_by_a_sample_that_lacks_them() -> None:
    values = np.full(100_000, 300, np.uint16)
    values[1::10_000] = 3  # at no place of the sample
    values[5::50] = FARTHEST
    found = smallest(values, 50)
    assert len(found) == 50
    assert set(np.flatnonzero(values == 3).tolist()) <= set(found.tolist())


def test_sketches_of_equal_vectors_and_of_zeros_are_finite() -> None:
    vectors = np.zeros((3, 8), np.float32)
    sketcher = Sketcher(vectors[0])
    sketches = allocate_sketches(3, 8)
    sketcher.sketch(vectors, sketches)
    assert np.isfinite(estimates(sketcher.question_of(vectors[0]), sketches.words, sketches.scales)).all()
