"""`/runs`: runs of prompts. `/prompts/{prompt_id}/results`: their current results."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import StringConstraints

from analytiq.models.prompt_run import RunStatus
from analytiq.storage.repositories.prompt_results import ResultQuery
from analytiq.storage.repositories.prompt_runs import RunQuery
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.prompt_runs import (
    PromptResultList,
    PromptResultResponse,
    PromptResultUpdate,
    PromptRunDetail,
    PromptRunList,
    PromptRunResponse,
)
from api.schemas.wire import NO_NUL, Flag

router = APIRouter(tags=["prompts"], route_class=ApiRoute)

OfId = Annotated[Annotated[str, StringConstraints(max_length=64), NO_NUL] | None, Query()]
OfVersion = Annotated[int | None, Query(ge=1, le=2**31)]
VersionOrLatest = Annotated[int | None, Query(ge=1, le=2**31, description="Default: the latest version")]

MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@router.get("/runs", operation_id="list_prompt_runs")
async def list_prompt_runs(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    prompt_id: OfId = None,
    version: OfVersion = None,
    document_id: OfId = None,
    status: Annotated[list[RunStatus] | None, Query(description="Any of these")] = None,
) -> PromptRunList:
    """List runs without their steps, latest first."""
    query = RunQuery(prompt_id=prompt_id, version=version, document_id=document_id, statuses=tuple(status or ()))
    found, total = await services.assistants.runs.page(organization.id, query, skip=skip, limit=limit)
    return PromptRunList(runs=[PromptRunResponse.from_run(run) for run in found], total_count=total, skip=skip)


@router.get("/runs/{run_id}", operation_id="get_prompt_run")
async def get_prompt_run(services: ServicesOf, organization: CurrentOrganization, run_id: str) -> PromptRunDetail:
    """Return a run with all steps: model output, tool calls, and passages."""
    run = await services.assistants.runs.get(organization.id, run_id)
    document_ids = {passage.document_id for step in run.steps for passage in step.passages}
    return PromptRunDetail.with_steps(
        run, await services.ingestion.documents.current_texts(organization.id, document_ids)
    )


@router.post("/runs/{run_id}/cancel", operation_id="cancel_prompt_run")
async def cancel_prompt_run(services: ServicesOf, organization: CurrentOrganization, run_id: str) -> PromptRunResponse:
    """Cancel a run. A running model call is aborted within seconds. 409 if the run is finished."""
    return PromptRunResponse.from_run(await services.assistants.runs.cancel(organization.id, run_id))


@router.get("/prompts/{prompt_id}/results", operation_id="list_prompt_results")
async def list_prompt_results(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    prompt_id: str,
    skip: Skip = 0,
    limit: Limit = 10,
    version: OfVersion = None,
    document_id: OfId = None,
    is_verified: Flag | None = None,
) -> PromptResultList:
    """List a prompt's results, oldest first, of one version or of all."""
    await services.assistants.prompts.get(organization.id, prompt_id)
    query = ResultQuery(version=version, document_id=document_id, is_verified=is_verified)
    found, total = await services.assistants.results.page(organization.id, prompt_id, query, skip=skip, limit=limit)
    texts = await services.ingestion.documents.current_texts(organization.id, {item.document_id for item in found})
    results = [PromptResultResponse.from_result(item, texts) for item in found]
    return PromptResultList(results=results, total_count=total, skip=skip)


@router.get(
    "/prompts/{prompt_id}/results/export",
    operation_id="download_prompt_results",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {}, "application/json": {}}, "description": "The results"}},
)
async def download_prompt_results(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    prompt_id: str,
    format: Annotated[Literal["csv", "json"], Query()] = "csv",  # noqa: A002  # its name on the wire
    version: VersionOrLatest = None,
    is_verified: Flag | None = None,
) -> StreamingResponse:
    """Download all results of a version, as CSV with a column for each field, or as a JSON list.

    In CSV, an apostrophe precedes text that a spreadsheet would evaluate as a formula.
    """
    wanted = await services.assistants.prompts.version(organization.id, prompt_id, version)
    query = ResultQuery(version=wanted.version, is_verified=is_verified)
    export = services.assistants.export
    pieces = export.csv if format == "csv" else export.json
    return StreamingResponse(
        pieces(organization.id, prompt_id, query),
        media_type=MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="prompt-{prompt_id}-v{wanted.version}.{format}"'},
    )


@router.get("/prompts/{prompt_id}/results/{document_id}", operation_id="get_prompt_result")
async def get_prompt_result(
    services: ServicesOf,
    organization: CurrentOrganization,
    prompt_id: str,
    document_id: str,
    version: VersionOrLatest = None,
) -> PromptResultResponse:
    """Return the result of a prompt version for a document."""
    wanted = await services.assistants.prompts.version(organization.id, prompt_id, version)
    result = await services.assistants.results.get(organization.id, prompt_id, wanted.version, document_id)
    texts = await services.ingestion.documents.current_texts(organization.id, {document_id})
    return PromptResultResponse.from_result(result, texts)


@router.put("/prompts/{prompt_id}/results/{document_id}", operation_id="update_prompt_result")
async def update_prompt_result(
    services: ServicesOf,
    organization: CurrentOrganization,
    prompt_id: str,
    document_id: str,
    body: PromptResultUpdate,
    version: VersionOrLatest = None,
) -> PromptResultResponse:
    """Edit, verify or unverify a result. Later runs keep edited or verified answers under `earlier`."""
    wanted = await services.assistants.prompts.version(organization.id, prompt_id, version)
    changed = await services.assistants.results.change(
        organization.id,
        wanted,
        document_id,
        answer=body.answer,
        is_verified=body.is_verified,
        expected_run_id=body.run_id,
    )
    texts = await services.ingestion.documents.current_texts(organization.id, {document_id})
    return PromptResultResponse.from_result(changed, texts)
