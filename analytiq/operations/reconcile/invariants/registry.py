"""The invariants, in the order of a pass.

Foundations come first: the preconditions of a sync must hold before one is enqueued. Counts come before entries: the
syncs that these enqueue count again.
"""

from analytiq.operations.reconcile.invariants.base import Invariant, KnowledgeBaseInvariant, SystemInvariant
from analytiq.operations.reconcile.invariants.cache import CachedEmbeddings
from analytiq.operations.reconcile.invariants.epoch import KnowledgeBaseEpoch
from analytiq.operations.reconcile.invariants.files import UnnamedFiles
from analytiq.operations.reconcile.invariants.generations import LeftGenerations
from analytiq.operations.reconcile.invariants.half_created import HalfCreated
from analytiq.operations.reconcile.invariants.half_deleted import HalfDeleted
from analytiq.operations.reconcile.invariants.index_entries import IndexEntries
from analytiq.operations.reconcile.invariants.lost_parts import LostParts
from analytiq.operations.reconcile.invariants.search_indexes import SearchIndexes
from analytiq.operations.reconcile.invariants.staged_texts import StagedTexts
from analytiq.operations.reconcile.invariants.statistics import Statistics
from analytiq.operations.reconcile.invariants.stuck_documents import StuckDocuments
from analytiq.operations.reconcile.invariants.texts import UnnamedTexts
from analytiq.operations.reconcile.invariants.uploads import AbandonedUploads
from analytiq.operations.reconcile.invariants.vector_collection import VectorCollection
from analytiq.operations.reconcile.invariants.vectors import Vectors

OF_KNOWLEDGE_BASES: tuple[type[KnowledgeBaseInvariant], ...] = (
    VectorCollection,
    KnowledgeBaseEpoch,
    SearchIndexes,
    Statistics,
    IndexEntries,
    Vectors,
)
ON_REQUEST: tuple[type[KnowledgeBaseInvariant], ...] = (CachedEmbeddings,)
"""Checked after the others, only by runs that ask for it."""
OF_THE_SYSTEM: tuple[type[SystemInvariant], ...] = (
    LeftGenerations,
    HalfDeleted,
    HalfCreated,
    StuckDocuments,
    AbandonedUploads,
    StagedTexts,
    LostParts,
    UnnamedFiles,
    UnnamedTexts,
)
INVARIANTS: tuple[type[Invariant], ...] = (*OF_KNOWLEDGE_BASES, *ON_REQUEST, *OF_THE_SYSTEM)
