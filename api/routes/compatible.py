"""`/api/…`: load, index and retrieve in three calls, for programs written for an earlier interface.

A data resource is a source whose name is its id. Its documents have a tag of the same name, and the id as metadata; to
make it searchable is to create a knowledge base of that name. The organization is that of the access token.
"""

import uuid
from collections.abc import Sequence

from fastapi import APIRouter

from analytiq.composition import Services
from analytiq.errors import AnalytiqError, ConflictError, FieldError, InvalidInputError, NotFoundError
from analytiq.ingestion.documents.changing import Selected, WantedChange
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import Countable, Organization
from analytiq.models.source import ItemOutcome, Source, SourceRun, SourceRunEntry
from api.api_route import ApiRoute
from api.context import NotedTarget, RequestId, ServicesOf, Skip, TokenOrganization
from api.schemas.compatible import (
    ID_KEY,
    LISTED_ITEMS,
    DataResourceCreate,
    DataResourceLogs,
    DataResourceReference,
    DataResourceResponse,
    DataResourceStatus,
    EmbeddingsCreate,
    EmbeddingsStatus,
    ListedLimit,
    LoadStatus,
    RetrieveBody,
    RetrievedPassage,
    named_as_options,
    status_of_run,
)
from api.schemas.knowledge_bases import KnowledgeBaseCreate

PREFIX = "/api"
TAG_COLOR = "#64748b"
TAG_DESCRIPTION = "Made for a data resource, and deleted with it."
"""Tells the tags of these routes from those of people, who may change it to keep one."""
SELECTION = " selected"
"""Behind the id: the name of the tag of selected documents."""
TAKEN = (ItemOutcome.ADDED, ItemOutcome.CHANGED, ItemOutcome.UNCHANGED, ItemOutcome.FAILED)
EXPLAINED = (ItemOutcome.SKIPPED, ItemOutcome.FAILED)

router = APIRouter(prefix=PREFIX, tags=["compatible"], route_class=ApiRoute)


@router.post("/data-resources", operation_id="create_data_resource")
async def create_data_resource(
    *,
    services: ServicesOf,
    organization: TokenOrganization,
    request_id: RequestId,
    target: NotedTarget,
    body: DataResourceCreate,
) -> DataResourceResponse:
    """Create a data resource and load it in the background. 409 if the id is taken."""
    _require_own(organization, body.account_id)
    resource_id = body.data_resource_id or str(uuid.uuid4())
    target["data_resource_id"] = resource_id
    draft, items = body.draft(resource_id)
    sources = services.ingestion.sources
    try:
        source = await sources.create(organization.id, draft)
    except InvalidInputError as error:
        raise named_as_options(error) from error
    try:
        tag_id = await _tag(services, organization, resource_id)
        source = await sources.change(organization.id, source.id, {"tag_ids": (tag_id,)})
        if items:
            await services.ingestion.push_taking.take(source, items, request_id=request_id)
        else:
            await services.ingestion.source_runs.start(organization.id, source.id, request_id=request_id)
    except AnalytiqError:
        # The same id may be sent again.
        await _delete(services, organization, source, resource_id, request_id=request_id)
        raise
    return DataResourceResponse(data_resource_id=resource_id)


@router.get("/data-resources/{data_resource_id}/status", operation_id="get_data_resource_status")
async def get_data_resource_status(
    services: ServicesOf,
    organization: TokenOrganization,
    data_resource_id: str,
    skip: Skip = 0,
    limit: ListedLimit = LISTED_ITEMS,
) -> DataResourceStatus:
    """Return the state of the last load, with a page of what was read and what failed."""
    source = await _source(services, organization, data_resource_id)
    run = await _last_run(services, source)
    entries, total = await _entries(services, run, TAKEN, skip=skip, limit=limit)
    return DataResourceStatus.from_run(data_resource_id, run, entries, total_count=total, skip=skip)


