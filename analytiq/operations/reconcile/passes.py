"""Periodic passes of the reconciler."""

from analytiq.jobs.scheduling.fences import Fence
from analytiq.jobs.scheduling.tasks import PeriodicTask
from analytiq.models.reconciliation import Depth
from analytiq.operations.reconcile.runs import Runs
from analytiq.settings import ReconcilerSettings


def passes(runs: Runs, settings: ReconcilerSettings) -> list[PeriodicTask]:
    """Return the periodic passes of both depths; none if they are disabled."""
    if not settings.is_enabled:
        return []

    def a_pass(name: str, depth: Depth, interval_seconds: float) -> PeriodicTask:
        async def run(fence: Fence) -> None:
            await runs.run_over_everything(depth, fence)

        return PeriodicTask(name=name, interval_seconds=interval_seconds, run=run)

    return [
        a_pass("pass", Depth.QUICK, settings.interval_seconds),
        a_pass("full_pass", Depth.FULL, settings.full_interval_seconds),
    ]
