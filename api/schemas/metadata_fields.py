"""Request and response bodies of declared metadata fields."""

from pydantic import ConfigDict, Field

from analytiq.models.metadata_field import FieldType, MisfitPolicy
from api.schemas.wire import RequestBody, ResponseBody


class MetadataFieldsDeclaration(RequestBody):
    """The complete set of fields to declare."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"fields": {"year": "number", "due": "date"}}]}
    )

    fields: dict[str, FieldType] = Field(description="Metadata key → type of its value, or of each value in a list")
    on_misfit: MisfitPolicy = Field(
        MisfitPolicy.REFUSE,
        description="Existing values of another type: refuse the declaration and name documents, or remove the values",
    )


class MetadataFieldsResponse(ResponseBody):
    """The declared fields by name."""

    fields: dict[str, FieldType] = Field(validation_alias="types")


class MetadataFieldsAnswer(MetadataFieldsResponse):
    """The declared fields and the effects of the declaration."""

    documents_rewritten: int = Field(description="Documents with rewritten metadata")
    values_removed: int = Field(description="Removed values of another type")
