"""SPU charges."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class Operation(StrEnum):
    """What an embedding was made for."""

    INDEX = "index"
    SEARCH = "search"


class SpuCharge(Stored):
    """A row of `spu_ledger`; its id is that of the reservation that it settles.

    `spus` embeddings were first stored for this organization. `unconfirmed_spus` were reserved for a call that
    never came to its end: a process died in it, and the provider may have been paid for nothing. They are not charged.
    """

    id: str
    organization_id: str
    kb_id: str | None
    operation: Operation
    embedding_model: str
    spus: int
    unconfirmed_spus: int = 0
    charged_at: datetime


class UsageTotal(Stored):
    """SPUs summed over the ledger, and what the cache saved. `day`: in UTC, None where days are not told apart."""

    day: str | None = None
    kb_id: str | None
    operation: Operation
    embedding_model: str
    spus: int = 0
    saved_spus: int = 0
    unconfirmed_spus: int = 0
