"""`/settings` and `/storage`: the organization's own settings and its storage quota."""

from dataclasses import replace

from fastapi import APIRouter

from analytiq.composition import Services
from analytiq.errors import InvalidInputError
from analytiq.models.flaws import FlawKind
from analytiq.models.organization import Organization
from analytiq.models.own_limits import OwnRateLimits
from analytiq.models.vision import VisionSettings
from analytiq.tenancy.organizations.own_settings import SettingsChange
from api.api_route import ApiRoute
from api.context import CurrentOrganization, RequestId, ServicesOf
from api.schemas.organization_settings import OrganizationSettingsResponse, OrganizationSettingsUpdate, StorageAnswer

router = APIRouter(tags=["organization"], route_class=ApiRoute)


@router.get("/settings", operation_id="get_organization_settings")
async def get_organization_settings(
    services: ServicesOf, organization: CurrentOrganization
) -> OrganizationSettingsResponse:
    """Return the organization's OCR languages, rate limits, vision model and skipped text, and the server's values."""
    return await _answer(services, organization)


@router.put("/settings", operation_id="update_organization_settings")
async def update_organization_settings(
    services: ServicesOf, organization: CurrentOrganization, request_id: RequestId, body: OrganizationSettingsUpdate
) -> OrganizationSettingsResponse:
    """Change the organization's settings. Omitted fields stay; null resets to the server's value.

    No limit may exceed the server's.
    """
    changes = SettingsChange()
    if "ocr_languages" in body.model_fields_set:
        changes = replace(changes, sets_languages=True, ocr_languages=body.ocr_languages)
    if "rate_limits" in body.model_fields_set:
        changes = replace(changes, rate_limits=body.rate_limits.stored() if body.rate_limits else OwnRateLimits())
    if "vision" in body.model_fields_set:
        vision = body.vision.stored() if body.vision else VisionSettings()
        await _require_usable(services, organization, vision)
        changes = replace(changes, vision=vision)
    changed = await services.tenancy.own_settings.change(organization, changes)
    if "skipped_flaws" in body.model_fields_set:
        skipping = services.ingestion.flaw_skipping
        kinds = [FlawKind(kind) for kind in body.skipped_flaws or ()]
        changed = await skipping.choose(organization.id, kinds, request_id=request_id)
    return await _answer(services, changed)


@router.get("/storage", operation_id="get_storage")
async def get_storage(services: ServicesOf, organization: CurrentOrganization) -> StorageAnswer:
    """Return the storage quota and its use. Operators set the quota with `analytiq storage set`."""
    return StorageAnswer.from_model(await services.ingestion.storage.account(organization.id))


async def _require_usable(services: Services, organization: Organization, vision: VisionSettings) -> None:
    """Refuse a model that no key of the organization opens."""
    if vision.model is None:
        return
    try:
        await services.inference.chat_models.choose(organization, vision.model, own_key=True)
    except InvalidInputError as error:
        reason = error.errors[0].reason if error.errors else error.detail
        raise InvalidInputError.of_field("vision.model", reason, code=error.code) from None


async def _answer(services: Services, organization: Organization) -> OrganizationSettingsResponse:
    own = services.tenancy.own_settings
    return OrganizationSettingsResponse.from_settings(organization, own.server, await own.available_ocr_languages())
