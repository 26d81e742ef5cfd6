"""`/sources/{id}/inbound`: the inbound address of a source."""

from fastapi import APIRouter, Response

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.inbound import InboundAddressResponse, InboundOpened, InboundOpening

router = APIRouter(prefix="/sources/{source_id}/inbound", tags=["sources"], route_class=ApiRoute)


@router.post("", status_code=201, operation_id="create_source_inbound")
async def create_source_inbound(
    services: ServicesOf, organization: CurrentOrganization, source_id: str, body: InboundOpening
) -> InboundOpened:
    """Open the inbound address of a source; or add a secret to an open one, and let the others expire.

    The secret is shown once.
    """
    opened = await services.ingestion.inbound_addresses.open(
        organization.id, source_id, secret=body.secret, overlap_seconds=body.overlap_seconds
    )
    return InboundOpened.from_opened(opened, public_url=services.settings.api.public_url)


@router.get("", operation_id="get_source_inbound")
async def get_source_inbound(
    services: ServicesOf, organization: CurrentOrganization, source_id: str
) -> InboundAddressResponse:
    """Return the inbound address of a source, without its secrets."""
    addresses = services.ingestion.inbound_addresses
    address = await addresses.get(organization.id, source_id)
    return InboundAddressResponse.from_address(
        address, public_url=services.settings.api.public_url, learned=addresses.learned_secret(address)
    )


@router.delete("", status_code=204, operation_id="delete_source_inbound")
async def delete_source_inbound(services: ServicesOf, organization: CurrentOrganization, source_id: str) -> Response:
    """Close the inbound address of a source. Its documents stay; opened again, it has another address."""
    await services.ingestion.inbound_addresses.close(organization.id, source_id)
    return Response(status_code=204)
