"""Erasures: the request, its progress, and the proof that no row is left."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from analytiq.models.document import Failure
from analytiq.models.stored import Stored


class ErasureKind(StrEnum):
    """The subject of an erasure: a whole organization, some of its documents, or cached embeddings."""

    ORGANIZATION = "organization"
    DOCUMENTS = "documents"
    CACHE = "cache"


class ErasureState(StrEnum):
    """requested → erasing → proving → done. A dry run is done at once."""

    REQUESTED = "requested"
    ERASING = "erasing"
    PROVING = "proving"
    DONE = "done"


class LedgerFate(StrEnum):
    """The fate of an erased organization's charges: anonymized ones still add up."""

    ANONYMIZE = "anonymize"
    DELETE = "delete"
    KEEP = "keep"


class CacheFate(StrEnum):
    """The fate of embeddings in the shared cache that the organization has paid for.

    Deleting them costs others at most a second embedding of a text that they have too; kept ones no longer name their
    payer. Embeddings of the organization's own scope are always deleted.
    """

    DELETE = "delete"
    ANONYMIZE = "anonymize"


class ErasureOptions(Stored):
    """Options. `keeps_tokens`: for an organization that is restored right away."""

    ledger: LedgerFate = LedgerFate.ANONYMIZE
    cache: CacheFate = CacheFate.DELETE
    keeps_tokens: bool = False


class DocumentSelection(Stored):
    """A selection of documents that match all given criteria; at least one is given."""

    document_ids: tuple[str, ...] = ()
    tag_ids: tuple[str, ...] = ()
    """All of these tags."""
    name_contains: str | None = None
    """A literal part of the name, ignoring case."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """All of these values."""
    uploaded_before: datetime | None = None


class Erasure(Stored):
    """A row of `erasures`: its state and its report, which outlive the erased data.

    `kb_ids` and `document_ids` name the objects of the proof; ids are all that the row stores. `document_ids` includes
    the parts of the selected documents at any depth. `holder_ids`: documents around erased parts that were not erased;
    their files still contain the parts' bytes. `counts`: rows erased by collection (in a dry run: to be erased).
    `left`: rows found by the last check; the proof is that it is empty.
    """

    id: str
    kind: ErasureKind
    organization_id: str
    state: ErasureState
    is_dry_run: bool = False
    requested_by: str
    reason: str | None = None
    options: ErasureOptions = ErasureOptions()
    selection: DocumentSelection | None = None
    kb_ids: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    holder_ids: tuple[str, ...] = ()
    documents: int = 0
    counts: dict[str, int] = Field(default_factory=dict[str, int])
    left: dict[str, int] | None = None
    looks: int = 0
    is_watched: bool = False
    error: Failure | None = None
    lease_token: str | None = None
    lease_expires_at: datetime | None = None
    tombstoned_at: datetime | None = None
    requested_at: datetime
    finished_at: datetime | None = None
