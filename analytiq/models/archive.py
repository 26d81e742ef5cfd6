"""What an archive says of itself; see docs/reference/archive-format.md."""

from datetime import datetime

from analytiq.models.stored import Stored


class ArchivedOrganization(Stored):
    """An organization that an archive holds."""

    id: str
    name: str


class ArchiveHeader(Stored):
    """The first frame.

    `schema_version` is that of `schema_migrations`; `is_whole`: made with `--everything`, so that it holds access
    tokens and the (encrypted) keys of providers too.
    """

    product_version: str
    schema_version: int
    created_at: datetime
    is_whole: bool
    organizations: tuple[ArchivedOrganization, ...]


class SectionKey(Stored):
    """Whose rows follow; without an organization they are the installation's. `kb_id` only for vectors."""

    collection: str
    organization_id: str | None = None
    kb_id: str | None = None


class SectionEnd(Stored):
    """How many rows the section had, and their bytes before compression."""

    rows: int
    byte_size: int


class CollectionTotal(Stored):
    """Rows and bytes of a collection in the whole archive; all `kb_vectors_…` count as one."""

    collection: str
    rows: int
    byte_size: int


class ArchiveTrailer(Stored):
    """The last frame: what there must have been. An archive without it is incomplete."""

    finished_at: datetime
    sections: int
    totals: tuple[CollectionTotal, ...]
    warnings: tuple[str, ...] = ()


class EmbeddingIdentity(Stored):
    """What a cached embedding is of, as far as its row tells: enough to compute its key anew."""

    key: str
    chunk_hash: str
    embedding_model: str
    dimensions: int
    operation: str
    scope: str
