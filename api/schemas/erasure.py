"""Wire shapes of erasures and retention."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from analytiq.errors import InvalidInputError
from analytiq.models.erasure import DocumentSelection, ErasureKind, ErasureState
from api.schemas.search import Time
from api.schemas.wire import NO_NUL, Moment, RequestBody, ResponseBody

Text = Annotated[Annotated[str, NO_NUL], Field(min_length=1, max_length=255)]
Id = Annotated[Annotated[str, NO_NUL], Field(min_length=1, max_length=64)]


class ErasureCreate(RequestBody):
    """What to erase: documents that fit everything that is given, or cached embeddings."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"kind": "documents", "metadata": {"uploader": "anna"}, "reason": "asked for by Anna", "dry_run": True},
                {"kind": "cache", "dry_run": True},
            ]
        },
    )

    kind: Literal["documents", "cache"]
    document_ids: list[Id] = Field(default_factory=list[Id], max_length=1000)
    tag_ids: list[Id] = Field(default_factory=list[Id], max_length=100, description="Documents with all of these")
    name_contains: Text | None = Field(default=None, description="Literally; case does not count")
    metadata: dict[Text, JsonValue] = Field(
        default_factory=dict[Text, JsonValue], max_length=20, description="Documents with all of these values"
    )
    uploaded_before: Time | None = None
    includes_shared: bool = Field(
        default=False, description="For the cache: also embeddings that others may use and the organization paid for"
    )
    reason: Text | None = Field(default=None, description="Kept in the report")
    dry_run: bool = Field(default=False, description="Only count what would go")

    def selection(self) -> DocumentSelection:
        """Which documents.

        Raises:
            InvalidInputError: a name of a metadata field is none.
        """
        for name in self.metadata:
            if name.startswith("$") or "." in name:
                raise InvalidInputError.of_field(f"metadata.{name}", "a name has no dot, and does not begin with $")
        return DocumentSelection(
            document_ids=tuple(self.document_ids),
            tag_ids=tuple(self.tag_ids),
            name_contains=self.name_contains,
            metadata=self.metadata,
            uploaded_before=self.uploaded_before,
        )


class ErasureFailure(ResponseBody):
    """Why it cannot go on."""

    code: str
    detail: str


class ErasureResponse(ResponseBody):
    """An erasure, and its report."""

    erasure_id: str = Field(validation_alias="id")
    kind: ErasureKind
    state: ErasureState
    dry_run: bool = Field(validation_alias="is_dry_run")
    requested_by: str
    reason: str | None
    documents: int = Field(description="How many documents went, or would go")
    counts: dict[str, int] = Field(description="Rows that went, or would go, by collection")
    left: dict[str, int] | None = Field(
        description="Rows that the last look found; an erasure that is done found none. Null before the first look"
    )
    error: ErasureFailure | None
    requested_at: Moment
    finished_at: Moment | None


class ErasureList(ResponseBody):
    """A page of erasures."""

    erasures: list[ErasureResponse]
    total_count: int
    skip: int


class RetentionSettings(RequestBody):
    """How long documents are kept after the upload of their file; null: until somebody deletes them."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"document_days": 365}]})

    document_days: int | None = Field(ge=1, le=36_500)


class RetentionAnswer(ResponseBody):
    """How long documents are kept."""

    document_days: int | None
