"""`/jobs`: what is still to be done for the organization, and what was given up."""

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

JobId = Annotated[str, Path(description="Kind and subject with colons between them, such as `extract:…`")]


@router.get("", operation_id="list_jobs")
async def list_jobs(
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    state: Annotated[list[JobState] | None, Query(description="Any of these")] = None,
    kind: Annotated[list[JobKind] | None, Query(description="Any of these")] = None,
    kb_id: Annotated[SubjectId | None, Query()] = None,
    document_id: Annotated[SubjectId | None, Query()] = None,
    error_code: Annotated[ErrorCode | None, Query(description="Of the last attempt that failed")] = None,
    include: Annotated[
        list[Literal["names"]] | None,
        Query(description="`names`: what the document and the knowledge base are called"),
    ] = None,
) -> JobList:
    """A page of jobs that wait, run or were given up, latest change first; a job that is done is not one any more."""
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
    """Run dead jobs again, as if they had never been tried: do it when what made them fail is mended."""
    return ReplayAnswer(replayed=await services.jobs.operations.replay_all(organization.id, body.query()))


@router.post("/cancel", status_code=202, operation_id="cancel_jobs")
async def cancel_jobs(services: ServicesOf, organization: CurrentOrganization, body: JobCancel) -> CancelAnswer:
    """Stop jobs: waiting ones are dead at once, running ones within seconds. They can be replayed.

    Documents whose extraction is cancelled are failed, with the code `cancelled`. Jobs that delete run to their end.
    """
    found = await services.jobs.operations.cancel_all(organization.id, body.query())
    return CancelAnswer(cancelled=found.cancelled, stopping=found.stopping)


@router.get("/counts", operation_id="get_job_counts")
async def get_job_counts(services: ServicesOf, organization: CurrentOrganization) -> JobCounts:
    """How many jobs of each kind wait, run, or were given up."""
    return JobCounts.from_counts(await services.jobs.operations.counts(organization.id))


@router.get("/errors", operation_id="get_job_errors")
async def get_job_errors(
    services: ServicesOf,
    organization: CurrentOrganization,
    kind: Annotated[list[JobKind] | None, Query(description="Any of these")] = None,
    kb_id: Annotated[SubjectId | None, Query()] = None,
) -> JobErrors:
    """What made jobs be given up: all dead jobs by the error of their last attempt, most frequent first."""
    query = JobQuery(kinds=tuple(kind or ()), kb_id=kb_id)
    return JobErrors.from_model(errors=await services.jobs.operations.errors(organization.id, query))


@router.get("/{job_id}", operation_id="get_job")
async def get_job(services: ServicesOf, organization: CurrentOrganization, job_id: JobId) -> JobDetail:
    """One job, with the latest attempts and where the last one failed; 404 once it is done."""
    found = await services.jobs.operations.get(organization.id, job_id)
    return JobDetail.with_attempts(found, max_attempts=services.settings.queue.max_attempts)


@router.post("/{job_id}/replay", status_code=202, operation_id="replay_job")
async def replay_job(services: ServicesOf, organization: CurrentOrganization, job_id: JobId) -> ReplayAnswer:
    """Run a dead job again, as if it had never been tried; 409 where it is not dead."""
    await services.jobs.operations.replay(organization.id, job_id)
    return ReplayAnswer(replayed=1)


@router.post("/{job_id}/cancel", status_code=202, operation_id="cancel_job")
async def cancel_job(services: ServicesOf, organization: CurrentOrganization, job_id: JobId) -> JobResponse:
    """Stop a job: a waiting one is dead at once, a running one within seconds. It can be replayed.

    A document whose extraction is cancelled is failed, with the code `cancelled`. Jobs that delete run to their end.
    """
    job = await services.jobs.operations.cancel(organization.id, job_id)
    return JobResponse.from_job(job, max_attempts=services.settings.queue.max_attempts)
