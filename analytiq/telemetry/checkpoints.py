"""Checkpoints: named places at which fault tests stop, kill or delay a process. Without tests they do nothing.

A crash between any two statements must neither lose nor double work. Tests cannot stop a process between any two
statements, but they can at checkpoints: one after each step that leaves something behind.
"""

from collections.abc import Awaitable, Callable

Hook = Callable[[str], Awaitable[None]]

CHECKPOINTS = (
    "upload.bytes_written",
    "upload.committed",
    "extraction.begun",
    "extraction.parsed",
    "parts.taken",
    "extraction.text_staged",
    "extraction.committed",
    "membership.document_pairs_enqueued",
    "membership.kb_batch_enqueued",
    "membership.kb_pairs_enqueued",
    "indexing.planned",
    "indexing.announced",
    "indexing.window_embedded",
    "indexing.window_staged",
    "indexing.staged",
    "indexing.committed",
    "indexing.taken_out",
    "sweep.purging",
    "sweep.vectors_deleted",
    "parts.removed",
    "cleaning.files_deleted",
    "cleaning.texts_deleted",
    "knowledge_base.collection_created",
    "knowledge_base.created",
    "knowledge_base.collection_dropped",
    "knowledge_base.entries_deleted",
    "knowledge_base.changes_deleted",
    "embedding.claimed",
    "embedding.answered",
    "metering.reserved",
    "metering.charged",
    "queue.claimed",
    "queue.handled",
)

OPERATOR_CHECKPOINTS = (
    "backup.held",
    "backup.batch_written",
    "backup.organization_written",
    "restore.begun",
    "restore.batch_inserted",
    "restore.section_restored",
    "restore.activated",
    "erasure.tombstoned",
    "erasure.collection_erased",
    "erasure.erased",
    "erasure.proved",
    "reconcile.batch_found",
    "reconcile.batch_repaired",
    "eviction.batch_deleted",
    "eviction.batch_committed",
)
"""Checkpoints that only backup, restore, erasure and the reconciler's process pass."""

PROMPT_CHECKPOINTS = (
    "prompts.run_begun",
    "agent.asking",
    "agent.answered",
    "agent.searched",
    "prompts.run_committed",
)
"""Checkpoints that only runs of prompts pass."""

WEBHOOK_CHECKPOINTS = (
    "webhooks.leased",
    "webhooks.answered",
    "webhooks.noted",
)
"""Checkpoints that only deliveries of webhooks pass."""

SOURCE_CHECKPOINTS = (
    "sources.batch_staged",
    "sources.batch_uploaded",
    "sources.batch_committed",
    "sources.vanished_marked",
    "sources.documents_removed",
)
"""Checkpoints that only runs of sources pass."""

ALL_CHECKPOINTS = frozenset(
    CHECKPOINTS + OPERATOR_CHECKPOINTS + PROMPT_CHECKPOINTS + WEBHOOK_CHECKPOINTS + SOURCE_CHECKPOINTS
)

_hook: Hook | None = None


def install(hook: Hook | None) -> None:
    """Call `hook` at every checkpoint of this process; None stops that."""
    global _hook
    _hook = hook


async def checkpoint(name: str) -> None:
    """Mark a checkpoint; costs a comparison."""
    if _hook is not None:
        if name not in ALL_CHECKPOINTS:
            raise ValueError(f"{name!r} is not a known checkpoint.")
        await _hook(name)
