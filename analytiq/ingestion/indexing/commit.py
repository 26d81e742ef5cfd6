"""The transaction that points a pair at a generation, or removes the pair.

Its size is the same for every document: 4 to 12 ms at 1,000 to 20,000 chunks.
"""

import asyncio
from collections.abc import Collection, Sequence
from weakref import WeakValueDictionary

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.ingestion.indexing.plan import projection_in
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.document import Document
from analytiq.models.flaws import FlawKind
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.models.job import JobRequest, Priority
from analytiq.models.job_payloads import SweepPayload
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.webhook import WebhookEvent, WebhookEventType
from analytiq.settings import IndexingSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction


class TruthChangedError(ConflictError):
    """The state read by the sync has changed: read again and plan again."""

    code = "truth_changed"


class Commit:
    """Makes staged vectors current, or removes a pair; each finishes the job in the same transaction."""

    def __init__(self, rows: Repositories, settings: IndexingSettings) -> None:
        self._connection = rows.connection
        self._documents = rows.documents
        self._knowledge_bases = rows.knowledge_bases
        self._entries = rows.entries
        self._generations = rows.generations
        self._epochs = rows.epochs
        self._vectors = rows.vectors
        self._jobs = rows.jobs
        self._outbox = rows.webhook_outbox
        self._settings = settings
        # Commits of one process to one knowledge base would only abort each other.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def make_current(
        self,
        running: RunningJob,
        knowledge_base: KnowledgeBase,
        document: Document,
        generation: Generation,
        current: Sequence[Generation] = (),
        *,
        skipped: Collection[FlawKind] = (),
    ) -> None:
        """Make the generation current in place of the former one.

        `current` are the pair's generations in that state when the job began: all are superseded, also those without
        an entry. The lease prevents others from being created. `skipped`: the kinds of flawed text that were left out.

        Raises:
            TruthChangedError: text, tags or existence changed since they were read; nothing was written.
            LeaseLostError: another worker has the job; nothing was written.
        """
        staged = await self._vectors.count(knowledge_base.id, generation.id)
        if staged != generation.chunk_count:
            raise TruthChangedError(
                f"{staged} of {generation.chunk_count} staged vectors are there; staging them again"
            )

        async def commit(session: Session) -> None:
            await self._hold(session, knowledge_base, document, generation)
            before = await self._entries.put(session, entry_of(knowledge_base, document, generation, skipped))
            leaving = leaving_of(before, current)
            await self._outbox.record(session, document.organization_id, [indexed_event(generation)])
            await self._advance(session, knowledge_base.id, generation.id, leaving)
            await self._finish(session, running, leaving, delay=True)

        with running.finishing():
            await run_in_transaction(self._connection, commit, lock=self.lock(knowledge_base.id))
            running.note_finished()

    async def take_out(self, running: RunningJob, entry: IndexEntry, current: Sequence[Generation] = ()) -> None:
        """Remove the pair's entry, and sweep its vectors and those of its `current` generations at once.

        A document that has rejoined is searchable by this very entry, which must then stay.

        Raises:
            TruthChangedError: the document has rejoined, or its entry names another generation.
            LeaseLostError: another worker has the job; nothing was written.
        """

        async def commit(session: Session) -> None:
            await self._hold_outside(session, entry)
            removed = await self._entries.remove(
                session, entry.organization_id, entry.kb_id, entry.document_id, entry.generation_id
            )
            if not removed:
                raise TruthChangedError("the index entry changed meanwhile")
            leaving = leaving_of(entry, current)
            await self._advance(session, entry.kb_id, None, leaving)
            await self._finish(session, running, leaving, delay=False)

        with running.finishing():
            await run_in_transaction(self._connection, commit, lock=self.lock(entry.kb_id))
            running.note_finished()

    async def retire(self, running: RunningJob, generations: Sequence[Generation]) -> None:
        """Supersede a pair's generations without an entry, and sweep them at once: no search may show them.

        Raises:
            TruthChangedError: the knowledge base was deleted meanwhile.
            LeaseLostError: another worker has the job; nothing was written.
        """
        kb_id = generations[0].kb_id

        async def commit(session: Session) -> None:
            # Replicas may hold them, and drop generations that the change log removes.
            await self._advance(session, kb_id, None, generations)
            await self._finish(session, running, generations, delay=False)

        with running.finishing():
            await run_in_transaction(self._connection, commit, lock=self.lock(kb_id))
            running.note_finished()

    async def _hold(
        self, session: Session, knowledge_base: KnowledgeBase, document: Document, generation: Generation
    ) -> None:
        held = await self._documents.hold_for_commit(
            session,
            document.organization_id,
            document.id,
            text_hash=document.text_hash or "",
            tag_ids=knowledge_base.tag_ids,
        )
        if not held:
            raise TruthChangedError("the document was changed or deleted meanwhile")
        moved = await self._generations.move(
            document.organization_id,
            generation.id,
            from_states=[GenerationState.STAGING],
            to_state=GenerationState.CURRENT,
            session=session,
        )
        if not moved:
            raise TruthChangedError("the staged vectors were purged meanwhile")

    async def _hold_outside(self, session: Session, entry: IndexEntry) -> None:
        tag_ids = await self._knowledge_bases.tag_ids_in(session, entry.organization_id, entry.kb_id)
        if tag_ids is None:
            raise TruthChangedError("the knowledge base was deleted meanwhile")
        is_outside = await self._documents.hold_for_removal(
            session, entry.organization_id, entry.document_id, tag_ids=tag_ids
        )
        if not is_outside:
            raise TruthChangedError("the document has become a member again meanwhile")

    async def _advance(
        self, session: Session, kb_id: str, added: str | None, leaving: Sequence[IndexEntry | Generation]
    ) -> None:
        """Raise the epoch: once, or for each removed generation, since a change names one."""
        removed = [generation_id_of(item) for item in leaving] or [None]
        for number, generation_id in enumerate(removed):
            epoch = await self._epochs.advance(
                session, kb_id, commit_id=new_id(), added=None if number else added, removed=generation_id
            )
            if epoch is None:
                raise TruthChangedError("the knowledge base was deleted meanwhile")

    async def _finish(
        self,
        session: Session,
        running: RunningJob,
        leaving: Sequence[IndexEntry | Generation],
        *,
        delay: bool,
    ) -> None:
        """Enqueue the sweep of removed generations, and finish the job: the transaction's last statements."""
        for item in leaving:
            await self._generations.move(
                item.organization_id,
                generation_id_of(item),
                from_states=[GenerationState.CURRENT],
                to_state=GenerationState.SUPERSEDED,
                session=session,
            )
        await self._jobs.finish(running.job, session=session)
        seconds = self._settings.sweep_delay_seconds if delay else 0.0
        sweeps = [sweep_request(item, delay_seconds=seconds) for item in leaving]
        await self._jobs.enqueue(sweeps, session=session)

    def lock(self, kb_id: str) -> asyncio.Lock:
        """Return the lock that all commits of this process to the knowledge base take."""
        lock = self._locks.get(kb_id)
        if lock is None:
            lock = asyncio.Lock()
            self._locks[kb_id] = lock
        return lock


