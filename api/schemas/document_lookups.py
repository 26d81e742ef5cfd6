"""Request and response bodies of lookups of many documents."""

import re
from typing import Annotated

from pydantic import ConfigDict, Field

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.lookup import BATCH, LookedUp
from analytiq.ingestion.documents.naming import LONGEST_PATH
from analytiq.storage.repositories.document_lookups import PathPlace
from api.schemas.documents import SOURCE, DocumentDetail, ExternalId, ExternalIdentityBody, SourceName
from api.schemas.wire import NO_CONTROLS, RequestBody, ResponseBody

_PLACE = re.compile(r"([0-9a-f]{24}):(.+)", re.ASCII | re.DOTALL)

PathText = Annotated[str, Field(max_length=LONGEST_PATH)]


class DocumentLookup(RequestBody):
    """Documents to look up: by paths, by folder with all subfolders, or by the external ids of one source."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"folder": "contracts/2024"},
                {"paths": ["contracts/2024/acme.pdf"]},
                {"source": "wiki", "external_ids": ["4711"]},
            ]
        },
    )

    folder: PathText | None = None
    paths: Annotated[list[PathText] | None, Field(max_length=BATCH)] = None
    source: SourceName | None = Field(None, description=SOURCE)
    external_ids: Annotated[list[ExternalId] | None, Field(max_length=BATCH, description="Items of `source`")] = None
    after: Annotated[str, NO_CONTROLS, Field(max_length=2 * LONGEST_PATH)] | None = Field(
        None, description="The `next` value of the previous response"
    )

    def place(self) -> PathPlace | None:
        """Return the position after the previous response.

        Raises:
            InvalidInputError: `after` is not a `next` value.
        """
        if self.after is None:
            return None
        matched = _PLACE.fullmatch(self.after)
        if matched is None:
            raise InvalidInputError.of_field("after", "Must be the `next` value of a response.")
        return PathPlace(matched[2], matched[1])


class DocumentAtPath(ResponseBody):
    """A document with its path and the hash of its file."""

    document_id: str = Field(validation_alias="id")
    document_name: str = Field(description="The path")
    origin: str | None
    external_identity: ExternalIdentityBody | None
    sha256: str
    byte_size: int
    state: str
    tag_ids: list[str]


class DocumentsAtPaths(ResponseBody):
    """Documents by path or external id, at most 1,000. Several documents may have the same path."""

    documents: list[DocumentAtPath]
    next: str | None = Field(
        description="Send the request again with this value as `after` to continue; null at the end"
    )

    @classmethod
    def from_batch(cls, found: LookedUp) -> "DocumentsAtPaths":
        """Build the response, with the position as text in `next`."""
        place = found.next
        return cls.from_model(found, next=None if place is None else f"{place.document_id}:{place.document_name}")


class DocumentProgressQuery(RequestBody):
    """Documents to report the progress of."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"document_ids": ["507f1f77bcf86cd799439011"]}]}
    )

    document_ids: Annotated[list[str], Field(min_length=1, max_length=BATCH)]


class DocumentsProgress(ResponseBody):
    """The progress of each existing document, in any order."""

    documents: list[DocumentDetail]
