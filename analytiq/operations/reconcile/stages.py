"""What the parts of a pass have in common.

A stage looks for some kinds of drift, in batches of bounded size and in the order of a key, so that a pass holds little
at a time and can go on, after a crash, where it was. It writes nothing: `analytiq.operations.reconcile.repairs` does.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth
from analytiq.operations.reconcile.report import Drift

BATCH = 1000
"""Rows that are compared at a time."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose state is looked at: everything, an organization's, or a single knowledge base's of it."""

    organization_id: str | None = None
    kb_id: str | None = None


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of what a stage found. `after`: the key up to which it has looked. `entries`: index entries seen."""

    drift: Sequence[Drift]
    after: str = ""
    entries: int = 0


class KnowledgeBaseStage(Protocol):
    """Looks at one knowledge base after the other."""

    name: str
    depth: Depth

    def look(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """What departs in this knowledge base, behind the key `after`."""
        ...


class SystemStage(Protocol):
    """Looks at what lies outside knowledge bases. `needs_everything`: it cannot look at one organization alone."""

    name: str
    depth: Depth
    needs_everything: bool

    def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """What departs, of all organizations or of one, behind the key `after`."""
        ...
