"""Mends what stages have found: by the jobs that triggers enqueue too, or by one small change of its own.

Each batch is written under the pass's fence, so that a process that slept through its lease repairs nothing.
"""

from collections.abc import Awaitable, Callable, Sequence

import structlog

from analytiq.errors import AnalytiqError
from analytiq.ingestion.documents.requests import extract_request
from analytiq.ingestion.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.ingestion.membership import kb_changed
from analytiq.jobs.scheduling.fences import Fence
from analytiq.models.job import JobRequest
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.cache import CacheStage
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.requests import request_for
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.client import MongoConnection
from analytiq.storage.files import FileStore
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.index_entries import GenerationRepository, IndexEntryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import EpochRepository, KnowledgeBaseRepository
from analytiq.storage.repositories.texts import TextRepository
from analytiq.storage.repositories.uploads import UploadRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.session import DatabaseError, Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

REQUESTS_AT_ONCE = 200
"""Jobs asked for in one transaction: about 30 ms, so that few others meet it."""

DELETING = frozenset(
    {
        DriftKind.ORPHANED_FILE, DriftKind.ORPHANED_TEXT, DriftKind.ABANDONED_TEXT, DriftKind.ABANDONED_UPLOAD,
        DriftKind.HALF_CREATED,
    }
)  # fmt: skip
"""Kinds whose repair deletes here, not in a job: it waits while a backup or restore holds the organization."""


