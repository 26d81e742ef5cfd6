"""What a pass found."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from analytiq.models.reconciliation import DriftKind

__all__ = ["EXAMPLES", "Drift", "DriftKind", "Report"]

EXAMPLES = 20
"""How many departures of a kind are named; the others are counted only, so that a report has a bounded size."""
MOST_ORGANIZATIONS = 1000
"""Of how many organizations a report over everything keeps a report of its own."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One departure: what kind, and of what. `organization_id` is empty where nothing tells whose it is.

    `target_id` is the id of the file, text or upload that it is about; `detail` is for people. `byte_size` is that
    of the document's file, where its extraction is asked for.
    """

    kind: DriftKind
    organization_id: str
    kb_id: str | None = None
    document_id: str | None = None
    generation_id: str | None = None
    target_id: str | None = None
    detail: str | None = None
    byte_size: int = 0


@dataclass(slots=True)
class Report:
    """The drift that a pass found, how much it asked to repair, and how many rows it looked at.

    Where `is_cut`, a bound was reached: what was not looked at is left to the next pass.
    """

    found: dict[DriftKind, int] = field(default_factory=dict[DriftKind, int])
    named: dict[DriftKind, list[Drift]] = field(default_factory=dict[DriftKind, list[Drift]])
    repairs: int = 0
    is_cut: bool = False
    knowledge_bases: int = 0
    entries: int = 0
    of_organization: dict[str, "Report"] | None = None
    """Where it is a dict: what was found of each organization."""

    @property
    def drift(self) -> list[Drift]:
        """The departures that are named: all, where no kind has more than EXAMPLES."""
        return [item for items in self.named.values() for item in items]

    def add(self, drift: Iterable[Drift]) -> None:
        """Count what was found, and keep the first of each kind."""
        for item in drift:
            self.found[item.kind] = self.found.get(item.kind, 0) + 1
            examples = self.named.setdefault(item.kind, [])
            if len(examples) < EXAMPLES:
                examples.append(item)
            if self.of_organization is not None:
                self._tell(item, self.of_organization)

    def _tell(self, item: Drift, reports: dict[str, "Report"]) -> None:
        if item.organization_id in reports or (item.organization_id and len(reports) < MOST_ORGANIZATIONS):
            reports.setdefault(item.organization_id, Report()).add([item])

    def count(self, kind: DriftKind) -> int:
        """How much of one kind was found."""
        return self.found.get(kind, 0)

    def counts(self) -> dict[str, int]:
        """How much was found, by kind, of those that were found at all."""
        return {kind.value: self.found[kind] for kind in DriftKind if self.found.get(kind)}

    def resume(self, counts: Mapping[str, int]) -> None:
        """Go on counting where a process that has ended had come to; what it named is kept by the stored run."""
        for kind in DriftKind:
            if counts.get(kind.value):
                self.found[kind] = self.found.get(kind, 0) + counts[kind.value]
