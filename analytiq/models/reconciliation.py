"""Drift, and the stored runs of the reconciler that found it."""

from collections import Counter
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.document import Failure
from analytiq.models.job import Progress
from analytiq.models.stored import Stored


class DriftKind(StrEnum):
    """A kind of difference between stored and intended state."""

    MISSING = "missing"
    """A member has no index entry, and no job that will create one."""
    STALE = "stale"
    """An index entry's document is gone or no longer a member."""
    OUTDATED = "outdated"
    """An index entry was built from another text or configuration."""
    HOLLOW = "hollow"
    """An index entry's generation has fewer or other vectors than it should have."""
    ORPHAN = "orphan"
    """Vectors without an index entry and without a job."""
    UNINDEXED = "unindexed"
    """A generation that is current, although its document's index entry names another or is gone."""
    UNREGISTERED = "unregistered"
    """An index entry's vectors are whole, but their generation has no row."""
    LOST_COLLECTION = "lost_collection"
    """A knowledge base's vector collection is missing, or is not the one created for it."""
    LOST_INDEX = "lost_index"
    """A knowledge base's vector collection lacks an index."""
    UNSEARCHABLE = "unsearchable"
    """A search index of a knowledge base on the server is missing, or is of another release."""
    LOST_EPOCH = "lost_epoch"
    """A knowledge base's epoch is missing, or behind its own log."""
    UNCOUNTED = "uncounted"
    """A knowledge base's counts differ from its index entries."""
    UNSETTLED = "unsettled"
    """A knowledge base is shown as indexing for the first time, although no work is left."""
    UNCACHED = "uncached"
    """An embedding of a knowledge base is missing from the cache; checked on request only."""
    STUCK_DOCUMENT = "stuck_document"
    """A document waits for extraction without a job."""
    LOST_TEXT = "lost_text"
    """A document's extracted text is gone; the document is extracted again."""
    LOST_FILE = "lost_file"
    """A document's file is gone or incomplete; only a new upload or a backup repairs it."""
    LOST_DOCUMENT = "lost_document"
    """A file or text whose document's row is lost together with most others: nothing is deleted."""
    ORPHANED_FILE = "orphaned_file"
    """Bytes of a file without a document or an upload."""
    ORPHANED_TEXT = "orphaned_text"
    """An extracted text without a document."""
    ABANDONED_TEXT = "abandoned_text"
    """A text staged by an extraction whose worker died, or lost its job to another."""
    ABANDONED_UPLOAD = "abandoned_upload"
    """Bytes of an upload whose sender is gone."""
    HALF_DELETED = "half_deleted"
    """A knowledge base whose deletion is incomplete."""
    HALF_CREATED = "half_created"
    """A vector collection whose knowledge base was never created: its creator died in between."""


class Depth(StrEnum):
    """The depth of a run: `quick` reads the rows about vectors, files and texts, `full` also their contents."""

    QUICK = "quick"
    FULL = "full"


class RunState(StrEnum):
    """queued → running → done, or failed."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class FoundDrift(Stored):
    """One drift of a report; names are looked up when the report is read."""

    kind: DriftKind
    organization_id: str | None = None
    kb_id: str | None = None
    kb_name: str | None = None
    document_id: str | None = None
    document_name: str | None = None
    detail: str | None = None


class RunPosition(Stored):
    """The position of a run: the stage, the knowledge base within it, and the key within that."""

    stage: str
    kb_id: str = ""
    after: str = ""


class ReconciliationRun(Stored):
    """A row of `reconcile_reports`.

    `organization_id` is None for a run over everything, which no organization sees. `is_asked`: run as a job on
    request, not as a pass of the leader. `counts`: kind → number found; `examples` name some of each kind. `repairs`
    were requested. `is_cut`: a bound was reached, and the next run continues. `checked`: index entries examined.
    `rebuilds_cache`: embeddings of knowledge bases are put back into the cache.
    """

    id: str
    organization_id: str | None
    kb_id: str | None
    depth: Depth
    is_dry: bool
    rebuilds_cache: bool = False
    is_asked: bool = False
    state: RunState
    progress: Progress | None = None
    position: RunPosition | None = None
    counts: dict[str, int] = Field(default_factory=dict[str, int])
    examples: tuple[FoundDrift, ...] = ()
    repairs: int = 0
    is_cut: bool = False
    knowledge_bases: int = 0
    checked: int = 0
    error: Failure | None = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    expires_at: datetime

    @property
    def is_periodic(self) -> bool:
        """True for a pass of the reconciler itself: a quick one reads the changes since the last comparison."""
        return not self.is_asked

    @property
    def more(self) -> dict[str, int]:
        """Return the number of each kind beyond the named examples."""
        named = Counter(found.kind.value for found in self.examples)
        return {kind: count - named[kind] for kind, count in self.counts.items() if count > named[kind]}