class Repairs:
    """Applies repairs, a batch of drift at a time."""

    def __init__(
        self,
        connection: MongoConnection,
        documents: DocumentRepository,
        texts: TextRepository,
        files: FileStore,
        uploads: UploadRepository,
        knowledge_bases: KnowledgeBaseRepository,
        epochs: EpochRepository,
        entries: IndexEntryRepository,
        generations: GenerationRepository,
        vectors: VectorRepository,
        jobs: JobRepository,
        holds: BackupHoldRepository,
        life_cycle: KnowledgeBaseLifeCycle,
        cache: CacheStage,
        backends: Backends,
    ) -> None:
        self._connection = connection
        self._documents = documents
        self._texts = texts
        self._files = files
        self._uploads = uploads
        self._knowledge_bases = knowledge_bases
        self._epochs = epochs
        self._entries = entries
        self._generations = generations
        self._vectors = vectors
        self._jobs = jobs
        self._holds = holds
        self._life_cycle = life_cycle
        self._cache = cache
        self._backends = backends
        self._acts: dict[DriftKind, Callable[[Drift], Awaitable[object]]] = {
            DriftKind.UNREGISTERED: self._register,
            DriftKind.LOST_COLLECTION: self._make_collection,
            DriftKind.LOST_INDEX: self._make_collection,
            DriftKind.UNSEARCHABLE: self._prepare_store,
            DriftKind.LOST_EPOCH: self._restart_epoch,
            DriftKind.UNCOUNTED: self._settle,
            DriftKind.UNSETTLED: self._settle,
            DriftKind.ABANDONED_UPLOAD: self._give_up_upload,
            DriftKind.ABANDONED_TEXT: self._delete_staged_text,
            DriftKind.ORPHANED_TEXT: self._delete_text,
            DriftKind.ORPHANED_FILE: self._delete_unfinished_file,
            DriftKind.HALF_CREATED: self._drop_collection,
        }

    async def apply(self, drift: Sequence[Drift], fence: Fence) -> int:
        """Mend what can be mended; returns for how much a repair was asked or done.

        Raises:
            LeaseLostError: the pass may not write any more; nothing of this batch, or only a part, was written.
        """
        failed = await self._fail_given_up(drift, fence)
        requested = [(item, request) for item in drift if item not in failed and (request := request_for(item))]
        repaired = len(failed)
        for start in range(0, len(requested), REQUESTS_AT_ONCE):
            repaired += await self._request(requested[start : start + REQUESTS_AT_ONCE], fence)
        repaired += await self._put_back(drift, fence)
        for item in drift:
            act = self._acts.get(item.kind)
            if act is not None and request_for(item) is None and await self._act(item, act, fence):
                repaired += 1
        return repaired

    async def _request(self, requested: Sequence[tuple[Drift, JobRequest]], fence: Fence) -> int:
        await checkpoint("reconcile.batch_found")

        async def commit(session: Session) -> int:
            await fence.hold(session=session)
            wanted = [request for item, request in requested if await self._is_prepared(session, item)]
            await self._jobs.enqueue(wanted, session=session)
            return len(wanted)

        count = await run_in_transaction(self._connection, commit)
        await checkpoint("reconcile.batch_repaired")
        return count

    async def _is_prepared(self, session: Session, item: Drift) -> bool:
        """A sync finds nothing to do where hashes match: an entry of lost vectors must not look right."""
        if item.kind is not DriftKind.HOLLOW or item.kb_id is None or item.document_id is None:
            return True
        return await self._entries.mark_hollow(
            session, item.organization_id, item.kb_id, item.document_id, item.generation_id or ""
        )

    async def _act(self, item: Drift, act: Callable[[Drift], Awaitable[object]], fence: Fence) -> bool:
        """One repair that is no job; one that fails is left to the next pass, and holds up no other."""
        if item.kind in DELETING and await self._is_held(item.organization_id):
            return False
        await fence.hold()
        try:
            await act(item)
        except (AnalytiqError, DatabaseError) as error:
            log.warning("reconcile.repair_failed", kind=item.kind.value, kb_id=item.kb_id, error=str(error))
            return False
        return True

    async def _is_held(self, organization_id: str) -> bool:
        if not organization_id:
            return await self._holds.is_anything_held()
        return await self._holds.reason(organization_id) is not None

    async def _fail_given_up(self, drift: Sequence[Drift], fence: Fence) -> set[Drift]:
        """A worker that died with its document cannot say so; its job's row does. Returns those that are shown."""
        stuck = {
            extract_request(item.organization_id, item.document_id).deduplication_key: item
            for item in drift
            if item.kind is DriftKind.STUCK_DOCUMENT and item.document_id
        }
        shown: set[Drift] = set()
        for job in await self._jobs.dead_among(stuck) if stuck else []:
            item = stuck[job.id]
            document = await self._documents.get(item.organization_id, item.document_id or "")
            shown.add(item)
            if document is not None and job.error is not None:
                await fence.hold()
                await self._documents.mark_failed(item.organization_id, document.id, document.file_id, job.error)
        return shown

    async def _put_back(self, drift: Sequence[Drift], fence: Fence) -> int:
        """Embeddings into the cache; a batch is of one knowledge base."""
        lost = [item for item in drift if item.kind is DriftKind.UNCACHED and item.target_id]
        if not lost:
            return 0
        knowledge_base = await self._knowledge_bases.get(lost[0].organization_id, lost[0].kb_id or "")
        if knowledge_base is None:
            return 0
        return await self._cache.put_back(knowledge_base, [item.target_id for item in lost if item.target_id], fence)

    async def _register(self, item: Drift) -> None:
        kb_id, document_id, generation_id = item.kb_id or "", item.document_id or "", item.generation_id or ""

        async def commit(session: Session) -> None:
            entry = await self._entries.get(item.organization_id, kb_id, document_id, session=session)
            if entry is not None and entry.generation_id == generation_id:
                await self._generations.register(session, entry)

        await run_in_transaction(self._connection, commit)

    async def _make_collection(self, item: Drift) -> None:
        """Make what is missing of a collection, and let writers name the one that is there now.

        A deletion in between leaves an empty collection, which is found as half created.
        """
        knowledge_base = await self._knowledge_bases.get(item.organization_id, item.kb_id or "")
        if knowledge_base is None:
            return
        vectors_uuid = await self._vectors.create_collection(knowledge_base.id)
        if vectors_uuid != knowledge_base.vectors_uuid:
            await self._knowledge_bases.point_at_collection(
                item.organization_id,
                knowledge_base.id,
                vectors_uuid=vectors_uuid,
                instead_of=knowledge_base.vectors_uuid,
            )

    async def _prepare_store(self, item: Drift) -> None:
        knowledge_base = await self._knowledge_bases.get(item.organization_id, item.kb_id or "")
        if knowledge_base is not None:
            await self._backends.of(knowledge_base).prepare(knowledge_base)

    async def _restart_epoch(self, item: Drift) -> None:
        """Begin another history behind the log, so that the next commit's number is free and every mirror reloads."""
        kb_id = item.kb_id or ""

        async def commit(session: Session) -> None:
            # A write to the row, so that a deletion, which removes the epoch, conflicts.
            if await self._knowledge_bases.change(session, item.organization_id, kb_id, {}) is None:
                return
            latest = await self._epochs.latest_change(kb_id, session=session)
            epoch = await self._epochs.read(kb_id, session=session)
            if epoch is None or epoch.epoch < latest:
                await self._epochs.restart(session, kb_id, epoch=latest + 1, commit_id=new_id())

        await run_in_transaction(self._connection, commit)

    async def _settle(self, item: Drift) -> None:
        knowledge_base = await self._knowledge_bases.get(item.organization_id, item.kb_id or "")
        if knowledge_base is None:
            return
        if item.kind is DriftKind.UNSETTLED and knowledge_base.first_membership_at is None:
            gathering = kb_changed(item.organization_id, knowledge_base.id)
            if not await self._jobs.existing([gathering.deduplication_key]):
                await self._jobs.enqueue([gathering])
                return
        await self._life_cycle.settle(item.organization_id, knowledge_base.id)

    async def _give_up_upload(self, item: Drift) -> None:
        """End the lease first: from then on the upload cannot commit, and its bytes are nobody's."""
        upload = await self._uploads.get(item.organization_id, item.target_id or "")
        if upload is not None and await self._uploads.give_up(upload):
            await self._files.delete_unfinished(upload.file_id)
            await self._uploads.forget(upload)

    async def _delete_staged_text(self, item: Drift) -> None:
        await self._texts.delete_unless_served(item.organization_id, item.document_id or "", item.target_id or "")

    async def _delete_text(self, item: Drift) -> None:
        document_id, text_id = item.document_id or "", item.target_id or ""
        document = await self._documents.get(item.organization_id, document_id)
        if document is None or document.text_id != text_id:
            await self._texts.delete(item.organization_id, document_id, text_id)

    async def _delete_unfinished_file(self, item: Drift) -> None:
        await self._files.delete_unfinished(item.target_id or "")

    async def _drop_collection(self, item: Drift) -> None:
        kb_id = item.kb_id or ""
        if not await self._knowledge_bases.existing([kb_id]) and await self._vectors.is_empty(kb_id):
            await self._vectors.drop_collection(kb_id)
