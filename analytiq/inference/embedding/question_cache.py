"""Vectors of questions in this process, so that a repeated question reads no row."""

import time
from collections import OrderedDict
from collections.abc import Collection, Mapping

from analytiq.inference.embedding.base import Vectors
from analytiq.storage.repositories.embedding_cache import USE_NOTED_AFTER

LARGEST_BYTES = 8 * 1024 * 1024
"""Bytes of all vectors: 5,000 questions of 384 dimensions, 650 of 3,072."""
KEPT_SECONDS = USE_NOTED_AFTER.total_seconds()
"""A vector is read from the database again after the time that a row's last use has as its resolution. Otherwise the
eviction would find a question that is asked all day to be unused."""


class QuestionCache:
    """The most recently asked questions' vectors, by the key of the embedding cache.

    The key hashes text, model, dimensions, endpoint and scope (organization, or "global"). So a vector under a key
    never changes, and no organization is answered with another's.
    """

    def __init__(self, *, largest_bytes: int = LARGEST_BYTES) -> None:
        self._largest_bytes = largest_bytes
        self._kept: OrderedDict[str, tuple[Vectors, float]] = OrderedDict()
        self._bytes = 0

    def find(self, keys: Collection[str]) -> dict[str, Vectors]:
        """Return the kept vectors of these keys, each of shape (dimensions,)."""
        now = time.monotonic()
        found: dict[str, Vectors] = {}
        for key in keys:
            vector, until = self._kept.get(key, (None, 0.0))
            if vector is None:
                continue
            if until <= now:
                self._forget(key)
                continue
            self._kept.move_to_end(key)
            found[key] = vector
        return found

    def keep(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors, and forget the least recently asked beyond the limit."""
        until = time.monotonic() + KEPT_SECONDS
        for key, vector in vectors.items():
            self._forget(key)
            self._kept[key] = vector, until
            self._bytes += vector.nbytes
        while self._bytes > self._largest_bytes:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: str) -> None:
        vector, _ = self._kept.pop(key, (None, 0.0))
        if vector is not None:
            self._bytes -= vector.nbytes
