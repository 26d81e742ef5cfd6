"""`/backups`: backups of the organization and restores into it."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.backups import BackupList, BackupResponse

router = APIRouter(prefix="/backups", tags=["backups"], route_class=ApiRoute)


@router.get("", operation_id="list_backups")
async def list_backups(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> BackupList:
    """List the organization's backups and restores, latest first, including failed ones.

    Operators create them with `analytiq backup` and `analytiq restore`. The API does not store the archives.
    """
    records, total = await services.repositories.backup_records.page(organization.id, skip=skip, limit=limit)
    return BackupList(backups=[BackupResponse.from_model(record) for record in records], total_count=total, skip=skip)
