"""The common part of kinds whose items are records of one text: each record is a document of its own.

A document of one record is one chunk, whatever the knowledge base's chunker and sizes are: it is neither merged with
another nor split, unless the embedding model cannot read it at once.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field, JsonValue, SecretStr, model_validator

from analytiq.errors import InvalidInputError
from analytiq.ingestion.parsing.registry import PASSAGE_TYPE
from analytiq.ingestion.sources.base import (
    FetchedItem,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections import contents
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.ingestion.sources.systems.labelled.records import MOST_CHARACTERS, Record, as_json, records_of
from analytiq.ingestion.sources.systems.labelled.workbooks import WantedColumn, is_workbook, records_of_sheets

BATCH = 200
LONGEST_TITLE = 80
_UNSAFE = re.compile(r"[\s/\\\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


class RecordSettings(KindSchema):
    """The settings: a text, or its address."""

    text: str = Field(
        default="",
        max_length=1_000_000,
        description="The text itself: CSV, JSON, JSON Lines or YAML, as the kind reads",
    )
    url: str = Field(default="", max_length=2048, description="Address of a file, instead of the text")

    @model_validator(mode="after")
    def _has_one(self) -> "RecordSettings":
        if bool(self.text) == bool(self.url):
            raise ValueError("Give either the text or the address")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError("The address must begin with https:// or http://")
        return self


class TableSettings(RecordSettings):
    """The settings of kinds that read tables: also of a workbook."""

    sheet: str = Field(
        default="", max_length=200, description="Sheet of an XLSX, XLS or ODS file. Empty: all sheets with the columns"
    )


def column_field(usual: str) -> str:
    """Return the setting for the name of a column; `usual`: the names that count without it."""
    return Field(default="", max_length=200, description=f"Heading or field, whatever its case. Empty: {usual}")


def names_of(column: str, *usual: str) -> tuple[str, ...]:
    """Return the names of a column as records have them: the chosen one, or the usual ones."""
    chosen = column.strip().lower()
    return (chosen,) if chosen else usual


class RecordCredentials(KindSchema):
    """A header for the address."""

    authorization: SecretStr | None = Field(
        default=None, title="Authorization header", description="Sent to the address: Bearer …"
    )


@dataclass(frozen=True, slots=True)
class LabelledText:
    """An item: its key in the source, its text, and its metadata."""

    key: str
    title: str
    text: str
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


class TextConnector(ABC):
    """Lists the items of one text."""

    title: ClassVar[str]
    description: ClassVar[str]
    content_type: ClassVar[str] = "text/plain; charset=utf-8"

    settings_schema: ClassVar[type[KindSchema]] = RecordSettings
    credentials_schema: ClassVar[type[KindSchema]] = RecordCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = RecordSettings.model_validate(settings, from_attributes=True)
        self._context = context
        self._client: ServiceClient | None = None
        secret = RecordCredentials.model_validate(credentials, from_attributes=True).authorization
        if self._settings.url:
            headers = {"accept": "*/*"} | ({"authorization": secret.get_secret_value()} if secret else {})
            self._client = ServiceClient(
                context.operator, self._settings.url, headers=headers, service="The address of the records"
            )
        self._known: dict[str, LabelledText] | None = None
        self._notes: list[str] = []
        """Lines for the log of the run."""

    @property
    def address(self) -> str:
        """The address of the text; empty if it is given."""
        return self._settings.url

    @abstractmethod
    def items_of(self, text: str) -> list[LabelledText]:
        """Return the items of the text; the last of a key counts.

        Raises:
            InvalidInputError: the text is not readable.
        """

    async def check(self) -> None:
        """See Connector.

        Raises:
            InvalidInputError: the text has no records of this kind.
        """
        if not await self._items():
            reasons = " ".join((type(self).description, *self._notes))
            raise InvalidInputError.of_field("settings.text", f"No records. {reasons}")

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is the last listed key."""
        items = await self._items()
        keys = sorted(key for key in items if cursor is None or key > cursor)
        for start in range(0, len(keys), BATCH):
            some = keys[start : start + BATCH]
            listed = [_listed(items[key]) for key in some]
            accepted = [each for each in listed if self._context.accepts(each.name)]
            yield ListedBatch(items=accepted, cursor=some[-1], notes=self._notes if start == 0 else ())

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        item = (await self._items()).get(external_id)
        listed = _listed(item) if item is not None else None
        return listed if listed is not None and self._context.accepts(listed.name) else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        known = (await self._items())[item.external_id]
        return FetchedItem(contents.whole(known.text.encode()), self.content_type, _listed(known).version)

    async def close(self) -> None:
        """See Connector."""
        if self._client is not None:
            await self._client.close()

    async def _items(self) -> dict[str, LabelledText]:
        if self._known is None:
            if self._client is None:
                found = self.items_of(self._settings.text)
            else:
                found = await self.items_of_content(await self._download(self._client))
            self._known = {item.key: item for item in found}
            if lost := len({(item.key, item.title, item.text) for item in found}) - len(self._known):
                self._notes.append(f"{lost} records have the id, or without ids the text, of a later one.")
        return self._known

    async def items_of_content(self, content: bytes) -> list[LabelledText]:
        """Return the items of the content at the address; see `items_of`."""
        try:
            return self.items_of(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise InvalidInputError.of_field("settings.url", "The file is not UTF-8. Save it as UTF-8.") from None

    async def _download(self, client: ServiceClient) -> bytes:
        content = bytearray()
        async for block in client.download(self._settings.url, most_bytes=MOST_CHARACTERS):
            content += block
        return bytes(content)


class RecordConnector(TextConnector):
    """Lists the records of one text or workbook."""

    settings_schema: ClassVar[type[KindSchema]] = TableSettings

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        super().__init__(settings=settings, credentials=credentials, context=context)
        self._sheet = TableSettings.model_validate(settings, from_attributes=True).sheet
        self._read_workbook = context.read_workbook

    @property
    @abstractmethod
    def wanted_columns(self) -> Sequence[WantedColumn]:
        """The columns that a sheet of a workbook must have."""

    content_type: ClassVar[str] = f"{PASSAGE_TYPE}; charset=utf-8"

    @abstractmethod
    def texts_of(self, record: Record) -> Iterator[LabelledText]:
        """Yield the items of a record; none if it lacks a field."""

    def items_of(self, text: str) -> list[LabelledText]:
        """See TextConnector."""
        return self._texts(records_of(text))

    async def items_of_content(self, content: bytes) -> list[LabelledText]:
        """See TextConnector; a workbook's sheets are read elsewhere."""
        if not is_workbook(content):
            return await super().items_of_content(content)
        workbook = await self._read_workbook(content, sheet=self._sheet)
        self._notes += (f"The workbook: {warning}." for warning in workbook.warnings)
        return self._texts(records_of_sheets(workbook.sheets, self.wanted_columns, sheet=self._sheet))

    def _texts(self, records: Sequence[Record]) -> list[LabelledText]:
        return [item for record in records for item in self.texts_of(record)]


def key_of(*values: str) -> str:
    """Return the id of a record without one: a hash of what identifies it."""
    return hashlib.sha256("\n".join(values).casefold().encode("utf-8", "replace")).hexdigest()[:32]


def _listed(item: LabelledText) -> ListedItem:
    title = _UNSAFE.sub(" ", item.title).strip(" .")[:LONGEST_TITLE].strip()
    shaped = as_json({"text": item.text, "metadata": dict(item.metadata)})
    return ListedItem(
        external_id=item.key,
        name=title or item.key[:LONGEST_TITLE],
        version=hashlib.sha256(shaped.encode("utf-8", "replace")).hexdigest(),
        byte_size=len(item.text.encode("utf-8", "replace")),
        fields={**item.metadata, "id": item.key},
        metadata=item.metadata,
    )
