"""The cache of questions' vectors in a process."""

import numpy as np
import pytest

from analytiq.inference.embedding import question_cache
from analytiq.inference.embedding.base import Vectors
from analytiq.inference.embedding.question_cache import QuestionCache


def vector(value: float) -> Vectors:
    return np.full(100, value, dtype=np.float32)


def test_least_recently_asked_is_forgotten_beyond_the_limit() -> None:
    cache = QuestionCache(largest_bytes=3 * 400)
    cache.keep({"a": vector(1), "b": vector(2), "c": vector(3)})
    assert cache.find(["a"])["a"][0] == 1
    cache.keep({"d": vector(4), "a": vector(1)})
    assert set(cache.find(["a", "b", "c", "d"])) == {"a", "c", "d"}
    cache.keep({"large": np.zeros(400, dtype=np.float32)})
    assert cache.find(["a", "b", "c", "d", "large"]) == {}


def test_vector_is_read_again_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_cache, "KEPT_SECONDS", 0.0)
    cache = QuestionCache(largest_bytes=400)
    cache.keep({"a": vector(1)})
    assert cache.find(["a"]) == {}
    monkeypatch.setattr(question_cache, "KEPT_SECONDS", 600.0)
    cache.keep({"b": vector(2)})
    assert set(cache.find(["a", "b"])) == {"b"}
