"""Client calls for declared metadata fields."""

from collections.abc import Mapping

from analytiq.client.connection import Connection
from analytiq.client.organization_models import MetadataDeclaration
from analytiq.models.metadata_field import FieldType, MisfitPolicy


class MetadataFieldCalls(Connection):
    """The types of documents' metadata."""

    def metadata_fields(self) -> dict[str, FieldType]:
        """Return the declared fields, by name."""
        answer = self._transport.call("GET", "/metadata-fields")
        return MetadataDeclaration.model_validate_json(answer).fields

    def declare_metadata_fields(
        self, fields: Mapping[str, FieldType | str], *, on_misfit: MisfitPolicy | str = MisfitPolicy.REFUSE
    ) -> MetadataDeclaration:
        """Declare exactly these fields, by name; omitted ones are no longer declared.

        Args:
            fields: name → string, number, boolean or date.
            on_misfit: for values of another type: `refuse` the declaration, or `remove` them from their metadata.

        Raises:
            ProblemError: values do not fit (code `metadata_misfits`, `errors` name documents), or a name is invalid.
        """
        body = {
            "fields": {name: FieldType(kind).value for name, kind in fields.items()},
            "on_misfit": MisfitPolicy(on_misfit).value,
        }
        answer = self._transport.call("PUT", "/metadata-fields", json=body)
        return MetadataDeclaration.model_validate_json(answer)
