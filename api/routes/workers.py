"""`/workers`: worker processes."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.workers import WorkerList, WorkerResponse

router = APIRouter(tags=["jobs"], route_class=ApiRoute)


@router.get("/workers", operation_id="get_workers")
async def get_workers(services: ServicesOf, organization: CurrentOrganization) -> WorkerList:
    """List the live worker processes with their jobs of this organization."""
    return WorkerList(
        workers=[
            WorkerResponse.from_model(found, found.worker) for found in await services.jobs.workers.of(organization.id)
        ]
    )
