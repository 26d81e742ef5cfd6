"""Erasures: what was asked for, how far it is, and the proof that nothing is left."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from analytiq.models.document import Failure
from analytiq.models.stored import Stored


class ErasureKind(StrEnum):
    """What is erased: a whole organization, some of its documents, or cached embeddings."""

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
    """What becomes of the charges of an organization that is erased: anonymized ones still add up."""

    ANONYMIZE = "anonymize"
    DELETE = "delete"
    KEEP = "keep"


class CacheFate(StrEnum):
    """What becomes of embeddings in the cache shared by all that the organization has paid for.

    Deleting them costs others at most a second embedding of a text that they have too; kept ones no longer say who
    paid. Its own scope is always deleted.
    """

    DELETE = "delete"
    ANONYMIZE = "anonymize"


class ErasureOptions(Stored):
    """Choices. `keeps_tokens`: for an organization that is restored right away."""

    ledger: LedgerFate = LedgerFate.ANONYMIZE
    cache: CacheFate = CacheFate.DELETE
    keeps_tokens: bool = False


class DocumentSelection(Stored):
    """Which documents: those that fit everything that is given; at least one thing is."""

    document_ids: tuple[str, ...] = ()
    tag_ids: tuple[str, ...] = ()
    """With all of these tags."""
    name_contains: str | None = None
    """Literally; case does not count."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """With all of these values."""
    uploaded_before: datetime | None = None


class Erasure(Stored):
    """A row of `erasures`: what drives it, and the report of it. It stays when all else is gone.

    `kb_ids` and `document_ids` name what the proof looks for; ids are all that it keeps. `counts`: rows erased by
    collection (a dry run: that would be). `left`: rows found by the last look; the proof is that it is empty.
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
