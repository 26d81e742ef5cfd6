"""Request and response bodies of changes to many documents."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import ConfigDict, Field, JsonValue

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.changing import BATCH, ChangedBatch, WantedChange
from analytiq.ingestion.documents.naming import LONGEST_PATH
from analytiq.models.document import DocumentState
from analytiq.models.file_type import FileType
from analytiq.storage.repositories.document_batches import Place
from api.schemas.documents import SOURCE, ExternalId, SourceName
from api.schemas.wire import NO_NUL, RequestBody, ResponseBody

_PLACE = re.compile(r"(\d{1,15})-([0-9a-f]{24})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ANY_FILE_TYPE = "Any of these types: the detected one, or before extraction the declared one"

DocumentIds = Annotated[list[str], Field(max_length=BATCH)]
TagIds = Annotated[list[str], Field(max_length=100)]


class DocumentMatch(RequestBody):
    """A selection of documents, as in the list of documents.

    All given criteria must match; without criteria, all documents match.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name_search": "invoice"}]})

    name_search: Annotated[Annotated[str, NO_NUL] | None, Field(max_length=255)] = None
    folder: Annotated[str | None, Field(max_length=LONGEST_PATH, description="In this folder and its subfolders")] = (
        None
    )
    source: SourceName | None = Field(None, description=f"Of this source. {SOURCE}")
    external_id: ExternalId | None = Field(None, description="The document of this item of `source`")
    parent_id: Annotated[
        Annotated[str, NO_NUL] | None, Field(max_length=64, description="Found in this document: its parts")
    ] = None
    tag_ids: TagIds = Field(default_factory=list, description="With all of these tags")
    state: list[DocumentState] = Field(default_factory=list[DocumentState], description="In any of these states")
    kb_id: Annotated[
        Annotated[str, NO_NUL] | None, Field(max_length=64, description="With a tag of this knowledge base")
    ] = None
    error_code: Annotated[
        list[Annotated[str, NO_NUL]], Field(max_length=50, description="With any of these codes of a failed extraction")
    ] = Field(default_factory=list[str])
    file_type: list[FileType] = Field(default_factory=list[FileType], description=ANY_FILE_TYPE)
    metadata_filter: dict[str, JsonValue] | None = None


class DocumentsChange(RequestBody):
    """A change, and its documents: `document_ids`, or a `matching` selection."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"matching": {"name_search": "invoice"}, "metadata": {"year": 2024, "draft": None}}]
        },
    )

    document_ids: DocumentIds | None = None
    matching: DocumentMatch | None = None
    except_ids: Annotated[list[str], Field(max_length=10_000, description="Documents excluded from `matching`")] = (
        Field(default_factory=list)
    )
    after: Annotated[str | None, Field(max_length=100, description="The `next` value of the previous response")] = None
    add_tag_ids: TagIds = Field(default_factory=list)
    remove_tag_ids: TagIds = Field(default_factory=list)
    metadata: dict[str, JsonValue] | None = Field(
        None, description="Values to set by key; null removes the key. Other keys stay"
    )

    def wanted(self, added: list[str], removed: list[str]) -> WantedChange:
        """Convert to the library's request.

        Raises:
            InvalidInputError: the change is empty, or a tag is both added and removed.
        """
        both = set(added) & set(removed)
        if both:
            raise InvalidInputError.of_field(
                "remove_tag_ids", f"Tag {min(both)!r} is also in add_tag_ids. Send it in one of them."
            )
        if not added and not removed and not self.metadata:
            raise InvalidInputError.of_field("add_tag_ids", "Nothing to change. Send tags or metadata.")
        return WantedChange(tuple(added), tuple(removed), self.metadata)

    def place(self) -> Place | None:
        """Return the position to continue from.

        Raises:
            InvalidInputError: `after` is not a `next` value.
        """
        if self.after is None:
            return None
        matched = _PLACE.fullmatch(self.after)
        if matched is None:
            raise InvalidInputError.of_field("after", "Must be the `next` value of a response.")
        try:
            return Place(_EPOCH + timedelta(milliseconds=int(matched[1])), matched[2])
        except OverflowError as error:
            raise InvalidInputError.of_field("after", "Must be the `next` value of a response.") from error


class DocumentRefusal(ResponseBody):
    """A document excluded from the change by an error."""

    document_id: str
    document_name: str
    detail: str = Field(validation_alias="reason")


class DocumentsChanged(ResponseBody):
    """The result of the call, over at most 500 documents."""

    changed_ids: list[str] = Field(
        validation_alias="changed", description="Ids of changed documents; send them to undo the change"
    )
    unchanged_count: int = Field(description="Documents that needed no change")
    refused: list[DocumentRefusal]
    next: str | None = Field(
        description="Send the request again with this value as `after` to continue; null at the end"
    )

    @classmethod
    def from_batch(cls, batch: ChangedBatch) -> "DocumentsChanged":
        """Build the response, with the position as text in `next`."""
        place = batch.next
        if place is None:
            return cls.from_model(batch)
        milliseconds = (place.created_at - _EPOCH) // timedelta(milliseconds=1)
        return cls.from_model(batch, next=f"{milliseconds}-{place.document_id}")
