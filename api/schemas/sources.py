"""Request and response bodies of sources and their runs."""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, JsonValue, StringConstraints

from analytiq.ingestion.sources.base import ConnectorType, ListedItem
from analytiq.ingestion.sources.configuration.service import CheckResult, SourceDraft
from analytiq.ingestion.sources.configuration.signing_in import has_sign_in
from analytiq.ingestion.sources.connections.oauth import SignInKind
from analytiq.models.source import (
    ItemFilters,
    ItemOutcome,
    RunPhase,
    RunState,
    RunTrigger,
    Source,
    SourceItem,
    SourceRun,
    SourceRunEntry,
    WhenVanished,
)
from api.schemas.documents import FailureResponse
from api.schemas.wire import NO_CONTROLS, NO_NUL, Moment, RequestBody, ResponseBody

SourceLabel = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NO_CONTROLS]
Kind = Annotated[str, StringConstraints(min_length=1, max_length=100), NO_CONTROLS]
Settings = Annotated[dict[str, JsonValue], Field(description="By the schema of the kind: `GET /source-kinds`")]
Credentials = Annotated[
    dict[str, JsonValue], Field(description="Secrets by the schema of the kind; stored encrypted, never returned")
]
TagChoice = Annotated[list[str], Field(max_length=100, description="Tags of the documents")]
Metadata = Annotated[dict[str, JsonValue], Field(description="Metadata of each document")]
Mapped = Annotated[str, StringConstraints(min_length=1, max_length=200), NO_NUL]
Mapping_ = Annotated[
    dict[Mapped, Mapped], Field(max_length=100, description="Field of an item → metadata key of its document")
]
Interval = Annotated[
    int | None, Field(ge=60, le=31_536_000, description="Seconds between two scheduled runs; null: only on request")
]
Vanished = Annotated[
    WhenVanished,
    Field(description="Documents of items that no longer exist in the source: delete, keep, or add a tag to them"),
]
VanishedTag = Annotated[str | None, Field(max_length=64, description="The tag that `tag` adds")]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=500), NO_NUL]
ExternalItemId = Annotated[str, StringConstraints(min_length=1, max_length=2048), NO_NUL]


class SourceFilters(RequestBody):
    """The choice of items: one of `include` (or it is empty), and none of `exclude`. Globs over path or address."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    include: list[Pattern] = Field(default_factory=list[str], max_length=100)
    exclude: list[Pattern] = Field(default_factory=list[str], max_length=100)
    max_item_bytes: int | None = Field(default=None, ge=1, description="null: the server's largest upload")

    def to_model(self) -> ItemFilters:
        """Return the stored shape."""
        return ItemFilters(include=tuple(self.include), exclude=tuple(self.exclude), max_item_bytes=self.max_item_bytes)


class SourceCreate(RequestBody):
    """A source to create."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "Shared contracts",
                    "kind": "folder",
                    "settings": {"path": "/srv/contracts"},
                    "filters": {"include": ["*.pdf", "*.docx"], "exclude": ["drafts/*"]},
                    "metadata_mapping": {"folder": "shelf"},
                    "interval_seconds": 3600,
                }
            ]
        },
    )

    name: SourceLabel
    kind: Kind
    settings: Settings = Field(default_factory=dict[str, JsonValue])
    credentials: Credentials = Field(default_factory=dict[str, JsonValue])
    tag_ids: TagChoice = Field(default_factory=list[str])
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    metadata_mapping: Mapping_ = Field(default_factory=dict[str, str])
    filters: SourceFilters = SourceFilters()
    when_vanished: Vanished = WhenVanished.DELETE
    vanished_tag_id: VanishedTag = None
    interval_seconds: Interval = None

    def draft(self, tag_ids: list[str]) -> SourceDraft:
        """Convert to the library's request; `tag_ids` exist."""
        return SourceDraft(
            name=self.name,
            kind=self.kind,
            settings=self.settings,
            credentials=self.credentials,
            tag_ids=tuple(tag_ids),
            metadata=self.metadata,
            metadata_mapping=self.metadata_mapping,
            filters=self.filters.to_model(),
            when_vanished=self.when_vanished,
            vanished_tag_id=self.vanished_tag_id,
            interval_seconds=self.interval_seconds,
        )


