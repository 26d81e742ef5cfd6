"""A passage in the form sent to a chat model."""

from pydantic import Field, JsonValue

from analytiq.models.index_types import IndexType
from analytiq.models.stored import Stored


class ShownPassage(Stored):
    """A passage sent to a model. The model cites it by `number`, which counts from 1 within an answer or a run."""

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
    index_type: IndexType = IndexType.PARAGRAPH
    heading_path: tuple[str, ...] = ()
    page_name: str = ""
    chunk_id: str = ""
    rank: int | None = None
    token_count: int = 0
    source_url: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    text_hash: str | None = None
    """Hash of the text that the offsets refer to; None: recorded before hashes were stored."""
