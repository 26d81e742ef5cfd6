"""A pass: stage after stage looks, what is found is counted and mended, batch by batch."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic

import structlog

from analytiq.jobs.scheduling.fences import Fence, NoFence
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind, RunPosition
from analytiq.operations.reconcile.repairs import Repairs
from analytiq.operations.reconcile.report import Drift, Report
from analytiq.operations.reconcile.stages import EVERYTHING, Batch, KnowledgeBaseStage, Scope, SystemStage
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.telemetry import metrics

log = structlog.get_logger(__name__)

UNBOUNDED = frozenset({DriftKind.UNCACHED})
"""Kinds whose repair asks for no job: the bound keeps the queue short."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a pass is: `done` of `total` knowledge bases and other parts, and where a resumed one goes on."""

    position: RunPosition
    done: int
    total: int


OnStep = Callable[[Report, Step], Awaitable[None]]
"""Told after each batch."""


@dataclass(frozen=True, slots=True)
class PassOptions:
    """What a pass does.

    `resume`: where an earlier process had come to. With `rebuilds_cache` it also puts embeddings back into the cache.
    """

    scope: Scope = EVERYTHING
    depth: Depth = Depth.QUICK
    is_dry: bool = False
    rebuilds_cache: bool = False
    resume: RunPosition | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """A stage, in one knowledge base where it is of that kind."""

    position: RunPosition
    look: Callable[[str], AsyncGenerator[Batch]]


class Reconciler:
    """Finds and repairs drift, of every organization or of one."""

    def __init__(
        self,
        organizations: OrganizationRepository,
        knowledge_bases: KnowledgeBaseRepository,
        repairs: Repairs,
        *,
        kb_stages: Sequence[KnowledgeBaseStage],
        system_stages: Sequence[SystemStage],
        cache_stage: KnowledgeBaseStage,
        most_repairs: int,
    ) -> None:
        """Put together.

        Args:
            organizations: whose state is looked at.
            knowledge_bases: which there are.
            repairs: what mends.
            kb_stages: look at each knowledge base, in this order.
            system_stages: look outside of them, afterwards.
            cache_stage: looks only where that is asked for.
            most_repairs: of one kind that a pass asks for; the next pass goes on.
        """
        self._organizations = organizations
        self._knowledge_bases = knowledge_bases
        self._repairs = repairs
        self._kb_stages = kb_stages
        self._system_stages = system_stages
        self._cache_stage = cache_stage
        self._most_repairs = most_repairs

    async def run_pass(
        self,
        *,
        is_dry: bool = False,
        depth: Depth = Depth.QUICK,
        scope: Scope = EVERYTHING,
        fence: Fence | None = None,
    ) -> Report:
        """Look at everything once; repair unless `is_dry`."""
        return await self.reconcile(PassOptions(scope, depth, is_dry), fence or NoFence())

    async def reconcile(
        self, options: PassOptions, fence: Fence, *, report: Report | None = None, on_step: OnStep | None = None
    ) -> Report:
        """Look once, as the options say; goes on with `report` where it resumes.

        Raises:
            LeaseLostError: the fence gave way; another process goes on.
        """
        report = Report() if report is None else report
        shown = await self._knowledge_bases.shown_of(options.scope.organization_id, options.scope.kb_id)
        report.knowledge_bases = len(shown)
        parts = self._parts(options, shown)
        left = _left_of(parts, options.resume)
        began = monotonic()
        for number, (part, after) in enumerate(left, start=len(parts) - len(left)):
            async with aclosing(part.look(after)) as batches:
                async for batch in batches:
                    await self._take(batch, options, fence, report)
                    if on_step is not None:
                        position = part.position.model_copy(update={"after": batch.after})
                        await on_step(report, Step(position, number, len(parts)))
                    if self._is_bounded(batch, options, report):
                        report.is_cut = True
                        break
        metrics.pass_seconds.labels(depth=options.depth.value).observe(monotonic() - began)
        if report.found:
            log.warning("reconcile.drift", is_dry=options.is_dry, depth=options.depth.value, **report.counts())
        return report

    def _parts(self, options: PassOptions, shown: Sequence[KnowledgeBase]) -> list[_Part]:
        """What the pass consists of, in an order that stays the same for a pass that resumes it."""
        kb_stages = [stage for stage in self._kb_stages if _is_wanted(stage.depth, options.depth)]
        if options.rebuilds_cache:
            kb_stages.append(self._cache_stage)
        parts = [
            _Part(RunPosition(stage=stage.name, kb_id=item.id), _look_in(stage, item, options.depth))
            for stage in kb_stages
            for item in shown
        ]
        if options.scope.kb_id is not None:
            return parts
        organization_id = options.scope.organization_id
        return parts + [
            _Part(RunPosition(stage=stage.name), _look_at(stage, organization_id))
            for stage in self._system_stages
            if _is_wanted(stage.depth, options.depth) and not (stage.needs_everything and organization_id is not None)
        ]

    async def _take(self, batch: Batch, options: PassOptions, fence: Fence, report: Report) -> None:
        report.entries += batch.entries
        drift = await self._of_existing_organizations(batch.drift) if batch.drift else []
        report.add(drift)
        if drift and not options.is_dry:
            for item in drift:
                metrics.drift_found.labels(kind=item.kind.value).inc()
            repaired = await self._repairs.apply(drift, fence)
            report.repairs += repaired
            metrics.repairs.inc(repaired)

    async def _of_existing_organizations(self, drift: Sequence[Drift]) -> list[Drift]:
        """Without what belongs to no organization yet, or none any more.

        A restore brings an organization's row last of all, and may be killed and gone on with days later; an erasure
        takes it away first. What they have left so far departs from everything, and is theirs to finish.
        """
        ids = {item.organization_id for item in drift if item.organization_id}
        known = await self._organizations.existing(ids) if ids else set[str]()
        return [item for item in drift if not item.organization_id or item.organization_id in known]

    def _is_bounded(self, batch: Batch, options: PassOptions, report: Report) -> bool:
        kinds = {item.kind for item in batch.drift} - UNBOUNDED
        return not options.is_dry and any(report.count(kind) >= self._most_repairs for kind in kinds)


def _is_wanted(of_stage: Depth, of_pass: Depth) -> bool:
    return of_stage is Depth.QUICK or of_pass is Depth.FULL


def _look_in(
    stage: KnowledgeBaseStage, knowledge_base: KnowledgeBase, depth: Depth
) -> Callable[[str], AsyncGenerator[Batch]]:
    return lambda after: stage.look(knowledge_base, depth, after=after)


def _look_at(stage: SystemStage, organization_id: str | None) -> Callable[[str], AsyncGenerator[Batch]]:
    return lambda after: stage.look(organization_id, after=after)


def _left_of(parts: Sequence[_Part], resume: RunPosition | None) -> list[tuple[_Part, str]]:
    """The parts that are still to be done, each with the key that it begins behind.

    A knowledge base that was deleted meanwhile is passed over: those of the stage with later ids are left.
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
