"""What an embedding depends on, as one key."""

import hashlib
import json

from analytiq.inference.embedding.base import InputType


def chunk_hash(text: str) -> str:
    """SHA-256 of a text, hex digits: the seed's `chunk_hash`."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cache_key(text_hash: str, *, model: str, dimensions: int, input_type: InputType, scope: str, endpoint: str) -> str:
    """SHA-256 of everything that shapes the vector, and of who may share it (design 2.5).

    `scope` is "global" or an organization's id. `endpoint` is the address of a provider that is not the
    well-known one: two servers may give the same model name to different models, and an organization that
    points a model at a server of its own must not fill anybody else's cache.
    """
    parts = [text_hash, model, dimensions, input_type.value, scope, endpoint]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
