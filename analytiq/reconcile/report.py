"""What a pass found."""

from dataclasses import dataclass, field
from enum import StrEnum


class DriftKind(StrEnum):
    """How state can depart from intent."""

    MISSING = "missing"
    """A member has no index entry, and no job that will make one."""
    STALE = "stale"
    """An index entry's document is gone or no member any more."""
    OUTDATED = "outdated"
    """An index entry was made from another text or configuration."""
    ORPHAN = "orphan"
    """Vectors that no index entry names and nothing is working on."""
    UNSETTLED = "unsettled"
    """A knowledge base's status or counts are behind."""
    STUCK_DOCUMENT = "stuck_document"
    """A document waits for extraction, and no job will do it."""
    ABANDONED_TEXT = "abandoned_text"
    """A text that an extraction staged whose worker has died, or has lost its job to another."""
    ABANDONED_UPLOAD = "abandoned_upload"
    """Bytes of an upload whose sender has gone."""
    HALF_DELETED = "half_deleted"
    """A knowledge base whose deletion was not finished."""
    HALF_CREATED = "half_created"
    """A collection of vectors whose knowledge base was never made: its creator died in between."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One departure: what kind, and of what. `organization_id` is empty where nothing tells whose it is."""

    kind: DriftKind
    organization_id: str
    kb_id: str | None = None
    document_id: str | None = None
    generation_id: str | None = None


@dataclass(slots=True)
class Report:
    """The drift that a pass found, and how many rows it looked at."""

    drift: list[Drift] = field(default_factory=list[Drift])
    knowledge_bases: int = 0
    entries: int = 0

    def count(self, kind: DriftKind) -> int:
        """How much of one kind was found."""
        return sum(item.kind is kind for item in self.drift)

    def counts(self) -> dict[str, int]:
        """How much was found, by kind, of those that were found at all."""
        return {kind.value: self.count(kind) for kind in DriftKind if self.count(kind)}