class SourceUpdate(RequestBody):
    """Fields to change; omitted fields stay. The next run brings the documents up to date."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"interval_seconds": 86_400}]})

    name: SourceLabel | None = None
    settings: Settings | None = None
    credentials: Credentials | None = None
    tag_ids: TagChoice | None = None
    metadata: Metadata | None = None
    metadata_mapping: Mapping_ | None = None
    filters: SourceFilters | None = None
    when_vanished: Vanished | None = None
    vanished_tag_id: VanishedTag = None
    interval_seconds: Interval = None

    def changes(self) -> dict[str, Any]:
        """Return the sent fields as stored, without credentials."""
        nullable = {"vanished_tag_id", "interval_seconds"}
        found: dict[str, Any] = {
            name: value
            for name in self.model_fields_set - {"credentials"}
            if (value := getattr(self, name)) is not None or name in nullable
        }
        if self.filters is not None:
            found["filters"] = self.filters.to_model()
        if self.tag_ids is not None:
            found["tag_ids"] = tuple(self.tag_ids)
        return found


class SourceKindResponse(ResponseBody):
    """A kind of source, with JSON schemas for a form."""

    kind: str
    title: str
    description: str
    settings_schema: dict[str, JsonValue]
    credentials_schema: dict[str, JsonValue]
    sign_in_redirect_url: str | None = Field(
        description="Page to which the service returns the browser of a person who signs in: register it with your"
        " application there. Null if the kind has no sign-in"
    )

    @classmethod
    def from_kind(cls, name: str, kind: ConnectorType, *, sign_in_redirect_url: str) -> Self:
        """Build the response."""
        return cls(
            kind=name,
            title=kind.title,
            description=kind.description,
            settings_schema=kind.settings_schema.model_json_schema(),
            credentials_schema=kind.credentials_schema.model_json_schema(),
            sign_in_redirect_url=sign_in_redirect_url if isinstance(kind, SignInKind) else None,
        )


class SourceKindList(ResponseBody):
    """The installed kinds of sources."""

    kinds: list[SourceKindResponse]


class RunCountsResponse(ResponseBody):
    """Numbers of items by outcome."""

    added: int
    changed: int
    unchanged: int
    removed: int
    skipped: int
    failed: int


class RunNoteResponse(ResponseBody):
    """A line of a run's log."""

    at: Moment
    text: str


class SourceRunResponse(ResponseBody):
    """A run of a source."""

    source_run_id: str = Field(validation_alias="id")
    source_id: str
    state: RunState
    phase: RunPhase
    trigger: RunTrigger
    is_dry_run: bool
    accepts_losses: bool
    is_full: bool = Field(description="true: everything was to be listed, although the source tells changes")
    is_delta: bool | None = Field(
        description="true: only changes were listed, so unchanged items are not counted; null: nothing is listed yet"
    )
    is_whole: bool = Field(description="false: a part of the source could not be listed, so nothing is removed")
    known_before: int = Field(description="Items that existed in the source when the run began")
    withheld_removals: int = Field(description="Missing items that were not removed; the log says why")
    counts: RunCountsResponse
    error: FailureResponse | None
    created_at: Moment
    started_at: Moment | None
    ended_at: Moment | None

    @classmethod
    def from_run(cls, run: SourceRun) -> Self:
        """Build the response."""
        return cls.from_model(run)


class SourceRunDetail(SourceRunResponse):
    """A run with its log."""

    external_ids: list[str] = Field(description="The selected items; empty: the whole source")
    log: list[RunNoteResponse] = Field(validation_alias="notes")


class SourceRunList(ResponseBody):
    """A page of a source's runs."""

    runs: list[SourceRunResponse]
    total_count: int = Field(description="Number of runs on all pages")
    skip: int


