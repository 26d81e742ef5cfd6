"""`/sources`: places elsewhere whose items become documents, and their runs. `/source-kinds`: the installed kinds."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from analytiq.ingestion.sources.export import ExportFormat
from analytiq.ingestion.sources.registry import known_kinds
from analytiq.models.source import ItemOutcome
from analytiq.storage.repositories.source_items import ItemQuery
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, NameSearch, RequestId, ServicesOf, Skip
from api.routes.source_sign_ins import sign_in_redirect_url
from api.schemas.sources import (
    SourceCheckResponse,
    SourceCreate,
    SourceItemList,
    SourceKindList,
    SourceKindResponse,
    SourceList,
    SourceResponse,
    SourceRunCreate,
    SourceRunDetail,
    SourceRunEntryList,
    SourceRunList,
    SourceRunResponse,
    SourceUpdate,
)
from api.schemas.wire import Flag

EXPORT_TYPES = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.JSON: "application/json",
    ExportFormat.NDJSON: "application/x-ndjson",
}

router = APIRouter(tags=["sources"], route_class=ApiRoute)


@router.get("/source-kinds", operation_id="get_source_kinds")
async def get_source_kinds(request: Request, services: ServicesOf, organization: CurrentOrganization) -> SourceKindList:
    """Return the installed kinds of sources, with JSON schemas of their settings and credentials."""
    del organization
    redirect = sign_in_redirect_url(request, services)
    kinds = sorted(known_kinds().items())
    return SourceKindList(
        kinds=[SourceKindResponse.from_kind(name, kind, sign_in_redirect_url=redirect) for name, kind in kinds]
    )


@router.post("/sources", status_code=201, operation_id="create_source")
async def create_source(services: ServicesOf, organization: CurrentOrganization, body: SourceCreate) -> SourceResponse:
    """Create a source. With an interval it runs by itself, the first time within a minute."""
    tags = services.ingestion.tags
    tag_ids = await tags.require(organization.id, body.tag_ids)
    if body.vanished_tag_id is not None:
        await tags.require(organization.id, [body.vanished_tag_id], field="vanished_tag_id")
    return SourceResponse.from_source(await services.ingestion.sources.create(organization.id, body.draft(tag_ids)))


@router.get("/sources", operation_id="list_sources")
async def list_sources(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    name_search: NameSearch = None,
) -> SourceList:
    """List sources by name, each with its last run."""
    found, total = await services.ingestion.sources.page(
        organization.id, name_search=name_search, skip=skip, limit=limit
    )
    runs = await services.ingestion.source_runs.latest_of(organization.id, [source.id for source in found])
    inbound = await services.ingestion.inbound_addresses.of_sources(organization.id, [source.id for source in found])
    sources = [
        SourceResponse.from_source(source, runs.get(source.id), has_inbound_address=source.id in inbound)
        for source in found
    ]
    return SourceList(sources=sources, total_count=total, skip=skip)


@router.get("/sources/{source_id}", operation_id="get_source")
async def get_source(services: ServicesOf, organization: CurrentOrganization, source_id: str) -> SourceResponse:
    """Return a source with its last run; never its credentials."""
    source = await services.ingestion.sources.get(organization.id, source_id)
    runs = await services.ingestion.source_runs.latest_of(organization.id, [source.id])
    inbound = await services.ingestion.inbound_addresses.of_sources(organization.id, [source.id])
    return SourceResponse.from_source(source, runs.get(source.id), has_inbound_address=bool(inbound))


@router.put("/sources/{source_id}", operation_id="update_source")
async def update_source(
    services: ServicesOf, organization: CurrentOrganization, source_id: str, body: SourceUpdate
) -> SourceResponse:
    """Change a source. The next run brings its documents up to date."""
    await services.ingestion.sources.get(organization.id, source_id)
    changes = body.changes()
    tags = services.ingestion.tags
    if "tag_ids" in changes:
        changes["tag_ids"] = tuple(await tags.require(organization.id, changes["tag_ids"]))
    if body.vanished_tag_id is not None:
        await tags.require(organization.id, [body.vanished_tag_id], field="vanished_tag_id")
    changed = await services.ingestion.sources.change(organization.id, source_id, changes, credentials=body.credentials)
    inbound = await services.ingestion.inbound_addresses.of_sources(organization.id, [source_id])
    return SourceResponse.from_source(changed, has_inbound_address=bool(inbound))


@router.delete("/sources/{source_id}", status_code=204, operation_id="delete_source")
async def delete_source(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    source_id: str,
    documents: Annotated[Literal["keep", "delete"], Query(description="Keep or delete its documents")] = "keep",
) -> Response:
    """Delete a source with its runs. Its documents stay unless `documents=delete`; a job deletes them."""
    await services.ingestion.sources.delete(
        organization.id, source_id, deletes_documents=documents == "delete", request_id=request_id
    )
    return Response(status_code=204)


@router.post("/sources/test", operation_id="test_new_source")
async def test_new_source(
    services: ServicesOf, organization: CurrentOrganization, body: SourceCreate
) -> SourceCheckResponse:
    """Test the settings of a source before it is created. Nothing is stored; the API process connects, no worker."""
    draft = body.draft(body.tag_ids)
    return SourceCheckResponse.from_result(await services.ingestion.sources.check_draft(organization.id, draft))


@router.post("/sources/{source_id}/test", operation_id="test_source")
async def test_source(services: ServicesOf, organization: CurrentOrganization, source_id: str) -> SourceCheckResponse:
    """Test a source's settings and list its first items. Nothing is stored; the API process connects, no worker."""
    return SourceCheckResponse.from_result(await services.ingestion.sources.check(organization.id, source_id))


