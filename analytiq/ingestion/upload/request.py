"""A staged file, and the data that its uploader gives with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.metadata import fitted_metadata, validated_metadata
from analytiq.ingestion.documents.metadata_fields import DeclaredFields
from analytiq.ingestion.documents.naming import (
    validated_external_identity,
    validated_origin,
    validated_path,
    validated_source_url,
)
from analytiq.ingestion.upload.placement import Placement
from analytiq.models.document import ExternalIdentity
from analytiq.models.upload import DuplicatePolicy, Upload
from analytiq.storage.files import StoredBytes


@dataclass(frozen=True, slots=True)
class StagedFile:
    """Bytes that belong to no document yet."""

    upload: Upload
    stored: StoredBytes
    content: bytes | None
    """The bytes of a small file, to be written with its document; None if they are written already."""
    document_name: str
    content_type: str


@dataclass(frozen=True, slots=True)
class UploadRequest:
    """A staged file that is to become a document.

    None for tags or metadata means none for a new document, and unchanged for a replaced one. A file with an
    external identity makes the document of that item, or becomes its next version; the policy does not apply.
    """

    staged: StagedFile
    tag_ids: Sequence[str] | None
    """Known to exist."""
    metadata: Mapping[str, JsonValue] | None
    policy: DuplicatePolicy
    """For bytes or a name that already exist in the organization."""
    merges: bool = False
    """Add tags and metadata to those of an existing document, instead of keeping or replacing them."""
    path: str | None = None
    """The document's name with its folders; None for the staged name."""
    origin: str | None = None
    external_identity: ExternalIdentity | None = None
    password: str | None = field(default=None, repr=False)
    """Opens an encrypted file; encrypted for storage (`DocumentPasswords.sealed`)."""
    source_url: str | None = None
    """See `Document.source_url`; None keeps that of an existing document."""
    is_bulk: bool = False
    """True for one of many files: its jobs wait behind those of single uploads."""
    request_id: str | None = None
    """The call's id, for the log."""

    def placement(self, declared: DeclaredFields | None) -> Placement:
        """Validate the data by the organization's declared fields; None if the request has no metadata.

        Raises:
            InvalidInputError: the path, the origin, the address or the external identity is invalid, `policy` asks
                for a copy of an item, the metadata is not storable, or a declared field has a value of another type.
        """
        if self.external_identity is not None:
            validated_external_identity(self.external_identity)
            if self.policy is DuplicatePolicy.CREATE:
                raise InvalidInputError.of_field(
                    "on_duplicate", "An external identity names one document. Use `return` or `replace`."
                )
        metadata = None if self.metadata is None else validated_metadata(self.metadata)
        if metadata and declared is not None:
            metadata = fitted_metadata(metadata, declared.types)
        return Placement(
            upload=self.staged.upload,
            stored=self.staged.stored,
            content=self.staged.content,
            document_name=self.staged.document_name if self.path is None else validated_path(self.path),
            origin=None if self.origin is None else validated_origin(self.origin),
            external_identity=self.external_identity,
            source_url=None if self.source_url is None else validated_source_url(self.source_url),
            merges=self.merges,
            content_type=self.staged.content_type,
            tag_ids=None if self.tag_ids is None else tuple(self.tag_ids),
            metadata=metadata,
            password=self.password,
            is_bulk=self.is_bulk,
            request_id=self.request_id,
        )
