"""The longest chunk that an embedding model reads."""

from dataclasses import replace

from analytiq.inference.embedding.prices import KnownModel
from analytiq.ingestion.chunking.registry import MIN_CHUNK_SIZE
from analytiq.models.index_types import LONGEST_CHUNK, Chunking

CONTEXT_ROOM = 224
"""Tokens of a window that are kept for a chunk's context."""
SHARE = 0.9
"""Share of the rest that a chunk may have: the model counts other tokens than cl100k's."""


def fitted_to(chunking: Chunking, model: KnownModel) -> Chunking:
    """Return the settings with sections and websites that fit into the model's window, if it is known."""
    if model.window is None:
        return chunking
    fitting = max(MIN_CHUNK_SIZE, int((model.window - CONTEXT_ROOM) * SHARE))
    return replace(chunking, longest_chunk=min(LONGEST_CHUNK, fitting))
