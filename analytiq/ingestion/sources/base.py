"""The port that every kind of source implements.

A connector serves one run or one check. It reads its source, and knows neither documents nor the database: the
engine compares what it lists with what is known, and fetches the rest (`analytiq.ingestion.sources.runs.running`).
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.config import JsonDict

from analytiq.errors import AnalytiqError, PermanentError, TransientError, UnsupportedFormatError
from analytiq.models.tables import WorkbookRows
from analytiq.settings import SourceSettings

LONGEST_NOTE = 64 * 1024
"""Most characters of an item's note."""


SEVERAL_LINES: JsonDict = {"format": "multiline"}
"""`json_schema_extra` of a text field that people paste with its lines, such as a key or a query."""


class KindSchema(BaseModel):
    """The base of the settings and credentials of a kind; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoCredentials(KindSchema):
    """The credentials of a kind that needs none."""


class ItemGoneError(AnalytiqError):
    """The item does not exist any more, although it was listed."""

    code = "item_gone"


class ItemRefusedError(AnalytiqError):
    """The item is not taken in; the detail is the reason."""

    code = "item_refused"


class SourceSilentError(TransientError):
    """The source did not answer in time."""

    code = "source_silent"


class PositionExpiredError(PermanentError):
    """The service does not know the position of a listing or of changes any more; list everything."""

    code = "position_expired"


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """Readers of an item, as its service says: ids or e-mail addresses of people, and ids or names of groups."""

    people: Sequence[str] = ()
    groups: Sequence[str] = ()
    is_public: bool = False
    """Everybody with an account there, or everybody, may read it."""


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item as its source lists it.

    Attributes:
        external_id: its id or address there, which stays when it is renamed or edited.
        name: the document's name, with folders.
        version: equal for equal content; None if only fetching tells.
        byte_size: None if unknown.
        source_url: its web address, for people.
        fields: its own data, which the source's mapping may turn into metadata.
        note: stored with the version and handed to the next run (`KnownItem`).
        skip_reason: the item exists and is not taken in.
        failure: the item exists and could not be read this time; its document stays as it is.
        access: who may read it there; None if the service does not say.
        metadata: the document's metadata as it is; the source's own metadata and mapping win.
    """

    external_id: str
    name: str
    version: str | None = None
    byte_size: int | None = None
    source_url: str | None = None
    fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    note: str | None = None
    skip_reason: str | None = None
    failure: str | None = None
    access: ItemAccess | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class ListedBatch:
    """Some of the items, in an order that is the same in each run.

    Attributes:
        items: at most a few hundred.
        cursor: the position behind these items; `list_changes` continues there.
        problems: parts of the source that could not be listed, with the reason. The run then removes nothing.
        notes: further lines for the run's log, few of them.
        removed: external ids that the service reports as deleted, or that left the source. An id that is among the
            items of the same batch too exists.
        is_delta: this listing names changes since `SourceContext.since` only; what it does not name is unchanged. The
            same in all batches of a listing.
        next_since: the `since` of the next run. The last batch of a listing has it, if the service tells changes.
    """

    items: Sequence[ListedItem]
    cursor: str
    problems: Sequence[str] = ()
    notes: Sequence[str] = ()
    removed: Sequence[str] = ()
    is_delta: bool = False
    next_since: str | None = None


@dataclass(frozen=True, slots=True)
class FetchedItem:
    """The content of an item.

    `version` is that of the content, and may be newer than the listed one. A kind whose versions are made of the
    content must tell it: an old version may come back.
    """

    content: AsyncIterator[bytes]
    content_type: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class KnownItem:
    """The version of an item that the last run took in, with the connector's note."""

    version: str | None
    note: str | None


