"""`/prompts`: prompts, their versions, and requests for runs."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import StringConstraints

from analytiq.storage.repositories.prompts import PromptQuery
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, NameSearch, RequestId, ServicesOf, Skip
from api.preconditions import IfMatch, etag_of, version_of
from api.schemas.prompt_runs import PromptRunCreate, PromptRunResponse, PromptRunsStarted
from api.schemas.prompts import (
    ListedPromptResponse,
    PromptCreate,
    PromptList,
    PromptResponse,
    PromptUpdate,
    PromptVersionList,
    PromptVersionResponse,
)
from api.schemas.wire import NO_NUL, Problem

router = APIRouter(prefix="/prompts", tags=["prompts"], route_class=ApiRoute)

OfId = Annotated[Annotated[str, StringConstraints(max_length=64), NO_NUL] | None, Query()]


@router.post("", status_code=201, operation_id="create_prompt")
async def create_prompt(
    services: ServicesOf, organization: CurrentOrganization, request_id: RequestId, body: PromptCreate
) -> PromptResponse:
    """Create a prompt. A prompt with tags runs automatically on documents with one of them, after extraction."""
    tag_ids = await services.ingestion.tags.require(organization.id, body.tag_ids)
    created = await services.assistants.prompts.create(
        organization,
        body.name,
        body.configuration(tag_ids),
        runs_on_existing=body.runs_on_existing,
        request_id=request_id,
    )
    return PromptResponse.from_prompt(created)


@router.get("", operation_id="list_prompts")
async def list_prompts(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    name_search: NameSearch = None,
    tag_id: OfId = None,
    kb_id: OfId = None,
    include: Annotated[
        list[Literal["kb_name", "last_run"]] | None, Query(description="Additional fields of each prompt")
    ] = None,
) -> PromptList:
    """List prompts in their latest versions, by name."""
    query = PromptQuery(name_search=name_search, tag_id=tag_id, kb_id=kb_id)
    found, total = await services.assistants.prompts.page(organization.id, query, skip=skip, limit=limit)
    wanted = include or []
    kb_ids = {item.configuration.kb_id for item in found if item.configuration.kb_id} if "kb_name" in wanted else ()
    ids = [item.id for item in found] if "last_run" in wanted else ()
    names = await services.ingestion.knowledge_bases.names(organization.id, kb_ids)
    runs = await services.assistants.runs.latest_of(organization.id, ids)
    prompts = [
        ListedPromptResponse.from_prompt(
            item, kb_name=names.get(item.configuration.kb_id or ""), last_run=runs.get(item.id)
        )
        for item in found
    ]
    return PromptList(prompts=prompts, total_count=total, skip=skip)


@router.get("/{prompt_id}", operation_id="get_prompt")
async def get_prompt(
    services: ServicesOf, organization: CurrentOrganization, prompt_id: str, response: Response
) -> PromptResponse:
    """Return a prompt in its latest version, with the version as `ETag`."""
    prompt = await services.assistants.prompts.get(organization.id, prompt_id)
    response.headers["ETag"] = etag_of(prompt.version)
    return PromptResponse.from_prompt(prompt)


@router.put(
    "/{prompt_id}",
    operation_id="update_prompt",
    responses={412: {"model": Problem, "description": "Another version was created meanwhile"}},
)
async def update_prompt(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    prompt_id: str,
    body: PromptUpdate,
    response: Response,
    if_match: IfMatch = None,
) -> PromptResponse:
    """Rename a prompt or create its next version. Earlier versions keep their runs and results.

    With `If-Match`, the change is refused if another version was created meanwhile.
    """
    await services.assistants.prompts.get(organization.id, prompt_id)
    changes = body.changes()
    if "tag_ids" in changes:
        changes["tag_ids"] = await services.ingestion.tags.require(organization.id, changes["tag_ids"])
    changed = await services.assistants.prompts.change(
        organization,
        prompt_id,
        name=body.name,
        changes=changes,
        runs_on_existing=body.runs_on_existing,
        expected_version=version_of(if_match),
        request_id=request_id,
    )
    response.headers["ETag"] = etag_of(changed.version)
    return PromptResponse.from_prompt(changed)


@router.delete("/{prompt_id}", status_code=204, operation_id="delete_prompt")
async def delete_prompt(
    services: ServicesOf, organization: CurrentOrganization, request_id: RequestId, prompt_id: str
) -> Response:
    """Delete a prompt with its versions, runs and results."""
    await services.assistants.prompts.delete(organization.id, prompt_id, request_id=request_id)
    return Response(status_code=204)


@router.get("/{prompt_id}/versions", operation_id="list_prompt_versions")
async def list_prompt_versions(
    services: ServicesOf, organization: CurrentOrganization, prompt_id: str, skip: Skip = 0, limit: Limit = 10
) -> PromptVersionList:
    """List a prompt's versions, latest first."""
    found, total = await services.assistants.prompts.versions(organization.id, prompt_id, skip=skip, limit=limit)
    return PromptVersionList(
        versions=[PromptVersionResponse.from_version(item) for item in found], total_count=total, skip=skip
    )


@router.post("/{prompt_id}/runs", status_code=202, operation_id="run_prompt")
async def run_prompt(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    prompt_id: str,
    body: PromptRunCreate,
) -> PromptRunsStarted:
    """Run a prompt on documents or on a text, as background jobs. Runs cost tokens, and SPUs for searches.

    Existing results, verified or not, stay current until a new run succeeds.
    """
    version = await services.assistants.prompts.version(organization.id, prompt_id, body.version)
    runs = await services.assistants.runs.request(organization, version, body.subject(), request_id=request_id)
    return PromptRunsStarted(runs=[PromptRunResponse.from_run(run) for run in runs])