def indexed_event(generation: Generation) -> WebhookEvent:
    """Return the event of a generation that becomes current."""
    return WebhookEvent.of_document(
        WebhookEventType.DOCUMENT_INDEXED,
        generation.document_id,
        knowledge_base_id=generation.kb_id,
        chunk_count=generation.chunk_count,
    )


def sweep_request(entry: IndexEntry | Generation, *, delay_seconds: float) -> JobRequest:
    """Return the job that deletes a generation's vectors.

    Sweeping at once after a supersession tore 10 of 444 concurrent reads.
    """
    return JobRequest(
        payload=SweepPayload(kb_id=entry.kb_id, generation_id=generation_id_of(entry)),
        organization_id=entry.organization_id,
        priority=Priority.CLEANING,
        delay_seconds=delay_seconds,
    )


def generation_id_of(item: IndexEntry | Generation) -> str:
    """Return the id of the generation, or of the one that the entry names."""
    return item.id if isinstance(item, Generation) else item.generation_id


def leaving_of(before: IndexEntry | None, current: Sequence[Generation]) -> list[IndexEntry | Generation]:
    """Return the pair's served and current generations, each once."""
    named: list[IndexEntry | Generation] = [] if before is None else [before]
    return [*named, *(item for item in current if before is None or item.id != before.generation_id)]


def entry_of(
    knowledge_base: KnowledgeBase, document: Document, generation: Generation, skipped: Collection[FlawKind]
) -> IndexEntry:
    """Return the entry that points the pair at the generation."""
    projection = projection_in(knowledge_base, document)
    return IndexEntry(
        organization_id=document.organization_id,
        kb_id=knowledge_base.id,
        document_id=document.id,
        generation_id=generation.id,
        text_hash=document.text_hash or "",
        configuration_hash=knowledge_base.configuration_hash,
        chunk_count=generation.chunk_count,
        chunk_counts=generation.chunk_counts,
        projection_hash=projection.hash if projection else None,
        context_hash=knowledge_base.context_hash_of(document.document_name, document.metadata),
        skipped_flaws=document.flaw_kinds_among(skipped),
        indexed_at=clock.now(),
    )
