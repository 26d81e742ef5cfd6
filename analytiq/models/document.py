"""Documents: the uploaded file, its tags, and where its extracted text lies."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from analytiq.models.stored import Stored


class DocumentState(StrEnum):
    """How far extraction is; being searchable is told for each knowledge base apart."""

    UPLOADED = "uploaded"
    EXTRACTING = "extracting"
    EXTRACTED = "extracted"
    FAILED = "failed"


class Failure(Stored):
    """Why something failed: a stable code, a sentence for the owner, and when; `stack` is shown with its job only."""

    code: str
    detail: str
    at: datetime
    stack: str | None = None

    def for_owner(self) -> "Failure":
        """Without what is for operators."""
        return self.model_copy(update={"stack": None})


class Document(Stored):
    """A row of `docs`.

    `text_id` names the extracted text that is served; it stays while a newer one is being extracted, so a
    replaced or re-extracted document is found by its old text until the new one is ready. `rev` is raised by
    every commit that relies on this row, so that a concurrent delete or tag edit conflicts (design 2.2).
    """

    id: str
    organization_id: str
    document_name: str
    """With the folders that it was uploaded with: `contracts/2024/acme.pdf`."""
    origin: str | None = None
    """The directory that it was ingested from, and its machine; None for other uploads."""
    identity: str
    sha256: str
    byte_size: int
    content_type: str
    file_id: str
    state: DocumentState
    error: Failure | None = None
    warnings: tuple[str, ...] = ()
    tag_ids: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    text_id: str | None = None
    text_hash: str | None = None
    page_count: int | None = None
    character_count: int | None = None
    rev: int = 0
    created_at: datetime
    updated_at: datetime
