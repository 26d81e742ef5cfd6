"""Port of every embedding provider."""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (texts, dimensions), float32, C-contiguous."""


class InputType(StrEnum):
    """The kind of a text, since some models embed questions and passages differently."""

    DOCUMENT = "document"
    QUERY = "query"


BeforeRepeat = Callable[[], Awaitable[None]]
"""Awaited before a call is repeated in another form: it takes from the rate limit, and counts."""


class Embedder(Protocol):
    """An adapter from texts to vectors, without cache, metering or retry.

    Raises RateLimitedError, TransientError, ProviderRefusedError; never an error of the provider's library. A malformed
    answer (wrong count, wrong length, NaN, a zero vector) is refused whole.
    """

    model: str
    """The model string as the knowledge base stores it, for example `text-embedding-3-small`."""
    batch_size: int
    """Most texts of one call."""

    async def embed(
        self, texts: Sequence[str], *, input_type: InputType, before_repeat: BeforeRepeat | None = None
    ) -> Vectors:
        """Embed 1 to `batch_size` texts, keeping their order; shape (len(texts), dimensions)."""
        ...
