"""Request and response bodies of erasures and retention."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from analytiq.errors import InvalidInputError
from analytiq.models.erasure import DocumentSelection, ErasureKind, ErasureState
from api.schemas.search import Time
from api.schemas.wire import NO_NUL, Moment, RequestBody, ResponseBody

Text = Annotated[Annotated[str, NO_NUL], Field(min_length=1, max_length=255)]
Id = Annotated[Annotated[str, NO_NUL], Field(min_length=1, max_length=64)]


class ErasureCreate(RequestBody):
    """Data to erase: documents that match all given criteria, or cached embeddings."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"kind": "documents", "metadata": {"uploader": "anna"}, "reason": "requested by Anna", "dry_run": True},
                {"kind": "cache", "dry_run": True},
            ]
        },
    )

    kind: Literal["documents", "cache"]
    document_ids: list[Id] = Field(default_factory=list[Id], max_length=1000)
    tag_ids: list[Id] = Field(default_factory=list[Id], max_length=100, description="With all of these tags")
    name_contains: Text | None = Field(default=None, description="Part of the name, case-insensitive")
    metadata: dict[Text, JsonValue] = Field(
        default_factory=dict[Text, JsonValue], max_length=20, description="With all of these values"
    )
    uploaded_before: Time | None = None
    includes_shared: bool = Field(
        default=False, description="Of the cache: also erase shared embeddings that the organization paid for"
    )
    reason: Text | None = Field(default=None, description="Stored in the report")
    dry_run: bool = Field(default=False, description="Count the data without erasing it")

    def selection(self) -> DocumentSelection:
        """Return the selection of documents.

        Raises:
            InvalidInputError: a metadata field has an invalid name.
        """
        for name in self.metadata:
            if name.startswith("$") or "." in name:
                raise InvalidInputError.of_field(f"metadata.{name}", "Must not contain a dot or begin with $.")
        return DocumentSelection(
            document_ids=tuple(self.document_ids),
            tag_ids=tuple(self.tag_ids),
            name_contains=self.name_contains,
            metadata=self.metadata,
            uploaded_before=self.uploaded_before,
        )


class ErasureFailure(ResponseBody):
    """The reason for an interrupted erasure."""

    code: str
    detail: str


class ErasureResponse(ResponseBody):
    """An erasure with its report."""

    erasure_id: str = Field(validation_alias="id")
    kind: ErasureKind
    state: ErasureState
    dry_run: bool = Field(validation_alias="is_dry_run")
    requested_by: str
    reason: str | None
    documents: int = Field(
        description="Number of documents erased, or to be erased, with the parts of the selected documents"
    )
    holder_ids: list[str] = Field(
        description="Documents around erased parts that are not erased: their files still contain the parts"
    )
    counts: dict[str, int] = Field(description="Number of rows erased, or to be erased, by collection")
    left: dict[str, int] | None = Field(
        description="Rows found by the last verification; a finished erasure has none. Null before the first "
        "verification"
    )
    error: ErasureFailure | None
    requested_at: Moment
    finished_at: Moment | None


class ErasureDetail(ErasureResponse):
    """An erasure with its report and the documents that it names."""

    document_ids: list[str] = Field(
        description="The erased documents, with the parts of the selected documents at any depth"
    )


class ErasureList(ResponseBody):
    """A page of erasures."""

    erasures: list[ErasureResponse]
    total_count: int
    skip: int


class RetentionSettings(RequestBody):
    """Retention period of documents after their upload; null: unlimited."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"document_days": 365}]})

    document_days: int | None = Field(ge=1, le=36_500)


class RetentionAnswer(ResponseBody):
    """The retention period of documents."""

    document_days: int | None