@router.get("/sources/{source_id}/items", operation_id="list_source_items")
async def list_source_items(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    source_id: str,
    skip: Skip = 0,
    limit: Limit = 10,
    name_search: NameSearch = None,
    has_problem: Flag | None = None,
) -> SourceItemList:
    """List a source's items as its last runs found them, with their documents."""
    query = ItemQuery(search=name_search, has_problem=has_problem)
    found, total = await services.ingestion.sources.items(organization.id, source_id, query, skip=skip, limit=limit)
    return SourceItemList.from_items(found, total=total, skip=skip)


@router.get(
    "/sources/{source_id}/export",
    operation_id="download_source",
    response_class=StreamingResponse,
    responses={200: {"content": {kind: {} for kind in EXPORT_TYPES.values()}, "description": "The documents"}},
)
async def download_source(
    services: ServicesOf,
    organization: CurrentOrganization,
    source_id: str,
    format: Annotated[ExportFormat, Query()] = ExportFormat.CSV,  # noqa: A002  # its name on the wire
) -> StreamingResponse:
    """Download a source's documents: extracted text (`content`), address (`source`) and `metadata`.

    As CSV, as a JSON list, or a JSON object a line. In CSV, an apostrophe precedes text that a spreadsheet would
    evaluate as a formula.
    """
    source = await services.ingestion.sources.get(organization.id, source_id)
    return StreamingResponse(
        services.ingestion.source_export.pieces(source, format),
        media_type=EXPORT_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="source-{source_id}.{format.value}"'},
    )


@router.post("/sources/{source_id}/runs", status_code=202, operation_id="run_source")
async def run_source(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    source_id: str,
    body: SourceRunCreate,
) -> SourceRunResponse:
    """Start a run as a background job. 409 if a run of the source is unfinished."""
    run = await services.ingestion.source_runs.start(
        organization.id,
        source_id,
        is_dry_run=body.dry_run,
        accepts_losses=body.accepts_losses,
        is_full=body.full,
        external_ids=body.external_ids,
        request_id=request_id,
    )
    return SourceRunResponse.from_run(run)


@router.get("/sources/{source_id}/runs", operation_id="list_source_runs")
async def list_source_runs(
    *, services: ServicesOf, organization: CurrentOrganization, source_id: str, skip: Skip = 0, limit: Limit = 10
) -> SourceRunList:
    """List a source's runs, latest first. They are kept for 30 days."""
    found, total = await services.ingestion.source_runs.page(organization.id, source_id, skip=skip, limit=limit)
    return SourceRunList(runs=[SourceRunResponse.from_run(run) for run in found], total_count=total, skip=skip)


@router.get("/sources/{source_id}/runs/{source_run_id}", operation_id="get_source_run")
async def get_source_run(
    services: ServicesOf, organization: CurrentOrganization, source_id: str, source_run_id: str
) -> SourceRunDetail:
    """Return a run with its counts, so far or in the end, and its log."""
    return SourceRunDetail.from_run(await services.ingestion.source_runs.get(organization.id, source_id, source_run_id))


@router.get("/sources/{source_id}/runs/{source_run_id}/items", operation_id="list_source_run_items")
async def list_source_run_items(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    source_id: str,
    source_run_id: str,
    skip: Skip = 0,
    limit: Limit = 10,
    outcome: Annotated[list[ItemOutcome] | None, Query(description="Any of these")] = None,
) -> SourceRunEntryList:
    """List the outcomes of a run's items with the reasons. Unchanged items are kept for the latest run only."""
    runs = services.ingestion.source_runs
    run = await runs.get(organization.id, source_id, source_run_id)
    found, total = await runs.entries(organization.id, run, outcome or (), skip=skip, limit=limit)
    return SourceRunEntryList.from_entries(found, total=total, skip=skip)


@router.post("/sources/{source_id}/runs/{source_run_id}/cancel", operation_id="cancel_source_run")
async def cancel_source_run(
    services: ServicesOf, organization: CurrentOrganization, source_id: str, source_run_id: str
) -> SourceRunResponse:
    """Cancel a run; it stops before its next batch, and what it has taken in stays. 409 if it has ended."""
    run = await services.ingestion.source_runs.cancel(organization.id, source_id, source_run_id)
    return SourceRunResponse.from_run(run)
