"""`/reconcile`: consistency checks and repairs of the organization's data."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, RequestId, ServicesOf, Skip
from api.schemas.jobs import SubjectId
from api.schemas.reconcile import ReconcileReport, ReconcileRunList, ReconcileRunResponse, ReconcileStart

router = APIRouter(tags=["reconcile"], route_class=ApiRoute)


@router.post("/reconcile", status_code=202, operation_id="create_reconcile_run")
async def create_reconcile_run(
    services: ServicesOf, organization: CurrentOrganization, request_id: RequestId, body: ReconcileStart
) -> ReconcileRunResponse:
    """Start a one-off consistency check of the organization as a background job."""
    run = await services.operations.reconciliations.ask(
        organization.id,
        depth=body.depth,
        is_dry=body.dry_run,
        rebuilds_cache=body.rebuild_cache,
        request_id=request_id,
    )
    return ReconcileRunResponse.from_model(run)


@router.post("/knowledge-bases/{kb_id}/reconcile", status_code=202, operation_id="create_knowledge_base_reconcile_run")
async def create_knowledge_base_reconcile_run(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    kb_id: str,
    body: ReconcileStart,
) -> ReconcileRunResponse:
    """Start a one-off consistency check of a knowledge base as a background job."""
    run = await services.operations.reconciliations.ask(
        organization.id,
        kb_id=kb_id,
        depth=body.depth,
        is_dry=body.dry_run,
        rebuilds_cache=body.rebuild_cache,
        request_id=request_id,
    )
    return ReconcileRunResponse.from_model(run)


@router.get("/reconcile/runs", operation_id="list_reconcile_runs")
async def list_reconcile_runs(
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    kb_id: Annotated[SubjectId | None, Query(description="Checks of this knowledge base only")] = None,
) -> ReconcileRunList:
    """List consistency checks, newest first: requested checks, and scheduled checks with findings."""
    found, total = await services.operations.reconciliations.page(organization.id, kb_id=kb_id, skip=skip, limit=limit)
    return ReconcileRunList(runs=[ReconcileRunResponse.from_model(run) for run in found], total_count=total, skip=skip)


@router.get("/reconcile/runs/{reconcile_run_id}", operation_id="get_reconcile_run")
async def get_reconcile_run(
    services: ServicesOf, organization: CurrentOrganization, reconcile_run_id: str
) -> ReconcileReport:
    """Return a consistency check with its progress and findings."""
    return ReconcileReport.from_model(await services.operations.reconciliations.get(organization.id, reconcile_run_id))
