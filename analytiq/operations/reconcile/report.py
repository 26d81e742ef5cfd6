"""The report of a pass."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from analytiq.models.reconciliation import DriftKind

__all__ = ["EXAMPLES", "Drift", "DriftKind", "Report"]

EXAMPLES = 20
"""Most drifts of a kind that are named; others are only counted, so that a report has a bounded size."""
MOST_ORGANIZATIONS = 1000
"""Most organizations with a report of their own in a report over everything."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One drift: its kind and target. `organization_id` is empty if the owner is unknown.

    `target_id` is the id of the file, text or upload concerned; `detail` is for people. `byte_size` is the size
    of the document's file, if its extraction is requested.
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
    """The drift found by a pass, the number of requested repairs, and the number of rows examined.

    `is_cut`: a bound was reached, and the rest is left to the next pass.
    """

    found: dict[DriftKind, int] = field(default_factory=dict[DriftKind, int])
    named: dict[DriftKind, list[Drift]] = field(default_factory=dict[DriftKind, list[Drift]])
    repairs: int = 0
    is_cut: bool = False
    knowledge_bases: int = 0
    entries: int = 0
    of_organization: dict[str, "Report"] | None = None
    """The findings by organization, in a report over everything."""

    @property
    def drift(self) -> list[Drift]:
        """The named drifts: all, unless a kind has more than EXAMPLES."""
        return [item for items in self.named.values() for item in items]

    def add(self, drift: Iterable[Drift]) -> None:
        """Count the findings, and keep the first ones of each kind."""
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
        """Return the number of findings of a kind."""
        return self.found.get(kind, 0)

    def counts(self) -> dict[str, int]:
        """Return the number of findings by kind, without zeros."""
        return {kind.value: self.found[kind] for kind in DriftKind if self.found.get(kind)}

    def resume(self, counts: Mapping[str, int]) -> None:
        """Continue the counts of an ended process; the stored run keeps its examples."""
        for kind in DriftKind:
            if counts.get(kind.value):
                self.found[kind] = self.found.get(kind, 0) + counts[kind.value]
