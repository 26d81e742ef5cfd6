"""Operations on jobs and workers."""

from collections.abc import Sequence

from analytiq.client.answers import Page
from analytiq.client.calls import call, get, given, page, post
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
    ListedJob,
    Worker,
    Workers,
)
from analytiq.client.operations import Calls, operation
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Request


class JobCalls(Calls):
    """Jobs and the workers that run them."""

    @operation
    def jobs_page(
        self,
        *,
        states: Sequence[str] = (),
        kinds: Sequence[str] = (),
        kb_id: str | None = None,
        document_id: str | None = None,
        error_code: str | None = None,
        include: Sequence[str] = (),
        skip: int = 0,
        limit: int = 10,
    ) -> "Flow[Page[ListedJob]]":
        """Return a page of jobs, latest change first, with the total count.

        There is no iteration over all: jobs change their place in this list as they run.

        Args:
            states: any of available, running, dead.
            kinds: any of extract, membership_document, membership_kb, sync, sweep, clean_document, drop_kb.
            kb_id: of this knowledge base.
            document_id: of this document.
            error_code: of the last failed attempt.
            include: `names`: with the names of the document and the knowledge base.
            skip: number of jobs to skip.
            limit: most jobs to return, up to 100.
        """
        query = {
            "state": list(states) or None,
            "kind": list(kinds) or None,
            "kb_id": kb_id,
            "document_id": document_id,
            "error_code": error_code,
            "include": list(include) or None,
        }
        return page("/jobs", "jobs", ListedJob, query, skip=skip, limit=limit)

    @operation
    def job(self, job_id: str) -> Flow[JobDetail]:
        """Return a job with its latest attempts; 404 once it is finished."""
        return get(_path(job_id), JobDetail)

    @operation
    def replay_job(self, job_id: str) -> Flow[None]:
        """Run a failed job again, as if it had never been tried; 409 if it has not failed."""
        yield from call(Request("POST", f"{_path(job_id)}/replay"))

    @operation
    def replay_jobs(
        self,
        *,
        kind: str | None = None,
        kb_id: str | None = None,
        document_id: str | None = None,
        error_code: str | None = None,
        is_all: bool = False,
    ) -> Flow[int]:
        """Run matching failed jobs again, or with `is_all` every one; return their number."""
        body = given(
            kind=kind, kb_id=kb_id, document_id=document_id, error_code=error_code, all=True if is_all else None
        )
        return (yield from post("/jobs/replay", JobReplay, body)).replayed

    @operation
    def cancel_job(self, job_id: str) -> Flow[Job]:
        """Cancel a job: a waiting one ends at once, a running one within seconds."""
        return post(f"{_path(job_id)}/cancel", Job)

    @operation
    def cancel_jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        kb_id: str | None = None,
        document_id: str | None = None,
        error_code: str | None = None,
        is_all: bool = False,
    ) -> Flow[JobCancellation]:
        """Cancel matching jobs, or with `is_all` every one, except deletions.

        Args:
            state: available or running; None: both.
            kind: of jobs, such as sync.
            kb_id: of this knowledge base.
            document_id: of this document.
            error_code: of the last failed attempt.
            is_all: every job of the organization.
        """
        body = given(
            kind=kind,
            kb_id=kb_id,
            document_id=document_id,
            error_code=error_code,
            all=True if is_all else None,
            state=state,
        )
        return post("/jobs/cancel", JobCancellation, body)

    @operation
    def job_counts(self) -> Flow[JobCounts]:
        """Count waiting, running and failed jobs of each kind."""
        return get("/jobs/counts", JobCounts)

    @operation
    def job_errors(self, *, kinds: Sequence[str] = (), kb_id: str | None = None) -> Flow[list[JobErrorGroup]]:
        """Return matching failed jobs, by error; most frequent first."""
        return (yield from get("/jobs/errors", JobErrors, {"kind": list(kinds) or None, "kb_id": kb_id})).errors

    @operation
    def document_status(self, document_id: str) -> Flow[DocumentStatus]:
        """Summarize a document's work in one word: PENDING, RUNNING, SUCCESS or FAILURE."""
        return get(f"/documents/{segment(document_id)}/status", DocumentStatus)

    @operation
    def document_log(self, document_id: str, *, skip: int = 0, limit: int = 10) -> Flow[DocumentLog]:
        """Return a page of a document's log, latest first, with its unfinished jobs."""
        return get(f"/documents/{segment(document_id)}/log", DocumentLog, {"skip": skip, "limit": limit})

    @operation
    def workers(self) -> Flow[list[Worker]]:
        """Return the running worker processes with their jobs."""
        return (yield from get("/workers", Workers)).workers


def _path(job_id: str) -> str:
    return f"/jobs/{segment(job_id)}"
