"""Client calls for jobs."""

from collections.abc import Sequence
from typing import Any

from analytiq.client.answers import Page
from analytiq.client.connection import Connection, Query
from analytiq.client.job_models import (
    DocumentLog,
    DocumentStatus,
    Job,
    JobCancellation,
    JobCounts,
    JobDetail,
    JobErrorGroup,
    JobErrors,
    JobReplay,
)
from analytiq.client.paths import segment


class JobCalls(Connection):
    """Calls for jobs."""

    def jobs_page(
        self,
        *,
        states: Sequence[str] = (),
        kinds: Sequence[str] = (),
        kb_id: str | None = None,
        document_id: str | None = None,
        error_code: str | None = None,
        skip: int = 0,
        limit: int = 10,
    ) -> Page[Job]:
        """Return a page of jobs, latest change first, with the total count.

        There is no iteration over all: jobs change their place in this list as they run.

        Args:
            states: any of available, running, dead.
            kinds: any of extract, membership_document, membership_kb, sync, sweep, clean_document, drop_kb.
            kb_id: of this knowledge base.
            document_id: of this document.
            error_code: of the last failed attempt.
            skip: number of jobs to skip.
            limit: most jobs to return, up to 100.
        """
        query: Query = {
            "state": list(states) or None,
            "kind": list(kinds) or None,
            "kb_id": kb_id,
            "document_id": document_id,
            "error_code": error_code,
        }
        return self._page("/jobs", "jobs", Job, query, skip=skip, limit=limit)

    def job(self, job_id: str) -> JobDetail:
        """Return a job with its latest attempts; 404 once it is finished."""
        return JobDetail.model_validate_json(self._transport.call("GET", _path(job_id)))

    def replay_job(self, job_id: str) -> None:
        """Run a failed job again, as if it had never been tried; 409 if it has not failed."""
        self._transport.call("POST", f"{_path(job_id)}/replay")

    def replay_jobs(
        self,
        *,
        kind: str | None = None,
        kb_id: str | None = None,
        document_id: str | None = None,
        error_code: str | None = None,
        is_all: bool = False,
    ) -> int:
        """Run matching failed jobs again, or with `is_all` every one; return their number."""
        narrowing = {"kind": kind, "kb_id": kb_id, "document_id": document_id, "error_code": error_code}
        body: dict[str, Any] = {name: value for name, value in narrowing.items() if value is not None}
        if is_all:
            body["all"] = True
        return JobReplay.model_validate_json(self._transport.call("POST", "/jobs/replay", json=body)).replayed

    def cancel_job(self, job_id: str) -> Job:
        """Cancel a job: a waiting one ends at once, a running one within seconds."""
        return Job.model_validate_json(self._transport.call("POST", f"{_path(job_id)}/cancel"))

    def cancel_jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        kb_id: str | None = None,
        document_id: str | None = None,
        error_code: str | None = None,
        is_all: bool = False,
    ) -> JobCancellation:
        """Cancel matching jobs, or with `is_all` every one, except deletions.

        Args:
            state: available or running; None: both.
            kind: of jobs, such as sync.
            kb_id: of this knowledge base.
            document_id: of this document.
            error_code: of the last failed attempt.
            is_all: every job of the organization.
        """
        narrowing = {"kind": kind, "kb_id": kb_id, "document_id": document_id, "error_code": error_code}
        body: dict[str, Any] = {name: value for name, value in narrowing.items() if value is not None}
        if is_all:
            body["all"] = True
        if state is not None:
            body["state"] = state
        return JobCancellation.model_validate_json(self._transport.call("POST", "/jobs/cancel", json=body))

    def job_counts(self) -> JobCounts:
        """Count waiting, running and failed jobs of each kind."""
        return JobCounts.model_validate_json(self._transport.call("GET", "/jobs/counts"))

    def job_errors(self, *, kinds: Sequence[str] = (), kb_id: str | None = None) -> list[JobErrorGroup]:
        """Return matching failed jobs, by error; most frequent first."""
        query: Query = {"kind": list(kinds) or None, "kb_id": kb_id}
        answer = self._transport.call("GET", "/jobs/errors", query=query)
        return JobErrors.model_validate_json(answer).errors

    def document_status(self, document_id: str) -> DocumentStatus:
        """Summarize a document's work in one word: PENDING, RUNNING, SUCCESS or FAILURE."""
        return DocumentStatus.model_validate_json(
            self._transport.call("GET", f"/documents/{segment(document_id)}/status")
        )

    def document_log(self, document_id: str, *, skip: int = 0, limit: int = 10) -> DocumentLog:
        """Return a page of a document's log, latest first, with its unfinished jobs."""
        query: Query = {"skip": skip, "limit": limit}
        answer = self._transport.call("GET", f"/documents/{segment(document_id)}/log", query=query)
        return DocumentLog.model_validate_json(answer)


def _path(job_id: str) -> str:
    return f"/jobs/{segment(job_id)}"
