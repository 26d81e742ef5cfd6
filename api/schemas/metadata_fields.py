"""Wire shapes of declared metadata."""

from pydantic import ConfigDict, Field

from analytiq.models.metadata_field import FieldType, MisfitPolicy
from api.schemas.wire import RequestBody, ResponseBody


class MetadataFieldsDeclaration(RequestBody):
    """All fields that are to be declared."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"fields": {"year": "number", "due": "date"}}]}
    )

    fields: dict[str, FieldType] = Field(description="Key of the metadata → type of its values, or of each in a list")
    on_misfit: MisfitPolicy = Field(
        MisfitPolicy.REFUSE,
        description="Where documents have values of another type: refuse to declare, naming documents, or remove the"
        " values from their metadata",
    )


class MetadataFieldsResponse(ResponseBody):
    """The declared fields, by name."""

    fields: dict[str, FieldType] = Field(validation_alias="types")


class MetadataFieldsAnswer(MetadataFieldsResponse):
    """The declared fields, and what declaring them did."""

    documents_rewritten: int = Field(description="Documents whose metadata was written anew")
    values_removed: int = Field(description="Values of another type that were removed from them")
