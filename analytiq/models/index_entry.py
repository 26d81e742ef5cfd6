"""A document's membership in a knowledge base, and the generations of its vectors."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.flaws import FlawKind
from analytiq.models.index_types import ChunkCounts
from analytiq.models.stored import Stored


class IndexEntry(Stored):
    """A row of `document_index`: the authority on searchable generations.

    `projection_hash`: hash of the document's fields stored in the chunks, if any. `context_hash`: hash of the
    document's name in the chunks' context, if they have one. `skipped_flaws`: kinds of flawed text that no chunk
    holds, sorted; only kinds that the text has. `chunk_counts`: chunks by index type; None if all are paragraphs, as
    in an older release.
    """

    organization_id: str
    kb_id: str
    document_id: str
    generation_id: str
    text_hash: str
    configuration_hash: str
    chunk_count: int
    chunk_counts: dict[str, int] | None = None
    projection_hash: str | None = None
    context_hash: str | None = None
    skipped_flaws: tuple[FlawKind, ...] = ()
    indexed_at: datetime

    @property
    def counts(self) -> ChunkCounts:
        """The chunks by index type."""
        return ChunkCounts.of(self.chunk_count, self.chunk_counts)


class GenerationState(StrEnum):
    """staging → current → superseded → purging → (row deleted)."""

    STAGING = "staging"
    CURRENT = "current"
    SUPERSEDED = "superseded"
    PURGING = "purging"


class Generation(Stored):
    """One complete set of a document's vectors in one knowledge base, of all index types."""

    id: str
    organization_id: str
    kb_id: str
    document_id: str
    state: GenerationState
    chunk_count: int
    chunk_counts: dict[str, int] | None = None
    lease_token: str
    created_at: datetime
    updated_at: datetime


class IndexChange(Stored):
    """A row of `kb_changes`: the additions and removals of the commit with this epoch."""

    kb_id: str
    epoch: int
    commit_id: str
    added: str | None = None
    removed: str | None = None
