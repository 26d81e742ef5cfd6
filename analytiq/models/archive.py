"""The parts of an archive that describe it; see docs/reference/archive-format.md."""

from datetime import datetime

from analytiq.models.stored import Stored


class ArchivedOrganization(Stored):
    """An organization in an archive."""

    id: str
    name: str


class ArchiveHeader(Stored):
    """The first frame.

    `schema_version` is that of `schema_migrations`. `is_whole`: made with `--everything`, so that the archive includes
    access tokens and the encrypted keys of providers.
    """

    product_version: str
    schema_version: int
    created_at: datetime
    is_whole: bool
    organizations: tuple[ArchivedOrganization, ...]


class SectionKey(Stored):
    """The section of the following rows; without an organization, the installation's. `kb_id` only for vectors."""

    collection: str
    organization_id: str | None = None
    kb_id: str | None = None


class SectionEnd(Stored):
    """The number of rows in the section, and their bytes before compression."""

    rows: int
    byte_size: int


class CollectionTotal(Stored):
    """Rows and bytes of a collection in the whole archive; all `kb_vectors_…` count as one."""

    collection: str
    rows: int
    byte_size: int


class ArchiveTrailer(Stored):
    """The last frame, with the totals to compare. An archive without it is incomplete."""

    finished_at: datetime
    sections: int
    totals: tuple[CollectionTotal, ...]
    warnings: tuple[str, ...] = ()


class EmbeddingIdentity(Stored):
    """The identity of a cached embedding, as far as its row tells: enough to compute its key again."""

    key: str
    chunk_hash: str
    embedding_model: str
    dimensions: int
    operation: str
    scope: str
