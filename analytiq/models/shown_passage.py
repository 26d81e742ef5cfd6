"""A passage as a chat model was shown it."""

from analytiq.models.stored import Stored


class ShownPassage(Stored):
    """A passage that a model was shown. It cites by `number`, which counts from 1 within an answer or a run."""

    number: int
    kb_id: str
    document_id: str
    source: str
    chunk_index: int
    first_page: int
    last_page: int
    start: int
    end: int
    relevance: float
    content: str
    text_hash: str | None = None
    """Hash of the text that the offsets count in; None: recorded before hashes were stored."""
