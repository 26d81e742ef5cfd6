"""`/metadata-fields`: declared types of metadata fields."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.metadata_fields import MetadataFieldsAnswer, MetadataFieldsDeclaration, MetadataFieldsResponse

router = APIRouter(prefix="/metadata-fields", tags=["documents"], route_class=ApiRoute)


@router.get("", operation_id="get_metadata_fields")
async def get_metadata_fields(services: ServicesOf, organization: CurrentOrganization) -> MetadataFieldsResponse:
    """Return the declared metadata fields."""
    declared = await services.ingestion.metadata_fields.of(organization.id)
    return MetadataFieldsResponse(fields=dict(declared.types))


@router.put("", operation_id="declare_metadata_fields")
async def declare_metadata_fields(
    services: ServicesOf, organization: CurrentOrganization, body: MetadataFieldsDeclaration
) -> MetadataFieldsAnswer:
    """Replace the declared metadata fields.

    From now on, documents must have values of these types, and filters must compare with literals of these types.
    Existing dates are converted to RFC 3339 in UTC. Omitted fields are no longer declared; their values stay.
    """
    declaration = await services.ingestion.metadata_fields.declare(
        organization.id, body.fields, on_misfit=body.on_misfit
    )
    return MetadataFieldsAnswer.from_model(declaration)
