"""A pass: looks for violations of one invariant after another, and repairs them batch by batch."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic

import structlog

from analytiq.jobs.scheduling.fences import Fence, NoFence
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, RunPosition
from analytiq.operations.reconcile.invariants.base import (
    Batch,
    Invariant,
    KnowledgeBaseInvariant,
    System,
    SystemInvariant,
)
from analytiq.operations.reconcile.invariants.registry import OF_KNOWLEDGE_BASES, OF_THE_SYSTEM, ON_REQUEST
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift, Report
from analytiq.telemetry import metrics

log = structlog.get_logger(__name__)

MOST_REPAIRS = 25_000
"""Most repairs of one kind in a pass: about the capacity of one machine's workers until the next."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The extent of a pass: everything, an organization, or a single knowledge base of it."""

    organization_id: str | None = None
    kb_id: str | None = None


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class Step:
    """Progress of a pass: `done` of `total` knowledge bases and other parts, and the position to resume from."""

    position: RunPosition
    done: int
    total: int


OnStep = Callable[[Report, Step], Awaitable[None]]
"""Called after each batch."""


@dataclass(frozen=True, slots=True)
class PassOptions:
    """Options of a pass.

    `resume`: the position of an earlier process. `rebuilds_cache`: also put embeddings back into the cache.
    `reads_changes`: a quick pass reads only the changes since this process last compared all rows.
    """

    scope: Scope = EVERYTHING
    depth: Depth = Depth.QUICK
    is_dry: bool = False
    rebuilds_cache: bool = False
    reads_changes: bool = False
    resume: RunPosition | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """An invariant, with a knowledge base if it is checked in each."""

    position: RunPosition
    invariant: Invariant
    find: Callable[[str], AsyncGenerator[Batch]]


class Reconciler:
    """Finds and repairs drift, of every organization or of one."""

    def __init__(self, system: System) -> None:
        """Build the registered invariants on the system."""
        self._rows = system.repositories
        self._of_knowledge_bases = [invariant(system) for invariant in OF_KNOWLEDGE_BASES]
        self._on_request = [invariant(system) for invariant in ON_REQUEST]
        self._of_the_system = [invariant(system) for invariant in OF_THE_SYSTEM]

    async def run_pass(
        self,
        *,
        is_dry: bool = False,
        depth: Depth = Depth.QUICK,
        scope: Scope = EVERYTHING,
        fence: Fence | None = None,
    ) -> Report:
        """Check everything once; repair unless `is_dry`."""
        return await self.reconcile(PassOptions(scope, depth, is_dry), fence or NoFence())

    async def reconcile(
        self, options: PassOptions, fence: Fence, *, report: Report | None = None, on_step: OnStep | None = None
    ) -> Report:
        """Run one pass with the options; continue `report` if it resumes.

        Raises:
            LeaseLostError: the fence was lost; another process continues.
        """
        report = Report() if report is None else report
        shown = await self._rows.knowledge_bases.shown_of(options.scope.organization_id, options.scope.kb_id)
        report.knowledge_bases = len(shown)
        parts = self._parts(options, shown)
        left = _left_of(parts, options.resume)
        writer = None if options.is_dry else RepairWriter(self._rows, fence)
        began = monotonic()
        for number, (part, after) in enumerate(left, start=len(parts) - len(left)):
            async with aclosing(part.find(after)) as batches:
                async for batch in batches:
                    await self._take(part.invariant, batch, writer, report)
                    if on_step is not None:
                        position = part.position.model_copy(update={"after": batch.after})
                        await on_step(report, Step(position, number, len(parts)))
                    if writer is not None and part.invariant.is_bounded and self._is_full(batch, report):
                        report.is_cut = True
                        break
        metrics.pass_seconds.labels(depth=options.depth.value).observe(monotonic() - began)
        if report.found:
            log.warning("reconcile.drift", is_dry=options.is_dry, depth=options.depth.value, **report.counts())
        return report

    def _parts(self, options: PassOptions, shown: Sequence[KnowledgeBase]) -> list[_Part]:
        """Return the parts of the pass, in an order that is stable for a pass that resumes it."""
        wanted = [each for each in self._of_knowledge_bases if _is_wanted(each.depth, options.depth)]
        if options.rebuilds_cache:
            wanted += self._on_request
        parts = [
            _Part(RunPosition(stage=each.name, kb_id=item.id), each, _find_in(each, item, options))
            for each in wanted
            for item in shown
        ]
        if options.scope.kb_id is not None:
            return parts
        organization_id = options.scope.organization_id
        return parts + [
            _Part(RunPosition(stage=each.name), each, _find_at(each, organization_id))
            for each in self._of_the_system
            if _is_wanted(each.depth, options.depth) and not (each.needs_everything and organization_id is not None)
        ]

    async def _take(self, invariant: Invariant, batch: Batch, writer: RepairWriter | None, report: Report) -> None:
        report.entries += batch.entries
        drift = await self._of_existing_organizations(batch.drift) if batch.drift else []
        report.add(drift)
        if drift and writer is not None:
            for item in drift:
                metrics.drift_found.labels(kind=item.kind.value).inc()
            repaired = await invariant.repair(drift, writer)
            report.repairs += repaired
            metrics.repairs.inc(repaired)

    async def _of_existing_organizations(self, drift: Sequence[Drift]) -> list[Drift]:
        """Filter out drift of organizations being restored or erased, which have no row.

        A restore writes an organization's row last, and may be killed and continue days later; an erasure
        deletes it first. Their unfinished state departs from every invariant, and they complete it themselves.
        """
        ids = {item.organization_id for item in drift if item.organization_id}
        known = await self._rows.organizations.existing(ids) if ids else set[str]()
        return [item for item in drift if not item.organization_id or item.organization_id in known]

    def _is_full(self, batch: Batch, report: Report) -> bool:
        return any(report.count(kind) >= MOST_REPAIRS for kind in {item.kind for item in batch.drift})


def _is_wanted(of_invariant: Depth, of_pass: Depth) -> bool:
    return of_invariant is Depth.QUICK or of_pass is Depth.FULL


def _find_in(
    invariant: KnowledgeBaseInvariant, knowledge_base: KnowledgeBase, options: PassOptions
) -> Callable[[str], AsyncGenerator[Batch]]:
    if options.reads_changes and options.depth is Depth.QUICK:
        return lambda after: invariant.find_changes(knowledge_base, after=after)
    return lambda after: invariant.find(knowledge_base, options.depth, after=after)


def _find_at(invariant: SystemInvariant, organization_id: str | None) -> Callable[[str], AsyncGenerator[Batch]]:
    return lambda after: invariant.find(organization_id, after=after)


def _left_of(parts: Sequence[_Part], resume: RunPosition | None) -> list[tuple[_Part, str]]:
    """Return the remaining parts, each with the key to resume behind.

    A knowledge base deleted meanwhile is skipped: the invariant's later ones remain.
    """
    if resume is None:
        return [(part, "") for part in parts]
    names = [part.position.stage for part in parts]
    if resume.stage not in names:
        return [(part, "") for part in parts]
    first = names.index(resume.stage)
    left: list[tuple[_Part, str]] = []
    for number, part in enumerate(parts):
        if number < first or (part.position.stage == resume.stage and part.position.kb_id < resume.kb_id):
            continue
        is_same = (part.position.stage, part.position.kb_id) == (resume.stage, resume.kb_id)
        left.append((part, resume.after if is_same else ""))
    return left