FindKnown = Callable[[Sequence[str]], Awaitable[Mapping[str, KnownItem]]]
"""Returns what is known of these external ids."""
KeepCredentials = Callable[[Mapping[str, JsonValue]], Awaitable[None]]
"""Stores renewed fields of the credentials, such as refreshed tokens, encrypted; fields left out stay."""
Accepts = Callable[[str], bool]
"""Returns True if the source's patterns accept a path or address."""


class ReadWorkbook(Protocol):
    """Reads the sheets of a workbook (XLSX, XLS, ODS) in a process without rights, as its bytes may be hostile."""

    async def __call__(self, content: bytes, *, sheet: str = "") -> WorkbookRows:
        """Return all visible sheets in order; if one is named, only that one has rows.

        Raises:
            UnsupportedFormatError: the bytes are no workbook.
            PermanentError: it is encrypted, damaged, or beyond a limit; the detail says so.
        """
        ...


async def _read_no_workbook(content: bytes, *, sheet: str = "") -> WorkbookRows:
    """Refuse a workbook where nothing can read it."""
    del content, sheet
    raise UnsupportedFormatError("Workbooks cannot be read here: save the sheet as CSV.")


def _note_nothing() -> None:
    """Note no answer."""


async def _keep_nothing(_: Mapping[str, JsonValue]) -> None:
    """Keep renewed credentials no longer than the connector."""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The surroundings of a connector, besides its settings.

    Attributes:
        organization_id: the source's organization.
        operator: the server's settings of sources.
        find_known: looks up items of the last run.
        accepts: the patterns of the source; a connector lists no item that they refuse.
        max_item_bytes: most bytes of an item.
        since: `ListedBatch.next_since` of the last complete run; None: list everything. It is None too after the
            settings changed, and now and then, so that nothing missed stays missed.
        keep_credentials: stores renewed credentials, unless a person changed the credentials meanwhile.
        note_answer: called at each answer by a connector whose batches take seconds of work: otherwise its run passes
            for one that waits, and leaves its slot.
        read_workbook: reads the sheets of a workbook; refuses it where none can be read.
    """

    organization_id: str
    operator: SourceSettings
    find_known: FindKnown
    accepts: Accepts
    max_item_bytes: int
    since: str | None = None
    keep_credentials: KeepCredentials = _keep_nothing
    note_answer: Callable[[], None] = _note_nothing
    read_workbook: ReadWorkbook = _read_no_workbook


class Connector(Protocol):
    """A connection to one source."""

    async def check(self) -> None:
        """Check that the settings lead to a readable place.

        Raises:
            AnalytiqError: they do not; the detail says what to change.
        """
        ...

    def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """List the items of the source behind the cursor; None: from the beginning.

        All of them, or the changes since `SourceContext.since`, if the service tells changes. If it does not know that
        position any more, all of them; or it raises PositionExpiredError, and is asked again without it.

        Raises:
            PositionExpiredError: the service does not know the cursor or the position any more. Once in a run the
                listing begins again, without both.
            AnalytiqError: the source cannot be listed; TransientError and its kinds are tried again.
        """
        ...

    async def find(self, external_id: str) -> ListedItem | None:
        """Return one item; None if it does not exist."""
        ...

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """Open the content of a listed item.

        Raises:
            ItemGoneError: it does not exist any more; its iterator may raise it too.
            ItemRefusedError: it is not taken in.
            AnalytiqError: it cannot be read this time.
        """
        ...

    async def close(self) -> None:
        """Free connections and files."""
        ...


class ConnectorType(Protocol):
    """The class of a kind's connectors, as the registry returns it.

    Attributes:
        title: the kind's name for people.
        description: one sentence.
        settings_schema: the settings of a source.
        credentials_schema: secrets of a source, stored encrypted; `NoCredentials` if it needs none.
    """

    title: ClassVar[str]
    description: ClassVar[str]
    settings_schema: ClassVar[type[KindSchema]]
    credentials_schema: ClassVar[type[KindSchema]]

    def __call__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> Connector:
        """Create a connector without connecting."""
        ...
