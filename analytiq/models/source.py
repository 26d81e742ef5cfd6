"""Sources: places elsewhere whose items become documents of an organization, and their runs."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from analytiq.models.document import Failure
from analytiq.models.stored import Stored


class WhenVanished(StrEnum):
    """The treatment of a document whose item no longer exists in its source."""

    DELETE = "delete"
    KEEP = "keep"
    TAG = "tag"


class ItemFilters(Stored):
    """The choice of a source's items.

    The patterns are globs over an item's path or address; `*` also matches slashes. An item is taken if it matches
    one of `include`, or `include` is empty, and none of `exclude`.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_item_bytes: int | None = None
    """None: the server's largest upload."""


class ChangesPosition(Stored):
    """The position in a source's changes behind its last complete run."""

    since: str = Field(repr=False)
    """The connector's own text; the next run lists the changes since then."""
    run_id: str
    """The run that stored it. A restored organization has no runs, and then the position does not count: the items of
    an archive may be older."""
    listed_whole_at: datetime
    """The beginning of the last run that listed everything."""


class Source(Stored):
    """A row of `sources`.

    `identity_source` is the `source` of its documents' external identities. It is no id, so that a restore under
    fresh ids keeps it.
    """

    id: str
    organization_id: str
    name: str
    kind: str
    settings: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    credentials: str | None = Field(default=None, repr=False)
    """JSON of the kind's credentials, encrypted under the installation's secret key."""
    identity_source: str
    tag_ids: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Fixed metadata of each document."""
    metadata_mapping: dict[str, str] = Field(default_factory=dict[str, str])
    """Item's field → metadata key."""
    filters: ItemFilters = ItemFilters()
    when_vanished: WhenVanished = WhenVanished.DELETE
    vanished_tag_id: str | None = None
    """The added tag, for `WhenVanished.TAG`."""
    interval_seconds: int | None = None
    """Time between two scheduled runs; None: only on request."""
    next_run_at: datetime | None = None
    position: ChangesPosition | None = None
    """None: the next run lists everything."""
    settings_id: str | None = None
    """Another one with each change of what a run reads or gives; a run that began before stores no position."""
    credentials_id: str | None = None
    """Another one with each change of the credentials by a person; tokens renewed from older ones are not stored."""
    pending_ids: tuple[str, ...] = ()
    """Items that the service named, to be looked at by the next run."""
    is_pending_whole: bool = False
    """The service named too many items, or the whole source."""
    is_pending: bool = False
    problem: Failure | None = None
    """The failure of the last run; None after a run that succeeded."""
    is_deleted: bool = False
    """True while a job removes its items."""
    deletes_documents: bool = False
    """For a deleted source: its documents go too."""
    deletes_tag_ids: tuple[str, ...] = ()
    """For a deleted source: tags that were made for it, which go after its documents unless others use them."""
    created_at: datetime
    updated_at: datetime


class Readers(Stored):
    """Readers of an item, as its service says."""

    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    is_public: bool = False


class SourceItem(Stored):
    """A row of `source_items`: the last known state of an item; (source, external id) is unique."""

    id: str
    organization_id: str
    source_id: str
    external_id: str
    name: str
    version: str | None = None
    sha256: str | None = None
    """Of the content of this version."""
    fingerprint: str | None = None
    """Hash of the name, tags and metadata that the source gave the document."""
    note: str | None = None
    """The connector's own note about this version."""
    document_id: str | None = None
    """None: no version was taken in."""
    given_tag_ids: tuple[str, ...] = ()
    """The tags that the source gave the document."""
    given_metadata_keys: tuple[str, ...] = ()
    seen_run_id: str | None = None
    """The last run that saw the item."""
    vanished_run_id: str | None = None
    """The run that marked the item as vanished."""
    vanished_at: datetime | None = None
    """Since when the item has vanished, while its document is kept."""
    is_pushed: bool = False
    """Pushed, and not listed by a run: no run takes it for vanished."""
    problem: str | None = None
    """The reason why the last run skipped the item or failed to fetch it."""
    has_failed: bool = False
    """True if the problem is a failure: a run that lists changes only tries the item again."""
    access: Readers | None = None
    """None: the service does not say."""
    updated_at: datetime


class RunState(StrEnum):
    """The state of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunPhase(StrEnum):
    """The part of a run that its next batch belongs to."""

    LISTING = "listing"
    REMOVING = "removing"


class ItemOutcome(StrEnum):
    """The outcome of an item in a run."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    SKIPPED = "skipped"
    FAILED = "failed"


class RunTrigger(StrEnum):
    """The reason of a run."""

    REQUEST = "request"
    SCHEDULE = "schedule"
    PUSH = "push"
    """A push to the inbound address, or the items that a service named there."""


class RunCounts(Stored):
    """Numbers of items by outcome."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    failed: int = 0

    def plus(self, outcome: ItemOutcome, number: int = 1) -> "RunCounts":
        """Return the counts with more items of an outcome."""
        return self.model_copy(update={outcome.value: getattr(self, outcome.value) + number})

    @property
    def listed(self) -> int:
        """The number of items that the source listed."""
        return self.added + self.changed + self.unchanged + self.skipped + self.failed


class RunNote(Stored):
    """A line of a run's log."""

    at: datetime
    text: str


class SourceRun(Stored):
    """A row of `source_runs`.

    `cursor` is the position behind the last committed batch; a batch, its items and the cursor are one transaction.
    `is_open` is true until the run has ended: a source has one open run at most.
    """

    id: str
    organization_id: str
    source_id: str
    state: RunState = RunState.QUEUED
    is_open: bool = True
    phase: RunPhase = RunPhase.LISTING
    trigger: RunTrigger = RunTrigger.REQUEST
    is_dry_run: bool = False
    """List and compare only."""
    accepts_losses: bool = False
    """Treat items as vanished even if most of them are missing."""
    is_full: bool = False
    """List everything, although the source tells changes."""
    since: str | None = Field(default=None, repr=False)
    """The position with which the run began; None: it lists everything."""
    next_since: str | None = Field(default=None, repr=False)
    """The position for the next run."""
    is_delta: bool | None = None
    """True if only changes are listed; None: no batch is known yet."""
    was_expired: bool = False
    """The source did not know a position any more, and the listing began again."""
    settings_id: str | None = None
    """That of the source when the run began."""
    waiting_since: datetime | None = None
    """Since when the run waits because the source asks for it, without having taken in anything meanwhile."""
    waits: int = 0
    """Waits since then."""
    is_slow: bool = False
    """The source did not answer in time: the run goes on in the slot for slow sources."""
    silent_attempts: int = 0
    """Attempts without an answer, one after another."""
    external_ids: tuple[str, ...] = ()
    """The items to fetch again, whatever their version; empty: the whole source."""
    push_hour: datetime | None = None
    """For the log of the pushes of an hour: its beginning."""
    cursor: str | None = None
    counts: RunCounts = RunCounts()
    known_before: int = 0
    """Items that existed in the source when the run began."""
    is_whole: bool = True
    """False if a part of the source could not be listed: nothing is removed then."""
    withheld_removals: int = 0
    """Missing items that the run did not treat as vanished, because most items were missing."""
    notes: tuple[RunNote, ...] = ()
    error: Failure | None = None
    request_id: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None


class SourceRunEntry(Stored):
    """A row of `source_run_entries`: the outcome of an item in a run."""

    id: str
    organization_id: str
    source_id: str
    run_id: str
    external_id: str
    name: str
    outcome: ItemOutcome
    reason: str | None = None
    document_id: str | None = None
    at: datetime
