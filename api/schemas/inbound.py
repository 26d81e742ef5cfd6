"""Request and response bodies of inbound addresses, and of what is pushed to them."""

import base64
import binascii
from typing import Annotated, Self

from pydantic import ConfigDict, Field, JsonValue, SecretStr, StringConstraints, model_validator

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.pushes.addresses import LONGEST_OVERLAP_SECONDS, OpenedAddress
from analytiq.ingestion.sources.pushes.taking import PushedItem
from analytiq.models.inbound import InboundAddress
from analytiq.models.source import ItemOutcome, SourceRunEntry
from api.schemas.documents import ExternalId
from api.schemas.wire import NO_NUL, Moment, RequestBody, ResponseBody

MOST_ITEMS = 1000
INBOUND_PATH = "/v0/inbound"


class InboundOpening(RequestBody):
    """An inbound address to open, or a further secret for an open one."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"overlap_seconds": 86_400}]})

    secret: SecretStr | None = Field(
        default=None, description="The service's own secret, such as Slack's signing secret; null: a new one is made"
    )
    overlap_seconds: int = Field(
        default=86_400, ge=0, le=LONGEST_OVERLAP_SECONDS, description="Time for which the secrets before stay valid"
    )


class InboundAddressResponse(ResponseBody):
    """The inbound address of a source. Requests to it need no access token; each is signed."""

    url: str = Field(description="Whole if the operator has set the public address of the API; else the path")
    created_at: Moment
    last_push_at: Moment | None
    secret_count: int = Field(description="Secrets that are stored, also those that expire")
    learned_secret: str | None = Field(
        description="The token that the service sent to be confirmed there, until it signs by it (Notion)"
    )

    @classmethod
    def from_address(
        cls, address: InboundAddress, *, public_url: str | None, learned: SecretStr | None
    ) -> "InboundAddressResponse":
        """Build the response."""
        return cls.from_model(
            address,
            url=f"{(public_url or '').rstrip('/')}{INBOUND_PATH}/{address.address}",
            secret_count=len(address.secrets),
            learned_secret=None if learned is None else learned.get_secret_value(),
        )


class InboundOpened(InboundAddressResponse):
    """An inbound address with its new secret, which is never shown again."""

    secret: str

    @classmethod
    def from_opened(cls, opened: OpenedAddress, *, public_url: str | None) -> "InboundOpened":
        """Build the response."""
        shown = InboundAddressResponse.from_address(opened.address, public_url=public_url, learned=None)
        return cls(**shown.model_dump(), secret=opened.secret.get_secret_value())


class PushItem(RequestBody):
    """An item: with its content, or `deleted`."""

    id: ExternalId = Field(description="The item's id there: the same id is the same document")
    name: Annotated[str, StringConstraints(min_length=1, max_length=1024), NO_NUL] | None = Field(
        None, description="The document's name, also with folders; omitted: the id"
    )
    content: str | None = Field(None, description="The item's bytes in base64")
    text: str | None = Field(None, description="The item's text, instead of `content`")
    content_type: Annotated[str | None, Field(max_length=200)] = None
    url: Annotated[str | None, Field(max_length=2048)] = Field(None, description="The item's address, for people")
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    deleted: bool = Field(default=False, description="The item no longer exists; see `when_vanished` of the source")

    @model_validator(mode="after")
    def _has_content_or_is_deleted(self) -> Self:
        given = (self.content is not None) + (self.text is not None)
        if self.deleted and given:
            raise ValueError("A deleted item has no content.")
        if given > 1:
            raise ValueError("Give `content` in base64, or `text`, not both.")
        return self

    def to_pushed(self, place: str, file: "PushFile | None" = None) -> PushedItem:
        """Convert to the library's item.

        Raises:
            InvalidInputError: the content is missing or not base64.
        """
        content = None if self.deleted else self._decoded(place, file)
        kind = self.content_type or (file.content_type if file else None)
        return PushedItem(
            external_id=self.id,
            name=self.name or (file.file_name if file else None) or self.id,
            content=content,
            content_type=kind or ("text/plain" if self.text is not None else "application/octet-stream"),
            source_url=self.url,
            metadata=self.metadata,
        )

    def _decoded(self, place: str, file: "PushFile | None") -> bytes:
        if file is not None:
            return file.content
        if self.text is not None:
            return self.text.encode()
        if self.content is None:
            raise InvalidInputError.of_field(f"{place}.content", "Missing. Give `content`, `text` or `deleted`.")
        try:
            return base64.b64decode(self.content, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidInputError.of_field(f"{place}.content", "The content is not base64.") from None


class PushBatch(RequestBody):
    """Items that are pushed."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"items": [{"id": "42", "name": "Terms.md", "text": "Due in 30 days."}]}]},
    )

    items: list[PushItem] = Field(min_length=1, max_length=MOST_ITEMS)


class PushFile(ResponseBody):
    """A file of a multipart push."""

    file_name: str
    content_type: str | None
    content: bytes


class PushItemResponse(ResponseBody):
    """The outcome of a pushed item."""

    id: str
    outcome: ItemOutcome
    reason: str | None
    document_id: str | None

    @classmethod
    def from_entry(cls, entry: SourceRunEntry) -> "PushItemResponse":
        """Build the response."""
        return cls(id=entry.external_id, outcome=entry.outcome, reason=entry.reason, document_id=entry.document_id)


class PushResponse(ResponseBody):
    """The outcome of a push."""

    items: list[PushItemResponse]
    repeated: bool = Field(description="The message had arrived before, and was done: nothing was changed now")
