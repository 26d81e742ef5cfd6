"""Drift, and the stored runs of the reconciler that found it."""

from collections import Counter
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.document import Failure
from analytiq.models.job import Progress
from analytiq.models.stored import Stored


class DriftKind(StrEnum):
    """How state can depart from intent."""

    MISSING = "missing"
    """A member has no index entry, and no job that will make one."""
    STALE = "stale"
    """An index entry's document is gone or no member any more."""
    OUTDATED = "outdated"
    """An index entry was made from another text or configuration."""
    HOLLOW = "hollow"
    """An index entry's generation has fewer or other vectors than it should have."""
    ORPHAN = "orphan"
    """Vectors that no index entry names and nothing is working on."""
    UNINDEXED = "unindexed"
    """A generation that is current, though its document's index entry names another or is gone."""
    UNREGISTERED = "unregistered"
    """An index entry's vectors are whole, but their generation has no row."""
    LOST_COLLECTION = "lost_collection"
    """A knowledge base's collection of vectors is missing, or is not the one that was made for it."""
    LOST_INDEX = "lost_index"
    """A knowledge base's collection of vectors lacks an index."""
    UNSEARCHABLE = "unsearchable"
    """An index of a knowledge base in MongoDB's search server is missing, or is another release's."""
    LOST_EPOCH = "lost_epoch"
    """A knowledge base's freshness counter is missing, or behind its own log."""
    UNCOUNTED = "uncounted"
    """A knowledge base's counts are not those of its index entries."""
    UNSETTLED = "unsettled"
    """A knowledge base is shown as being indexed for the first time, though nothing is left to do."""
    UNCACHED = "uncached"
    """An embedding that a knowledge base holds is missing from the cache; looked for only when that is asked for."""
    STUCK_DOCUMENT = "stuck_document"
    """A document waits for extraction, and no job will do it."""
    LOST_TEXT = "lost_text"
    """A document's extracted text is gone; it is extracted again."""
    LOST_FILE = "lost_file"
    """A document's file is gone or incomplete: nothing but a new upload, or a backup, can mend it."""
    LOST_DOCUMENT = "lost_document"
    """A file or text whose document's row is gone, as are those of most others: nothing is deleted for that."""
    ORPHANED_FILE = "orphaned_file"
    """Bytes of a file that no document and no upload names."""
    ORPHANED_TEXT = "orphaned_text"
    """An extracted text that no document names."""
    ABANDONED_TEXT = "abandoned_text"
    """A text that an extraction staged whose worker has died, or has lost its job to another."""
    ABANDONED_UPLOAD = "abandoned_upload"
    """Bytes of an upload whose sender has gone."""
    HALF_DELETED = "half_deleted"
    """A knowledge base whose deletion was not finished."""
    HALF_CREATED = "half_created"
    """A collection of vectors whose knowledge base was never made: its creator died in between."""


class Depth(StrEnum):
    """How much a run reads: `quick` the rows about vectors, files and texts, `full` these themselves as well."""

    QUICK = "quick"
    FULL = "full"


class RunState(StrEnum):
    """queued → running → done, or failed."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class FoundDrift(Stored):
    """One departure, as a report shows it; names are not stored, but looked up when it is read."""

    kind: DriftKind
    organization_id: str | None = None
    kb_id: str | None = None
    kb_name: str | None = None
    document_id: str | None = None
    document_name: str | None = None
    detail: str | None = None


class RunPosition(Stored):
    """Up to where a run has come: the stage, the knowledge base within it, and the key within that."""

    stage: str
    kb_id: str = ""
    after: str = ""


class ReconciliationRun(Stored):
    """A row of `reconcile_reports`.

    `organization_id` is None for a run over everything, which no organization sees. Where it `is_asked`, somebody asked
    for it and a job does it; else it is a pass of the leader. `counts`: kind → how much was found; `examples` name some
    of each kind. `repairs` were asked for; where `is_cut`, a bound was reached, and the next run goes on. `checked`:
    index entries that were looked at. Where it `rebuilds_cache`, embeddings that knowledge bases hold are put back into
    the cache.
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
    def more(self) -> dict[str, int]:
        """How many of each kind are counted only, beside those that are named."""
        named = Counter(found.kind.value for found in self.examples)
        return {kind: count - named[kind] for kind, count in self.counts.items() if count > named[kind]}