@router.get("/data-resources/{data_resource_id}/logs", operation_id="get_data_resource_logs")
async def get_data_resource_logs(
    services: ServicesOf,
    organization: TokenOrganization,
    data_resource_id: str,
    skip: Skip = 0,
    limit: ListedLimit = LISTED_ITEMS,
) -> DataResourceLogs:
    """Return the log of the last load, with the reasons for a page of skipped and failed items."""
    source = await _source(services, organization, data_resource_id)
    run = await _last_run(services, source)
    entries, total = await _entries(services, run, EXPLAINED, skip=skip, limit=limit)
    return DataResourceLogs.from_run(data_resource_id, run, entries, total_count=total, skip=skip)


@router.delete("/data-resources", operation_id="delete_data_resource")
async def delete_data_resource(
    *,
    services: ServicesOf,
    organization: TokenOrganization,
    request_id: RequestId,
    target: NotedTarget,
    body: DataResourceReference,
) -> DataResourceResponse:
    """Delete a data resource with its knowledge base at once, and its documents and tags in the background.

    409 if prompts use the knowledge base.
    """
    _require_own(organization, body.account_id)
    target["data_resource_id"] = body.data_resource_id
    source = await _source(services, organization, body.data_resource_id)
    knowledge_base = await _knowledge_base(services, organization, source)
    if knowledge_base is not None:
        await services.ingestion.knowledge_bases.delete(organization.id, knowledge_base.id, request_id=request_id)
    await _delete(services, organization, source, source.name, request_id=request_id)
    return DataResourceResponse(data_resource_id=body.data_resource_id)


@router.post("/embeddings", operation_id="create_embeddings")
async def create_embeddings(
    services: ServicesOf, organization: TokenOrganization, request_id: RequestId, body: EmbeddingsCreate
) -> DataResourceResponse:
    """Make a loaded data resource searchable: create its knowledge base. 409 while it loads, or if it has one."""
    _require_own(organization, body.account_id)
    source = await _source(services, organization, body.data_resource_id)
    await _require_loaded(services, source)
    if await _knowledge_base(services, organization, source) is not None:
        raise ConflictError(
            f"The data resource {source.name!r} is searchable already. Delete its knowledge base to begin again.",
            code="already_embedded",
        )
    tag_id = source.tag_ids[0] if source.tag_ids else await _tag(services, organization, source.name)
    if body.selected:
        document_ids = await _documents(services, source, body.selected)
        tag_id = await _tag(services, organization, source.name + SELECTION)
        await _give_tag(services, organization, document_ids, tag_id, request_id=request_id)
    wanted = KnowledgeBaseCreate(name=source.name, tag_ids=[tag_id]).wanted([tag_id])
    await services.ingestion.knowledge_bases.create(organization, wanted, request_id=request_id)
    return DataResourceResponse(data_resource_id=source.name)


@router.get("/embeddings/{data_resource_id}/status", operation_id="get_embeddings_status")
async def get_embeddings_status(
    services: ServicesOf, organization: TokenOrganization, data_resource_id: str
) -> EmbeddingsStatus:
    """Return whether a data resource is searchable."""
    source = await _source(services, organization, data_resource_id)
    knowledge_base = await _knowledge_base(services, organization, source)
    if knowledge_base is None:
        return EmbeddingsStatus.from_standing(data_resource_id, None)
    counted = await services.ingestion.knowledge_bases.get(organization.id, knowledge_base.id)
    (standing,) = await services.ingestion.knowledge_bases.standings_of(organization.id, [counted])
    return EmbeddingsStatus.from_standing(data_resource_id, standing)


@router.post("/v2/retrieve", operation_id="search_data_resources")
async def search_data_resources(
    services: ServicesOf, organization: TokenOrganization, body: RetrieveBody
) -> list[RetrievedPassage]:
    """Find passages in knowledge bases, named by their ids or by those of data resources."""
    _require_own(organization, body.account_id)
    named = {kb.name: kb.id for kb in await services.ingestion.knowledge_bases.with_names(organization.id, body.kbids)}
    kb_ids = [named.get(kb_id, kb_id) for kb_id in body.kbids]
    found = await services.retrieval.search.search_several(organization, kb_ids, body.request())
    return [RetrievedPassage.from_result(result) for result in found.results]


def _require_own(organization: Organization, account_id: str | None) -> None:
    """Refuse the id of another organization, as everywhere."""
    if account_id is not None and account_id != organization.id:
        raise NotFoundError(
            f"No organization has the id {account_id!r}. Leave out `account_id`, or use the id of your token's"
            " organization."
        )


