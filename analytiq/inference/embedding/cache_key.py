"""Cache keys of embeddings."""

import hashlib
import json

from analytiq.inference.embedding.base import InputType


def chunk_hash(text: str) -> str:
    """Hash a text with SHA-256 to hex digits, the `chunk_hash`."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cache_key(text_hash: str, *, model: str, dimensions: int, input_type: InputType, scope: str, endpoint: str) -> str:
    """Hash everything that shapes the vector, and the scope that may share it.

    `scope` is "global" or an organization's id. `endpoint` is the address of a provider other than its well-known one:
    two servers may give one model name to different models, and an organization with a server of its own must not fill
    another organization's cache.
    """
    parts = [text_hash, model, dimensions, input_type.value, scope, endpoint]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
