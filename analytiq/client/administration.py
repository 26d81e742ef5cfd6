"""Operations for administrators: erasures, retention, backups, health, and the reconciler."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from analytiq.client.administration_models import Backup, Erasure, ErasureDetail, Health, Retention
from analytiq.client.answers import Page
from analytiq.client.calls import all_items, call, get, given, page, post, put
from analytiq.client.job_models import ReconcileReport, ReconcileRun
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Items, Request
from analytiq.client.waiting import Waiting


class AdministrationCalls(Calls):
    """Erasures, retention, backups and health."""

    @operation
    def create_erasure(
        self,
        kind: str,
        *,
        document_ids: Sequence[str] = (),
        tag_ids: Sequence[str] = (),
        name_contains: str | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        uploaded_before: datetime | None = None,
        includes_shared: bool = False,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Flow[Erasure]:
        """Erase documents or cached embeddings for good, with a report.

        Args:
            kind: documents or cache.
            document_ids: these documents.
            tag_ids: documents with all of these tags.
            name_contains: a part of the name, ignoring case.
            metadata: documents with all of these values.
            uploaded_before: documents that are older.
            includes_shared: of the cache: also shared embeddings that the organization paid for.
            reason: stored in the report.
            dry_run: count the data without erasing it.
        """
        body = {
            "kind": kind,
            "document_ids": list(document_ids),
            "tag_ids": list(tag_ids),
            "includes_shared": includes_shared,
            "dry_run": dry_run,
        } | given(
            name_contains=name_contains,
            metadata=None if metadata is None else dict(metadata),
            uploaded_before=uploaded_before and uploaded_before.isoformat(),
            reason=reason,
        )
        return post("/erasures", Erasure, body)

    @listing
    def erasures(self) -> Items[Erasure]:
        """Yield all erasures, latest first."""
        return all_items("/erasures", "erasures", Erasure)

    @operation
    def erasure(self, erasure_id: str) -> Flow[ErasureDetail]:
        """Return an erasure with its report."""
        return get(f"/erasures/{segment(erasure_id)}", ErasureDetail)

    @operation
    def retention(self) -> Flow[Retention]:
        """Return the days after which documents are deleted."""
        return get("/retention", Retention)

    @operation
    def set_retention(self, document_days: int | None) -> Flow[Retention]:
        """Delete documents this many days after their upload; None: never."""
        return put("/retention", Retention, {"document_days": document_days})

    @listing
    def backups(self) -> Items[Backup]:
        """Yield the organization's backups and restores, latest first."""
        return all_items("/backups", "backups", Backup)

    @operation
    def health(self) -> Flow[Health]:
        """Return the state of the API process."""
        return _state("/health")

    @operation
    def readiness(self) -> Flow[Health]:
        """Return whether the API can serve calls.

        Raises:
            ProblemError: it cannot.
        """
        return _state("/ready")

    @operation
    def metrics(self) -> Flow[str]:
        """Return the process's metrics in Prometheus' text format."""
        reply = yield from call(Request("GET", "/metrics", is_outside=True, accepts_text=True))
        return reply.content.decode()


def _state(path: str) -> Flow[Health]:
    reply = yield from call(Request("GET", path, is_outside=True))
    return Health.model_validate_json(reply.content)


class ReconcileCalls(Calls):
    """The reconciler, which finds and repairs inconsistencies."""

    @operation
    def reconcile(
        self, *, kb_id: str | None = None, depth: str = "quick", dry_run: bool = False, rebuild_cache: bool = False
    ) -> Flow[ReconcileRun]:
        """Request a run over the organization, or one knowledge base; a worker executes it.

        Args:
            kb_id: only this knowledge base.
            depth: quick (rows, and vectors whose counts do not match) or full (every vector, file and text).
            dry_run: report findings without repairs.
            rebuild_cache: also put embeddings of knowledge bases back into the cache; calls no provider.
        """
        path = "/reconcile" if kb_id is None else f"/knowledge-bases/{segment(kb_id)}/reconcile"
        return post(path, ReconcileRun, {"depth": depth, "dry_run": dry_run, "rebuild_cache": rebuild_cache})

    @operation
    def reconcile_runs(self, *, kb_id: str | None = None, skip: int = 0, limit: int = 10) -> "Flow[Page[ReconcileRun]]":
        """Return a page of runs, newest first."""
        return page("/reconcile/runs", "runs", ReconcileRun, {"kb_id": kb_id}, skip=skip, limit=limit)

    @operation
    def reconcile_report(self, run_id: str) -> Flow[ReconcileReport]:
        """Return a run with its progress and its findings by name."""
        return get(f"/reconcile/runs/{segment(run_id)}", ReconcileReport)

    @operation
    def wait_for_reconcile(self, run_id: str, *, timeout_seconds: float = 3600.0) -> Flow[ReconcileReport]:
        """Wait until a run has ended.

        Raises:
            TransientError: it is unfinished in time.
        """
        waiting = Waiting(timeout_seconds)
        while True:
            report = yield from self.reconcile_report(run_id)
            if report.is_over:
                return report
            yield waiting.pause(f"The run {run_id} has not ended within {timeout_seconds:g} s. It continues.")
