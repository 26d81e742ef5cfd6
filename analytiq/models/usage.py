"""SPU charges."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class Operation(StrEnum):
    """What an embedding was made for."""

    INDEX = "index"
    SEARCH = "search"


class SpuCharge(Stored):
    """A row of `spu_ledger`: `spus` embeddings first stored for this organization."""

    organization_id: str
    kb_id: str | None
    operation: Operation
    embedding_model: str
    spus: int
    charged_at: datetime


class UsageTotal(Stored):
    """SPUs summed over the ledger."""

    kb_id: str | None
    operation: Operation
    embedding_model: str
    spus: int
