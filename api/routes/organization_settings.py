"""`/settings` and `/storage`: what an organization sets for itself, and what an operator lets it store."""

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
    """OCR languages and rate limits of the organization, the server's, and the languages to choose from."""
    return await _answer(services, organization)


@router.put("/settings", operation_id="update_organization_settings")
async def update_organization_settings(
    services: ServicesOf, organization: CurrentOrganization, body: OrganizationSettingsUpdate
) -> OrganizationSettingsResponse:
    """Change them; what is left out stays, null is as the server says. No limit may be above the server's."""
    changes = SettingsChange()
    if "ocr_languages" in body.model_fields_set:
        changes = replace(changes, sets_languages=True, ocr_languages=body.ocr_languages)
    if "rate_limits" in body.model_fields_set:
        changes = replace(changes, rate_limits=body.rate_limits.stored() if body.rate_limits else OwnRateLimits())
    return await _answer(services, await services.tenancy.own_settings.change(organization, changes))


@router.get("/storage", operation_id="get_storage")
async def get_storage(services: ServicesOf, organization: CurrentOrganization) -> StorageAnswer:
    """How much the organization may store, and stores. An operator sets the quota: `analytiq storage set`."""
    return StorageAnswer.from_model(await services.ingestion.storage.account(organization.id))


async def _answer(services: Services, organization: Organization) -> OrganizationSettingsResponse:
    own = services.tenancy.own_settings
    return OrganizationSettingsResponse.from_settings(organization, own.server, await own.available_ocr_languages())
