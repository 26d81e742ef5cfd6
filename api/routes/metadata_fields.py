"""`/metadata-fields`: the declared types of documents' metadata."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.metadata_fields import MetadataFieldsAnswer, MetadataFieldsDeclaration, MetadataFieldsResponse

router = APIRouter(prefix="/metadata-fields", tags=["documents"], route_class=ApiRoute)


@router.get("", operation_id="get_metadata_fields")
async def get_metadata_fields(services: ServicesOf, organization: CurrentOrganization) -> MetadataFieldsResponse:
    """The fields of documents' metadata whose type is declared."""
    declared = await services.ingestion.metadata_fields.of(organization.id)
    return MetadataFieldsResponse(fields=dict(declared.types))


@router.put("", operation_id="declare_metadata_fields")
async def declare_metadata_fields(
    services: ServicesOf, organization: CurrentOrganization, body: MetadataFieldsDeclaration
) -> MetadataFieldsAnswer:
    """Declare exactly these fields.

    From now on documents are taken only with values of these types, and filters only with literals of them. Dates that
    documents have are written anew as RFC 3339 in UTC. Fields that are left out are no longer declared; their values
    stay.
    """
    declaration = await services.ingestion.metadata_fields.declare(
        organization.id, body.fields, on_misfit=body.on_misfit
    )
    return MetadataFieldsAnswer.from_model(declaration)