async def _source(services: Services, organization: Organization, resource_id: str) -> Source:
    """Return the source of a data resource; other sources have a name that happens to be asked for."""
    source = await services.ingestion.sources.named(organization.id, resource_id)
    if source is None or source.metadata.get(ID_KEY) != resource_id:
        raise NotFoundError(f"No data resource has the id {resource_id!r}. Create it first.")
    return source


async def _tag(services: Services, organization: Organization, name: str) -> str:
    """Return the id of the tag of this name, which is created if it is missing."""
    known = await services.repositories.tags.ids_of_names(organization.id, [name])
    if name in known:
        return known[name]
    await services.tenancy.quotas.require_room(organization.id, Countable.TAGS)
    tag = await services.ingestion.tags.create(organization.id, name=name, color=TAG_COLOR, description=TAG_DESCRIPTION)
    return tag.id


async def _last_run(services: Services, source: Source) -> SourceRun | None:
    """Return the last run; for a source without any, the log of its last pushes."""
    runs = services.ingestion.source_runs
    latest = await runs.latest_of(source.organization_id, [source.id])
    if source.id in latest:
        return latest[source.id]
    pushes, _ = await runs.page(source.organization_id, source.id, skip=0, limit=1)
    return pushes[0] if pushes else None


async def _entries(
    services: Services, run: SourceRun | None, outcomes: Sequence[ItemOutcome], *, skip: int, limit: int
) -> tuple[list[SourceRunEntry], int]:
    """Return a page of the run's entries, and the count of all."""
    if run is None:
        return [], 0
    runs = services.ingestion.source_runs
    return await runs.entries(run.organization_id, run, outcomes, skip=skip, limit=limit)


async def _delete(
    services: Services, organization: Organization, source: Source, resource_id: str, *, request_id: str
) -> None:
    """Delete the source of a data resource with its documents, and the tags that were made for it."""
    names = [resource_id, resource_id + SELECTION]
    ids = list((await services.repositories.tags.ids_of_names(organization.id, names)).values())
    tags = await services.repositories.tags.with_ids(organization.id, ids)
    made = [tag.id for tag in tags if tag.description == TAG_DESCRIPTION]
    await services.ingestion.sources.delete(
        organization.id, source.id, deletes_documents=True, deletes_tag_ids=made, request_id=request_id
    )


async def _knowledge_base(services: Services, organization: Organization, source: Source) -> KnowledgeBase | None:
    found = await services.ingestion.knowledge_bases.with_names(organization.id, [source.name])
    return found[0] if found else None


async def _require_loaded(services: Services, source: Source) -> None:
    status = status_of_run(await _last_run(services, source))
    if status in (LoadStatus.PENDING, LoadStatus.RUNNING):
        raise ConflictError(
            f"The data resource {source.name!r} is still loading. Wait until its status is SUCCESS.",
            code="data_resource_loading",
        )
    if status is LoadStatus.FAILURE:
        raise ConflictError(
            f"The data resource {source.name!r} could not be loaded; its logs say why. Delete it, and load it again.",
            code="data_resource_failed",
        )


async def _documents(services: Services, source: Source, selected: dict[str, str]) -> list[str]:
    """Return the documents of selected items.

    Raises:
        InvalidInputError: names each one that the data resource does not have.
    """
    items = await services.repositories.source_items.with_external_ids(source.organization_id, source.id, selected)
    found = {item.external_id: item.document_id for item in items.values() if item.document_id is not None}
    missing = [
        FieldError(place, f"The data resource has no item {item[:200]!r}. Its status lists the items.")
        for item, place in selected.items()
        if item not in found
    ]
    if missing:
        raise InvalidInputError(f"{len(missing)} of the selected items do not exist.", errors=missing)
    return list(found.values())


async def _give_tag(
    services: Services, organization: Organization, document_ids: Sequence[str], tag_id: str, *, request_id: str
) -> None:
    selected, wanted = Selected(document_ids=tuple(document_ids)), WantedChange(added_tag_ids=(tag_id,))
    await services.ingestion.changing.change(organization.id, selected, wanted, request_id=request_id)
