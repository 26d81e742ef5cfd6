"""Mirrors knowledge bases' vectors in this process and keeps them as fresh as the epoch asks (design 2.3)."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

import structlog

from analytiq.errors import NotFoundError, StoreLoadingError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.selection import ChunkFilter, Selection
from analytiq.mongo.repositories.vectors import VectorRepository, VectorsAt
from analytiq.vector_stores.base import Query, VectorHit
from analytiq.vector_stores.local.matrix import VectorMatrix, View

log = structlog.get_logger(__name__)

REFRESH_ROUNDS = 3
"""One is enough unless a refresh began before the commit that is asked for."""


@dataclass(slots=True)
class _Mirror:
    """One knowledge base in memory; changed by one refresh at a time, while searches read `view`."""

    matrix: VectorMatrix | None = None
    view: View | None = None
    epoch: Epoch | None = None
    refresh: asyncio.Task[None] | None = None


class LocalVectorStore:
    """Exact search in memory; works on any MongoDB replica set.

    `memory_bytes` bounds what is held: the knowledge bases that were searched longest ago leave first. One that
    is larger by itself is held alone.
    """

    def __init__(self, vectors: VectorRepository, *, memory_bytes: int, load_wait_seconds: float) -> None:
        self._vectors = vectors
        self._memory_bytes = memory_bytes
        self._load_wait_seconds = load_wait_seconds
        self._mirrors: dict[str, _Mirror] = {}

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[VectorHit]:
        """See VectorStore. The multiplication runs in a thread: the event loop goes on meanwhile."""
        view = await self._fresh_view(knowledge_base, epoch)
        rows = await asyncio.to_thread(view.nearest, query, limit=limit, selection=_selection(chunk_filter))
        return [VectorHit(row.generation_id, row.document_id, row.chunk_index, _relevance(row.cosine)) for row in rows]

    async def count(self, knowledge_base: KnowledgeBase, epoch: Epoch, *, chunk_filter: ChunkFilter | None) -> int:
        """See VectorStore."""
        view = await self._fresh_view(knowledge_base, epoch)
        return await asyncio.to_thread(view.count, _selection(chunk_filter))

    async def relevance_of(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        chunks: Collection[tuple[str, int]],
    ) -> dict[tuple[str, int], float]:
        """See VectorStore."""
        view = await self._fresh_view(knowledge_base, epoch)
        return {place: _relevance(cosine) for place, cosine in view.cosines(query, chunks).items()}

    def forget(self, kb_id: str) -> None:
        """See VectorStore."""
        self._mirrors.pop(kb_id, None)

    @property
    def byte_size(self) -> int:
        """Bytes held by all mirrors."""
        return sum(mirror.matrix.byte_size for mirror in self._mirrors.values() if mirror.matrix)

    async def _fresh_view(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> View:
        mirror = self._mirrors.pop(knowledge_base.id, None) or _Mirror()
        self._mirrors[knowledge_base.id] = mirror  # now the most recently used
        if mirror.view is not None and mirror.epoch == epoch:
            return mirror.view
        # A mirror that is ahead is read anew as well: either another search saw a later epoch than this one, and
        # there is nothing to read, or the database was restored from a backup, and the mirror is of a lost history.
        for _ in range(REFRESH_ROUNDS):
            await self._wait_for_refresh(mirror, knowledge_base)
            if mirror.view is not None and _is_fresh(mirror.epoch, epoch):
                return mirror.view
        raise StoreLoadingError(
            f"the knowledge base {knowledge_base.name!r} is changing faster than it can be followed; ask again",
            retry_after=1.0,
        )

    async def _wait_for_refresh(self, mirror: _Mirror, knowledge_base: KnowledgeBase) -> None:
        """One refresh at a time for a knowledge base; a caller who gives up waiting does not stop it."""
        if mirror.refresh is None or mirror.refresh.done():
            mirror.refresh = asyncio.create_task(self._refresh(mirror, knowledge_base))
        task = mirror.refresh
        _, unfinished = await asyncio.wait([task], timeout=self._load_wait_seconds)
        if unfinished:
            raise StoreLoadingError(
                f"the knowledge base {knowledge_base.name!r} is being loaded into memory; ask again in a moment",
                retry_after=self._load_wait_seconds,
            )
        task.result()

    async def _refresh(self, mirror: _Mirror, knowledge_base: KnowledgeBase) -> None:
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        if mirror.matrix is not None and mirror.epoch is not None:
            at = await self._vectors.read_changes(
                organization_id, kb_id, after=mirror.epoch.epoch - 1, known=mirror.matrix.generation_ids
            )
            if at is None:
                raise _gone(knowledge_base)
            if _continues(mirror.epoch, at):
                await asyncio.to_thread(_apply, mirror.matrix, at)
                mirror.view, mirror.epoch = mirror.matrix.view(), at.epoch
                self._make_room(kb_id)
                return
            log.warning("local_store.reloading", kb_id=kb_id, epoch=at.epoch.epoch)
        at = await self._vectors.read_all(organization_id, kb_id)
        if at is None:
            raise _gone(knowledge_base)
        matrix = VectorMatrix(knowledge_base.embedding_dimensions)
        await asyncio.to_thread(_fill, matrix, at)
        mirror.matrix, mirror.view, mirror.epoch = matrix, matrix.view(), at.epoch
        self._make_room(kb_id)

    def _make_room(self, kb_id: str) -> None:
        """Let the least recently used go, but not `kb_id`. A dict keeps the order of use."""
        for other in list(self._mirrors):
            if self.byte_size <= self._memory_bytes:
                return
            if other != kb_id:
                log.info("local_store.evicted", kb_id=other)
                self.forget(other)


def _selection(chunk_filter: ChunkFilter | None) -> Selection | None:
    return None if chunk_filter is None else chunk_filter.selection


def _is_fresh(have: Epoch | None, wanted: Epoch) -> bool:
    """Whether what was just read is what was asked for, or newer."""
    if have is None or have.epoch < wanted.epoch:
        return False
    return have.epoch > wanted.epoch or have.commit_id == wanted.commit_id


def _continues(have: Epoch, at: VectorsAt) -> bool:
    """Whether the changes lead from what is mirrored to what is stored, without a gap or another history.

    The first change read is the one that made the mirrored epoch: a database restored from a backup, and
    written to since, has another commit id there.
    """
    if at.epoch.epoch < have.epoch:
        return False
    if at.epoch.epoch == have.epoch:
        return at.epoch.commit_id == have.commit_id
    epochs = [change.epoch for change in at.changes]
    if have.epoch == 0:
        return epochs == list(range(1, at.epoch.epoch + 1))
    return epochs == list(range(have.epoch, at.epoch.epoch + 1)) and at.changes[0].commit_id == have.commit_id


def _apply(matrix: VectorMatrix, at: VectorsAt) -> None:
    removed = [change.removed for change in at.changes if change.removed is not None]
    matrix.remove(removed)
    _fill(matrix, at)


def _fill(matrix: VectorMatrix, at: VectorsAt) -> None:
    for generation in at.vectors:
        if len(generation.matrix) != generation.expected_chunks:
            # The reconciler mends it ("hollow"); what is left is still worth finding.
            log.error(
                "local_store.hollow_generation", generation_id=generation.generation_id,
                document_id=generation.document_id, rows=len(generation.matrix),
                expected=generation.expected_chunks,
            )  # fmt: skip
    matrix.add(at.vectors)


def _relevance(cosine: float) -> float:
    return min(1.0, max(0.0, (1.0 + cosine) / 2.0))


def _gone(knowledge_base: KnowledgeBase) -> NotFoundError:
    return NotFoundError(f"the knowledge base {knowledge_base.name!r} has been deleted")
