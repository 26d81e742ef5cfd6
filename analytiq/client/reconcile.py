"""Client calls for runs of the reconciler."""

import time

from analytiq.client.answers import Page
from analytiq.client.connection import Connection
from analytiq.client.job_models import ReconcileReport, ReconcileRun
from analytiq.client.paths import segment
from analytiq.errors import TransientError

FIRST_LOOK_SECONDS = 0.1
SLOWEST_LOOK_SECONDS = 2.0


class ReconcileCalls(Connection):
    """Calls about the reconciler, which finds and repairs inconsistencies."""

    def reconcile(
        self, *, kb_id: str | None = None, depth: str = "quick", dry_run: bool = False, rebuild_cache: bool = False
    ) -> ReconcileRun:
        """Request a run over the organization, or one knowledge base; a worker executes it.

        Args:
            kb_id: only this knowledge base.
            depth: quick (rows, and vectors whose counts do not match) or full (every vector, file and text).
            dry_run: report findings without repairs.
            rebuild_cache: also put embeddings of knowledge bases back into the cache; calls no provider.
        """
        path = "/reconcile" if kb_id is None else f"/knowledge-bases/{segment(kb_id)}/reconcile"
        body = {"depth": depth, "dry_run": dry_run, "rebuild_cache": rebuild_cache}
        return ReconcileRun.model_validate_json(self._transport.call("POST", path, json=body))

    def reconcile_runs(self, *, kb_id: str | None = None, skip: int = 0, limit: int = 10) -> Page[ReconcileRun]:
        """Return a page of runs, newest first."""
        return self._page("/reconcile/runs", "runs", ReconcileRun, {"kb_id": kb_id}, skip=skip, limit=limit)

    def reconcile_report(self, run_id: str) -> ReconcileReport:
        """Return a run with its progress and its findings by name."""
        return ReconcileReport.model_validate_json(self._transport.call("GET", f"/reconcile/runs/{segment(run_id)}"))

    def wait_for_reconcile(self, run_id: str, *, timeout_seconds: float = 3600.0) -> ReconcileReport:
        """Wait until a run has ended.

        Raises:
            TransientError: it is unfinished in time.
        """
        deadline, pause = time.monotonic() + timeout_seconds, FIRST_LOOK_SECONDS
        while True:
            report = self.reconcile_report(run_id)
            if report.is_over:
                return report
            if time.monotonic() + pause > deadline:
                raise TransientError(f"The run {run_id} has not ended within {timeout_seconds:g} s. It continues.")
            time.sleep(pause)
            pause = min(SLOWEST_LOOK_SECONDS, pause * 1.5)
