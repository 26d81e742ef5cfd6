"""`/settings` and `/storage`: the organization's own settings and its storage quota."""

from dataclasses import replace

from fastapi import APIRouter

from analytiq.composition import Services
from analytiq.models.organization import Organization
from analytiq.models.own_limits import OwnRateLimits
from analytiq.tenancy.organizations.own_settings import SettingsChange
from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.organization_settings import OrganizationSettingsResponse, OrganizationSettingsUpdate, StorageAnswer

router = APIRouter(tags=["organization"], route_class=ApiRoute)


@router.get("/settings", operation_id="get_organization_settings")
async def get_organization_settings(
    services: ServicesOf, organization: CurrentOrganization
) -> OrganizationSettingsResponse:
    """Return the organization's OCR languages and rate limits, the server's, and the available languages."""
    return await _answer(services, organization)


@router.put("/settings", operation_id="update_organization_settings")
async def update_organization_settings(
    services: ServicesOf, organization: CurrentOrganization, body: OrganizationSettingsUpdate
) -> OrganizationSettingsResponse:
    """Change the organization's settings. Omitted fields stay; null resets to the server's value.

    No limit may exceed the server's.
    """
    changes = SettingsChange()
    if "ocr_languages" in body.model_fields_set:
        changes = replace(changes, sets_languages=True, ocr_languages=body.ocr_languages)
    if "rate_limits" in body.model_fields_set:
        changes = replace(changes, rate_limits=body.rate_limits.stored() if body.rate_limits else OwnRateLimits())
    return await _answer(services, await services.tenancy.own_settings.change(organization, changes))


@router.get("/storage", operation_id="get_storage")
async def get_storage(services: ServicesOf, organization: CurrentOrganization) -> StorageAnswer:
    """Return the storage quota and its use. Operators set the quota with `analytiq storage set`."""
    return StorageAnswer.from_model(await services.ingestion.storage.account(organization.id))


async def _answer(services: Services, organization: Organization) -> OrganizationSettingsResponse:
    own = services.tenancy.own_settings
    return OrganizationSettingsResponse.from_settings(organization, own.server, await own.available_ocr_languages())
