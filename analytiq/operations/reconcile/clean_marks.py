"""Marks of clean passes: the moment up to which the entries of a knowledge base were compared with its members.

Marks live in the process that made the comparison: after a restart, the first pass reads every row. So a mark never
outlives a release with other rules, a restore of the database or a deployment.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.report import Drift

OVERLAP = timedelta(minutes=75)
"""Time before a mark that the next pass reads again: rows name the writer's clock, which may be an hour off."""
SMALL = 1000
"""Documents up to which a knowledge base is read whole: one read, as cheap as looking for its changes."""
MOST_UNSETTLED = 1000
"""Most documents that a mark names; with more, the next pass reads every row."""

MOST_MARKS = 10_000
"""Most knowledge bases with a mark; without one, every row is read."""

Configuration = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class CleanMark:
    """The result of a comparison.

    Attributes:
        since: changes at this moment or later were not seen, on the server's clock.
        configuration: the knowledge base's settings that the comparison used.
        unsettled: documents that differed, or whose work was under way.
        deviation: entries less members, except for the unsettled documents; 0 unless rows changed meanwhile.
    """

    since: datetime
    configuration: Configuration
    unsettled: frozenset[str]
    deviation: int


@dataclass(slots=True)
class Comparison:
    """A comparison in progress, from which a mark is made."""

    began_at: datetime
    unsettled: set[str] = field(default_factory=set[str])
    surplus: int = 0
    """Entries without a member, less members without an entry."""

    def note(self, candidates: Collection[Drift]) -> None:
        """Record the documents of a batch that differ, whether or not a job is about to change that."""
        for item in candidates:
            self.surplus += (item.kind is DriftKind.STALE) - (item.kind is DriftKind.MISSING)
            if item.document_id and len(self.unsettled) <= MOST_UNSETTLED:
                self.unsettled.add(item.document_id)


class CleanMarks:
    """The latest mark of each knowledge base."""

    def __init__(self) -> None:
        self._marks: dict[str, CleanMark] = {}

    def of(self, knowledge_base: KnowledgeBase) -> CleanMark | None:
        """Return the mark, unless the knowledge base has changed since or is small."""
        mark = self._marks.get(knowledge_base.id)
        if mark is None or mark.configuration != configuration_of(knowledge_base):
            return None
        return None if is_small(knowledge_base) else mark

    def put(self, knowledge_base: KnowledgeBase, comparison: Comparison, *, surplus: int) -> None:
        """Record a completed comparison, or forget the mark if too many documents are unsettled.

        Args:
            knowledge_base: as read before the comparison.
            comparison: the complete comparison.
            surplus: entries less members, by count.
        """
        self._marks.pop(knowledge_base.id, None)
        if len(comparison.unsettled) > MOST_UNSETTLED:
            return
        if len(self._marks) >= MOST_MARKS:
            del self._marks[next(iter(self._marks))]
        self._marks[knowledge_base.id] = CleanMark(
            since=comparison.began_at - OVERLAP,
            configuration=configuration_of(knowledge_base),
            unsettled=frozenset(comparison.unsettled),
            deviation=surplus - comparison.surplus,
        )


def is_small(knowledge_base: KnowledgeBase) -> bool:
    """Return True for a knowledge base that every pass reads whole."""
    return knowledge_base.document_count <= SMALL


def configuration_of(knowledge_base: KnowledgeBase) -> Configuration:
    """Return the settings that decide membership and entries, and the identity of the vectors' collection."""
    tag_ids = tuple(sorted(knowledge_base.tag_ids))
    return tag_ids, knowledge_base.configuration_hash, knowledge_base.vectors_uuid
