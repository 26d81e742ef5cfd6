"""Wire shapes of changes to many documents."""

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
from api.schemas.wire import NO_NUL, RequestBody, ResponseBody

_PLACE = re.compile(r"(\d{1,15})-([0-9a-f]{24})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ANY_FILE_TYPE = "Any of these: as the file was read, and until then as it was declared"

DocumentIds = Annotated[list[str], Field(max_length=BATCH)]
TagIds = Annotated[list[str], Field(max_length=100)]


class DocumentMatch(RequestBody):
    """Which documents, as in the list of documents: everything that is given has to fit; nothing given means all."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name_search": "invoice"}]})

    name_search: Annotated[Annotated[str, NO_NUL] | None, Field(max_length=255)] = None
    folder: Annotated[str | None, Field(max_length=LONGEST_PATH, description="In this folder and below it")] = None
    tag_ids: TagIds = Field(default_factory=list, description="All must be on it")
    state: list[DocumentState] = Field(default_factory=list[DocumentState], description="Any of these")
    kb_id: Annotated[
        Annotated[str, NO_NUL] | None, Field(max_length=64, description="With a tag of this knowledge base")
    ] = None
    error_code: Annotated[
        list[Annotated[str, NO_NUL]], Field(max_length=50, description="Why extraction failed: any of these")
    ] = Field(default_factory=list[str])
    file_type: list[FileType] = Field(default_factory=list[FileType], description=ANY_FILE_TYPE)
    metadata_filter: dict[str, JsonValue] | None = None


class DocumentsChange(RequestBody):
    """What to change of which documents: `document_ids`, or what is `matching`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"matching": {"name_search": "invoice"}, "metadata": {"year": 2024, "draft": None}}]
        },
    )

    document_ids: DocumentIds | None = None
    matching: DocumentMatch | None = None
    except_ids: Annotated[list[str], Field(max_length=10_000, description="Of what is matching, these stay")] = Field(
        default_factory=list
    )
    after: Annotated[str | None, Field(max_length=100, description="The `next` of the call before")] = None
    add_tag_ids: TagIds = Field(default_factory=list)
    remove_tag_ids: TagIds = Field(default_factory=list)
    metadata: dict[str, JsonValue] | None = Field(
        None, description="Values to set, key by key; null takes the key out. Other keys stay"
    )

    def wanted(self, added: list[str], removed: list[str]) -> WantedChange:
        """As the library takes it.

        Raises:
            InvalidInputError: nothing is to change, or a tag is to be put on and taken off.
        """
        both = set(added) & set(removed)
        if both:
            raise InvalidInputError.of_field("remove_tag_ids", f"{min(both)!r} is to be added as well")
        if not added and not removed and not self.metadata:
            raise InvalidInputError.of_field("add_tag_ids", "nothing is to change: say tags or metadata")
        return WantedChange(tuple(added), tuple(removed), self.metadata)

    def place(self) -> Place | None:
        """Where to go on.

        Raises:
            InvalidInputError: it is no `next`.
        """
        if self.after is None:
            return None
        matched = _PLACE.fullmatch(self.after)
        if matched is None:
            raise InvalidInputError.of_field("after", "is not the `next` of an answer")
        try:
            return Place(_EPOCH + timedelta(milliseconds=int(matched[1])), matched[2])
        except OverflowError as error:
            raise InvalidInputError.of_field("after", "is not the `next` of an answer") from error


class DocumentRefusal(ResponseBody):
    """A document that stayed as it was."""

    document_id: str
    document_name: str
    detail: str = Field(validation_alias="reason")


class DocumentsChanged(ResponseBody):
    """What the call came to: it looks at 500 documents at most."""

    changed_ids: list[str] = Field(
        validation_alias="changed", description="Those that are otherwise now; to undo it, send them"
    )
    unchanged_count: int = Field(description="Those that were so already")
    refused: list[DocumentRefusal]
    next: str | None = Field(description="Send the same with this as `after` to go on; null at the end")

    @classmethod
    def from_batch(cls, batch: ChangedBatch) -> "DocumentsChanged":
        """Build the response; `next` is the place as text."""
        place = batch.next
        if place is None:
            return cls.from_model(batch)
        milliseconds = (place.created_at - _EPOCH) // timedelta(milliseconds=1)
        return cls.from_model(batch, next=f"{milliseconds}-{place.document_id}")
