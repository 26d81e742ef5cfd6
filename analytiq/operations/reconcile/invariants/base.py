"""The shape of an invariant.

An invariant looks for violations in batches of bounded size and in the order of a key. A pass thus holds little at a
time, and continues after a crash where it was. Finding writes nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.ingestion.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.all_repositories import Repositories

BATCH = 1000
"""Rows that are compared at a time."""
LEFT_AT_ONCE = 10_000
"""Rows of one kind that a pass looks at; repaired rows are gone for the next pass, which finds the others."""
AS_CONFIGURED = float("inf")
"""The grace period is the whole of the setting `orphan_grace_seconds`."""


@dataclass(frozen=True, slots=True)
class System:
    """The readers and repair writers of invariants."""

    repositories: Repositories
    life_cycle: KnowledgeBaseLifeCycle
    models: EmbeddingModels
    backends: Backends
    grace_seconds: float


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of what was found. `after`: the key up to which was looked. `entries`: index entries seen."""

    drift: Sequence[Drift]
    after: str = ""
    entries: int = 0


class Invariant(ABC):
    """A rule that stored state must satisfy, with its repair.

    Attributes:
        name: part of the position at which an interrupted pass continues.
        kinds: kinds of drift that it finds.
        depth: FULL where only full passes look.
        most_grace_seconds: upper bound of the grace period, in which a violation may be work under way; 0 where jobs,
            leases or a second look tell work under way from drift.
        is_bounded: a pass stops looking once it has asked for the most repairs of a kind.
    """

    name: ClassVar[str]
    kinds: ClassVar[frozenset[DriftKind]]
    depth: ClassVar[Depth] = Depth.QUICK
    most_grace_seconds: ClassVar[float] = 0.0
    is_bounded: ClassVar[bool] = True

    def __init__(self, system: System) -> None:
        self.system = system
        self.rows = system.repositories
        self.grace = timedelta(seconds=min(system.grace_seconds, self.most_grace_seconds))

    @abstractmethod
    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Repair what can be repaired; return the number of repairs that were made or asked for.

        Raises:
            LeaseLostError: the pass may write no more; a part of the batch may be repaired.
        """


class KnowledgeBaseInvariant(Invariant):
    """An invariant of each knowledge base."""

    @abstractmethod
    def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """Find violations in the knowledge base, behind the key `after`."""


class SystemInvariant(Invariant):
    """An invariant of what lies outside knowledge bases.

    `needs_everything`: it cannot look at one organization alone.
    """

    needs_everything: ClassVar[bool] = False

    @abstractmethod
    def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """Find violations of all organizations or of one, behind the key `after`."""


def of_knowledge_base(kind: DriftKind, knowledge_base: KnowledgeBase, detail: str | None = None) -> Drift:
    """Return the drift of a knowledge base as a whole."""
    return Drift(kind, knowledge_base.organization_id, knowledge_base.id, detail=detail)
