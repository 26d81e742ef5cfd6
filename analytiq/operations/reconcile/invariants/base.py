"""The interface of an invariant.

An invariant looks for violations in batches of bounded size and in the order of a key. So a pass needs little memory
and can resume after a crash. Finding writes nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.ingestion.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.pairs import Pairs
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.all_repositories import Repositories

BATCH = 1000
"""Rows compared at a time."""
LEFT_AT_ONCE = 10_000
"""Most rows of one kind that a pass reads; repaired rows are gone at the next pass, which finds the others."""
AS_CONFIGURED = float("inf")
"""Stands for the whole setting `orphan_grace_seconds` as the grace period."""


@dataclass(frozen=True, slots=True)
class System:
    """The readers and repair writers of invariants."""

    repositories: Repositories
    life_cycle: KnowledgeBaseLifeCycle
    models: EmbeddingModels
    backends: Backends
    grace_seconds: float
    pairs: Pairs = field(default_factory=Pairs)


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of the findings. `after`: the last key examined. `entries`: index entries seen."""

    drift: Sequence[Drift]
    after: str = ""
    entries: int = 0


class Invariant(ABC):
    """A rule that stored state must satisfy, with its repair.

    Attributes:
        name: part of the position at which an interrupted pass continues.
        kinds: kinds of drift that it finds.
        depth: FULL if only full passes check it.
        most_grace_seconds: upper bound of the grace period, in which a violation may be work in progress; 0 if jobs,
            leases or a second look distinguish work in progress from drift.
        is_bounded: a pass stops looking after it has requested the most repairs of a kind.
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
        """Repair the repairable; return the number of repairs made or requested.

        Raises:
            LeaseLostError: the pass has lost its lease; a part of the batch may be repaired.
        """


class KnowledgeBaseInvariant(Invariant):
    """An invariant of each knowledge base."""

    @abstractmethod
    def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """Find violations in the knowledge base, behind the key `after`."""

    def find_changes(self, knowledge_base: KnowledgeBase, *, after: str) -> AsyncGenerator[Batch]:
        """Find violations that have come since the last complete look of this process, like a quick pass."""
        return self.find(knowledge_base, Depth.QUICK, after=after)


class SystemInvariant(Invariant):
    """An invariant of data outside of knowledge bases.

    `needs_everything`: it cannot check one organization alone.
    """

    needs_everything: ClassVar[bool] = False

    @abstractmethod
    def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """Find violations of all organizations or of one, behind the key `after`."""


def of_knowledge_base(kind: DriftKind, knowledge_base: KnowledgeBase, detail: str | None = None) -> Drift:
    """Return the drift of a knowledge base as a whole."""
    return Drift(kind, knowledge_base.organization_id, knowledge_base.id, detail=detail)
