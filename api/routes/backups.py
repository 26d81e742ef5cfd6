"""`/backups`: which backups of the organization were made, and what was restored."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.backups import BackupList, BackupResponse

router = APIRouter(prefix="/backups", tags=["backups"], route_class=ApiRoute)


@router.get("", operation_id="list_backups")
async def list_backups(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> BackupList:
    """A page of the backups of the organization and the restores into it, latest first, failed ones included.

    An operator makes them, with `analytiq backup` and `analytiq restore`; archives themselves are not kept here.
    """
    records, total = await services.repositories.backup_records.page(organization.id, skip=skip, limit=limit)
    return BackupList(backups=[BackupResponse.from_model(record) for record in records], total_count=total, skip=skip)
