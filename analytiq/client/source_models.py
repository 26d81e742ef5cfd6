"""Answers about sources and their runs."""

from datetime import datetime
from typing import Any

from pydantic import Field, JsonValue

from analytiq.client.answers import Answer, Failure


class SourceKind(Answer):
    """A kind of source; the schemas are JSON schemas."""

    kind: str
    title: str
    description: str
    settings_schema: dict[str, Any]
    credentials_schema: dict[str, Any]
    sign_in_redirect_url: str | None = None


class RunCounts(Answer):
    """Numbers of items by outcome."""

    added: int
    changed: int
    unchanged: int
    removed: int
    skipped: int
    failed: int


class RunNote(Answer):
    """A line of a run's log."""

    at: datetime
    text: str


class SourceRun(Answer):
    """A run of a source. States: queued, running, succeeded, failed, cancelled. `log` is empty in lists."""

    source_run_id: str
    source_id: str
    state: str
    trigger: str
    is_dry_run: bool
    is_full: bool
    is_delta: bool | None
    is_whole: bool
    known_before: int
    withheld_removals: int
    counts: RunCounts
    error: Failure | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    log: list[RunNote] = Field(default_factory=list[RunNote])
    phase: str = ""
    accepts_losses: bool = False
    external_ids: list[str] = Field(default_factory=list[str])

    @property
    def is_over(self) -> bool:
        """Return True if the run has ended, well or not."""
        return self.ended_at is not None


class SourceFilters(Answer):
    """Patterns of items to take in, and the largest."""

    include: list[str] = Field(default_factory=list[str])
    exclude: list[str] = Field(default_factory=list[str])
    max_item_bytes: int | None = None


class Source(Answer):
    """A source."""

    source_id: str
    name: str
    kind: str
    settings: dict[str, JsonValue]
    has_credentials: bool
    tag_ids: list[str]
    interval_seconds: int | None
    next_run_at: datetime | None
    problem: Failure | None
    external_source: str
    last_run: SourceRun | None
    can_sign_in: bool = False
    tells_changes: bool = False
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    metadata_mapping: dict[str, str] = Field(default_factory=dict[str, str])
    filters: SourceFilters | None = None
    when_vanished: str = ""
    vanished_tag_id: str | None = None
    has_inbound_address: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None


class SourceRunItem(Answer):
    """The outcome of an item in a run: added, changed, unchanged, removed, skipped or failed."""

    external_id: str
    name: str
    outcome: str
    reason: str | None
    document_id: str | None
    at: datetime


class ItemAccess(Answer):
    """Readers of an item, as its service says: ids or e-mail addresses of people, ids or names of groups."""

    people: list[str]
    groups: list[str]
    is_public: bool


class SourceItem(Answer):
    """An item as the last runs found it."""

    external_id: str
    name: str
    document_id: str | None
    problem: str | None
    vanished_at: datetime | None
    access: ItemAccess | None


class FoundItem(Answer):
    """An item that a check has found."""

    external_id: str
    name: str
    byte_size: int | None
    problem: str | None
    fields: dict[str, JsonValue]


class SourceCheck(Answer):
    """The result of a check: the first items, or the problem."""

    is_ok: bool
    code: str | None
    problem: str | None
    items: list[FoundItem]


class SourceInbound(Answer):
    """The inbound address of a source.

    `url` is a path if the operator has set no public address. `learned_secret` is the token that a service (Notion)
    wants to be confirmed, until it has signed by it.
    """

    url: str
    created_at: datetime
    last_push_at: datetime | None
    secret_count: int
    learned_secret: str | None


class OpenedSourceInbound(SourceInbound):
    """An inbound address with its new secret, which is never shown again."""

    secret: str


class SourceSignIn(Answer):
    """The address at which a person signs in to a service."""

    url: str


class PushedItem(Answer):
    """The outcome of one pushed item."""

    id: str
    outcome: str
    reason: str | None
    document_id: str | None


class PushAnswer(Answer):
    """The outcomes of a push; `repeated`: it had been received before."""

    items: list[PushedItem]
    repeated: bool


class SourceKinds(Answer):
    """The installed kinds of sources."""

    kinds: list[SourceKind]