class SourceResponse(ResponseBody):
    """A source."""

    source_id: str
    name: str
    kind: str
    settings: dict[str, JsonValue]
    has_credentials: bool
    can_sign_in: bool = Field(description="True if a person may sign in at the service for this source")
    tells_changes: bool = Field(description="True: the next run lists changes only, unless it is `full`")
    tag_ids: list[str]
    metadata: dict[str, JsonValue]
    metadata_mapping: dict[str, str]
    filters: SourceFilters
    when_vanished: WhenVanished
    vanished_tag_id: str | None
    interval_seconds: int | None
    next_run_at: Moment | None
    problem: FailureResponse | None = Field(
        description="Failure of the last run. With a code such as `credentials_refused` a person has to act, and the"
        " schedule pauses for a day, or until the source is changed"
    )
    has_inbound_address: bool = Field(description="True if items can be pushed: `GET /sources/{id}/inbound`")
    external_source: str = Field(description="The `source` of the external identities of its documents")
    last_run: SourceRunResponse | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def from_source(
        cls, source: Source, last_run: SourceRun | None = None, *, has_inbound_address: bool = False
    ) -> Self:
        """Build the response, without the credentials."""
        return cls.from_model(
            source,
            source_id=source.id,
            has_credentials=source.credentials is not None,
            can_sign_in=has_sign_in(source.kind, source.settings),
            tells_changes=source.position is not None,
            has_inbound_address=has_inbound_address,
            external_source=source.identity_source,
            last_run=None if last_run is None else SourceRunResponse.from_run(last_run),
        )


class SourceSignInResponse(ResponseBody):
    """The beginning of a sign-in."""

    url: str = Field(description="Page of the consent; the service then returns the browser to the source's page")


class SourceList(ResponseBody):
    """A page of sources."""

    sources: list[SourceResponse]
    total_count: int = Field(description="Number of matches on all pages")
    skip: int


class SourceRunCreate(RequestBody):
    """The options of a run."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"dry_run": True}]})

    dry_run: bool = Field(default=False, description="List and compare, and change nothing")
    accepts_losses: bool = Field(default=False, description="Remove missing items even if most are missing")
    full: bool = Field(
        default=False, description="List everything. By default a source that tells its changes is asked for those only"
    )
    external_ids: list[ExternalItemId] = Field(
        default_factory=list[str],
        max_length=1000,
        description="Fetch these items again, and no others; empty: run the whole source",
    )


class SourceRunEntryResponse(ResponseBody):
    """The outcome of an item in a run."""

    external_id: str
    name: str
    outcome: ItemOutcome
    reason: str | None
    document_id: str | None
    at: Moment


class SourceRunEntryList(ResponseBody):
    """A page of the outcomes of a run."""

    items: list[SourceRunEntryResponse]
    total_count: int = Field(description="Number of matches on all pages")
    skip: int

    @classmethod
    def from_entries(cls, entries: list[SourceRunEntry], *, total: int, skip: int) -> Self:
        """Build the response."""
        items = [SourceRunEntryResponse.from_model(entry) for entry in entries]
        return cls(items=items, total_count=total, skip=skip)


class ItemAccessResponse(ResponseBody):
    """Readers of an item, as its service says."""

    people: list[str] = Field(description="Ids or e-mail addresses")
    groups: list[str] = Field(description="Ids or names")
    is_public: bool


class SourceItemResponse(ResponseBody):
    """An item as the last runs found it."""

    external_id: str
    name: str
    document_id: str | None = Field(description="null: it was not taken in")
    problem: str | None = Field(description="Reason why the last run did not take it in")
    vanished_at: Moment | None = Field(description="Since when it is missing, while its document is kept")
    access: ItemAccessResponse | None = Field(description="Its readers there; null: the service does not say")


class SourceItemList(ResponseBody):
    """A page of a source's items."""

    items: list[SourceItemResponse]
    total_count: int = Field(description="Number of matches on all pages")
    skip: int

    @classmethod
    def from_items(cls, items: list[SourceItem], *, total: int, skip: int) -> Self:
        """Build the response."""
        shown = [SourceItemResponse.from_model(item) for item in items]
        return cls(items=shown, total_count=total, skip=skip)


class FoundItemResponse(ResponseBody):
    """An item that a check has found."""

    external_id: str
    name: str
    byte_size: int | None
    problem: str | None
    fields: dict[str, JsonValue] = Field(description="Names that `metadata_mapping` may use")

    @classmethod
    def from_item(cls, item: ListedItem) -> Self:
        """Build the response."""
        return cls.from_model(item, problem=item.skip_reason or item.failure, fields=dict(item.fields))


class SourceCheckResponse(ResponseBody):
    """The result of a check."""

    is_ok: bool
    code: str | None
    problem: str | None
    items: list[FoundItemResponse] = Field(description="The first items")

    @classmethod
    def from_result(cls, result: CheckResult) -> Self:
        """Build the response."""
        items = [FoundItemResponse.from_item(item) for item in result.items]
        return cls(is_ok=result.problem is None, code=result.code, problem=result.problem, items=items)
