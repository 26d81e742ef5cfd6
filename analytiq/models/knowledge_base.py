"""Knowledge bases: their tags, chunking and embedding settings, and their index version."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from analytiq.models.index_types import LONGEST_CHUNK, PARAGRAPHS, Chunking, IndexType
from analytiq.models.stored import Stored

LONGEST_NAME = 200
"""Characters of a knowledge base's name."""


class KnowledgeBaseStatus(StrEnum):
    """`indexing` until each document of the first indexing was tried, then `active`.

    `error`: the job that gathers the documents of the first indexing was dead-lettered. `deleting` and `restoring` are
    not shown.
    """

    INDEXING = "indexing"
    ACTIVE = "active"
    ERROR = "error"
    DELETING = "deleting"
    RESTORING = "restoring"


LOCAL_BACKEND = "local"
"""The retrieval backend of every knowledge base whose own is not available."""


class KnowledgeBase(Stored):
    """A row of `knowledge_bases`.

    `vectors_uuid` (hex) is the UUID of `kb_vectors_{id}`: writers name it, so that a late write cannot bring a dropped
    collection back. `first_membership_at`: the time when all pairs of the first indexing were enqueued. The two counts
    were read at `counted_epoch` or later. `vector_store` names the retrieval backend. `context`: chunks are embedded
    and searched with their context; rows of an older release have no such field, and their chunks have none.
    `searched_metadata`: the metadata keys whose values are part of the context. `section_level`, `index_types` and
    `longest_chunk`: see `analytiq.models.index_types.Chunking`.
    """

    id: str
    organization_id: str
    name: str
    description: str
    tag_ids: tuple[str, ...]
    chunker_type: str
    chunk_size: int
    chunk_overlap: int
    embedding_model: str
    embedding_dimensions: int
    coalesce_neighbors: int
    context: bool = False
    searched_metadata: tuple[str, ...] = ()
    section_level: int = 0
    index_types: tuple[IndexType, ...] = PARAGRAPHS
    longest_chunk: int = LONGEST_CHUNK
    status: KnowledgeBaseStatus
    document_count: int = 0
    chunk_count: int = 0
    counted_epoch: int = 0
    vectors_uuid: str
    vector_store: str = LOCAL_BACKEND
    first_membership_at: datetime | None = None
    last_indexed_at: datetime | None = None
    created_at: datetime
    updated_at: datetime

    @property
    def chunking(self) -> Chunking:
        """The settings by which texts are cut."""
        return Chunking(
            self.chunker_type,
            self.chunk_size,
            self.chunk_overlap,
            section_level=self.section_level,
            index_types=self.index_types,
            longest_chunk=self.longest_chunk,
        )

    @property
    def configuration_hash(self) -> str:
        """Return the hash of everything that shapes the vectors; an index entry with another one is outdated."""
        parts = [self.chunker_type, self.chunk_size, self.chunk_overlap, self.embedding_model]
        parts += [self.embedding_dimensions, CHUNKING_RELEASE]
        if self.context:
            # Left out without it: knowledge bases of an older release stay as they are.
            parts += ["context", CONTEXT_RELEASE]
            parts += self.searched_metadata
        if self.section_level:
            parts += ["section_level", self.section_level]
        if self.index_types != PARAGRAPHS:
            parts += ["index_types", *self.index_types, self.longest_chunk]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def context_hash_of(self, document_name: str, metadata: Mapping[str, JsonValue]) -> str | None:
        """Return the hash of the name and the metadata in the context of a document's chunks; None without context."""
        if not self.context:
            return None
        name, values = document_name.rpartition("/")[2], self.searched_values(metadata)
        # The name alone without values: entries of an earlier release stay as they are.
        hashed = json.dumps([name, values]) if values else name
        return hashlib.sha256(hashed.encode("utf-8", "surrogatepass")).hexdigest()

    def searched_values(self, metadata: Mapping[str, JsonValue]) -> list[str]:
        """Return the values of a document's metadata that its chunks' context has."""
        return searched_values(metadata, self.searched_metadata)


def searched_values(metadata: Mapping[str, JsonValue], keys: Sequence[str]) -> list[str]:
    """Return the values of these keys as texts, in the order of the keys."""
    return [text for key in keys for text in _texts(metadata.get(key))]


def _texts(value: JsonValue) -> list[str]:
    """Return a value, or the values of a list, as text; objects and booleans say nothing to search for."""
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return []
    return [str(value)] if str(value).strip() else []


CHUNKING_RELEASE = 1
"""Raised when the same settings would chunk the same text in another way, to redo outdated entries."""
CONTEXT_RELEASE = 2
"""Raised when the same document would give the same chunk another context, to redo outdated entries."""


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names with repeated ones numbered (A, A becomes A, A (2)), avoiding existing names."""
    taken = set(names)
    seen: set[str] = set()
    distinct: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in seen or (number > 1 and chosen in taken):
            number += 1
            suffix = f" ({number})"
            chosen = name[: LONGEST_NAME - len(suffix)] + suffix
        seen.add(chosen)
        distinct.append(chosen)
    return distinct


class Epoch(Stored):
    """A row of `kb_epochs`: raised only by commits and removals."""

    kb_id: str
    epoch: int
    commit_id: str
