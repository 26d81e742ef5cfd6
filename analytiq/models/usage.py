"""SPU charges."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class Operation(StrEnum):
    """The purpose of an embedding."""

    INDEX = "index"
    SEARCH = "search"


class SpuCharge(Stored):
    """A row of `spu_ledger`; its id is that of the reservation that it settles.

    `spus` embeddings were first stored for this organization. `unconfirmed_spus` were reserved for a call that never
    ended: its process died, and the provider may have been paid in vain. They are not charged.
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
    """SPUs summed over the ledger, and the cache's savings. `day`: in UTC; None if days are summed too."""

    day: str | None = None
    kb_id: str | None
    operation: Operation
    embedding_model: str
    spus: int = 0
    saved_spus: int = 0
    unconfirmed_spus: int = 0


class UsageGrouping(StrEnum):
    """The grouping of SPUs by day; the value is the ledger's field."""

    KNOWLEDGE_BASE = "kb_id"
    MODEL = "embedding_model"
    OPERATION = "operation"


class UsageGroup(Stored):
    """SPUs of one knowledge base, model or operation; `id` is None for usage outside of knowledge bases."""

    id: str | None
    spus: int


class UsageDay(Stored):
    """SPUs of one day (UTC, as 2026-01-31), by group in the order of the groups, and of all other groups."""

    day: str
    spus: tuple[int, ...]
    other_spus: int


class DailyUsage(Stored):
    """SPUs by day and group, largest group first; smaller groups are summed. Empty days are left out.

    `saved_spus` count in whole days.
    """

    groups: tuple[UsageGroup, ...]
    days: tuple[UsageDay, ...]
    spus: int
    saved_spus: int
    unconfirmed_spus: int
