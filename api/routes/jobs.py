"""`/jobs`: the organization's unfinished and failed jobs."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from analytiq.models.job import JobKind, JobState
from analytiq.storage.repositories.jobs import JobQuery
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.jobs import (
    CancelAnswer,
    ErrorCode,
    JobCancel,
    JobCounts,
    JobDetail,
    JobErrors,
    JobList,
    JobReplay,
    JobResponse,
    ReplayAnswer,
    SubjectId,
)

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=ApiRoute)

JobId = Annotated[str, Path(description="Kind and subject, separated by colons, such as `extract:…`")]


@router.get("", operation_id="list_jobs")
async def list_jobs(
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    state: Annotated[list[JobState] | None, Query(description="Any of these states")] = None,
    kind: Annotated[list[JobKind] | None, Query(description="Any of these kinds")] = None,
    kb_id: Annotated[SubjectId | None, Query()] = None,
    document_id: Annotated[SubjectId | None, Query()] = None,
    error_code: Annotated[ErrorCode | None, Query(description="Error code of the last failed attempt")] = None,
    include: Annotated[
        list[Literal["names"]] | None,
        Query(description="`names`: the names of the document and the knowledge base"),
    ] = None,
) -> JobList:
    """List waiting, running and failed (dead) jobs, latest change first. Finished jobs are not kept."""
    query = JobQuery(
        states=tuple(state or ()),
        kinds=tuple(kind or ()),
        kb_id=kb_id,
        document_id=document_id,
        error_code=error_code,
    )
    found = await services.jobs.operations.page(organization.id, query, skip=skip, limit=limit)
    names = await services.jobs.operations.names_in(organization.id, found.jobs if include else ())
    return JobList.from_page(found, names, skip=skip, max_attempts=services.settings.queue.max_attempts)


@router.post("/replay", status_code=202, operation_id="replay_jobs")
async def replay_jobs(services: ServicesOf, organization: CurrentOrganization, body: JobReplay) -> ReplayAnswer:
    """Run failed (dead) jobs again with their attempts reset. Remove the cause of the failure first."""
    return ReplayAnswer(replayed=await services.jobs.operations.replay_all(organization.id, body.query()))


@router.post("/cancel", status_code=202, operation_id="cancel_jobs")
async def cancel_jobs(services: ServicesOf, organization: CurrentOrganization, body: JobCancel) -> CancelAnswer:
    """Cancel jobs: waiting jobs are dead at once, running jobs within seconds. Cancelled jobs can be replayed.

    Documents with a cancelled extraction fail with the code `cancelled`. Deletion jobs cannot be cancelled.
    """
    found = await services.jobs.operations.cancel_all(organization.id, body.query())
    return CancelAnswer(cancelled=found.cancelled, stopping=found.stopping)


@router.get("/counts", operation_id="get_job_counts")
async def get_job_counts(services: ServicesOf, organization: CurrentOrganization) -> JobCounts:
    """Return the number of waiting, running and dead jobs of each kind."""
    return JobCounts.from_counts(await services.jobs.operations.counts(organization.id))


@router.get("/errors", operation_id="get_job_errors")
async def get_job_errors(
    services: ServicesOf,
    organization: CurrentOrganization,
    kind: Annotated[list[JobKind] | None, Query(description="Any of these kinds")] = None,
    kb_id: Annotated[SubjectId | None, Query()] = None,
) -> JobErrors:
    """Group dead jobs by the error of their last attempt, most frequent first."""
    query = JobQuery(kinds=tuple(kind or ()), kb_id=kb_id)
    return JobErrors.from_model(errors=await services.jobs.operations.errors(organization.id, query))


@router.get("/{job_id}", operation_id="get_job")
async def get_job(services: ServicesOf, organization: CurrentOrganization, job_id: JobId) -> JobDetail:
    """Return a job with its latest attempts and the place of its last failure. Finished jobs are answered with 404."""
    found = await services.jobs.operations.get(organization.id, job_id)
    return JobDetail.with_attempts(found, max_attempts=services.settings.queue.max_attempts)


@router.post("/{job_id}/replay", status_code=202, operation_id="replay_job")
async def replay_job(services: ServicesOf, organization: CurrentOrganization, job_id: JobId) -> ReplayAnswer:
    """Run a dead job again with its attempts reset. 409 if the job is not dead."""
    await services.jobs.operations.replay(organization.id, job_id)
    return ReplayAnswer(replayed=1)


@router.post("/{job_id}/cancel", status_code=202, operation_id="cancel_job")
async def cancel_job(services: ServicesOf, organization: CurrentOrganization, job_id: JobId) -> JobResponse:
    """Cancel a job: a waiting job is dead at once, a running job within seconds. A cancelled job can be replayed.

    A document with a cancelled extraction fails with the code `cancelled`. Deletion jobs cannot be cancelled.
    """
    job = await services.jobs.operations.cancel(organization.id, job_id)
    return JobResponse.from_job(job, max_attempts=services.settings.queue.max_attempts)
