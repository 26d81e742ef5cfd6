"""`/tags`."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from analytiq.ingestion.prompt_uses import OnUse
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, NameSearch, OnPromptUse, ServicesOf, Skip
from api.schemas.tags import TagCreate, TagList, TagResponse, TagUpdate

router = APIRouter(prefix="/tags", tags=["tags"], route_class=ApiRoute)


@router.post("", status_code=201, operation_id="create_tag")
async def create_tag(services: ServicesOf, organization: CurrentOrganization, body: TagCreate) -> TagResponse:
    """Create a tag. Its name is unique in the organization."""
    tag = await services.ingestion.tags.create(
        organization.id, name=body.name, color=body.color, description=body.description
    )
    return TagResponse.from_model(tag)


@router.get("", operation_id="list_tags")
async def list_tags(
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    name_search: NameSearch = None,
    sort: Annotated[Literal["name", "-name"], Query()] = "name",
) -> TagList:
    """List tags by name."""
    tags, total = await services.ingestion.tags.page(
        organization.id, skip=skip, limit=limit, name_search=name_search, descending=sort.startswith("-")
    )
    return TagList(tags=[TagResponse.from_model(tag) for tag in tags], total_count=total, skip=skip)


@router.get("/{tag_id}", operation_id="get_tag")
async def get_tag(services: ServicesOf, organization: CurrentOrganization, tag_id: str) -> TagResponse:
    """Return a tag."""
    return TagResponse.from_model(await services.ingestion.tags.get(organization.id, tag_id))


@router.put("/{tag_id}", operation_id="update_tag")
async def update_tag(
    services: ServicesOf, organization: CurrentOrganization, tag_id: str, body: TagUpdate
) -> TagResponse:
    """Change a tag's name, color or description."""
    changes = body.model_dump(exclude_none=True)
    if not changes:
        return TagResponse.from_model(await services.ingestion.tags.get(organization.id, tag_id))
    return TagResponse.from_model(await services.ingestion.tags.change(organization.id, tag_id, changes))


@router.delete("/{tag_id}", status_code=204, operation_id="delete_tag")
async def delete_tag(
    services: ServicesOf, organization: CurrentOrganization, tag_id: str, on_use: OnPromptUse = OnUse.REFUSE
) -> Response:
    """Delete an unused tag. 409 names the documents, knowledge bases and prompts with the tag."""
    await services.ingestion.tags.delete(organization.id, tag_id, on_use=on_use)
    return Response(status_code=204)
