"""Reader of one knowledge base in this process: both searches see one version of its indexes."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from analytiq.errors import NotFoundError
from analytiq.models.following import is_fresh
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import ChunkKey, KeywordHit, Query, VectorHit
from analytiq.retrieval.backends.local.keywords.store import LocalLexicalIndex
from analytiq.retrieval.backends.local.keywords.view import View as KeywordView
from analytiq.retrieval.backends.local.replica import REFRESH_ROUNDS, Version, refresh_both, too_fast
from analytiq.retrieval.backends.local.replica_cache import ReplicaCache
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.retrieval.backends.local.vectors.view import View as VectorView
from analytiq.retrieval.filters.selection import ChunkFilter

ViewT = TypeVar("ViewT")


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes of all knowledge bases in this process."""

    vectors: LocalVectorStore
    keywords: LocalLexicalIndex


@dataclass(frozen=True, slots=True)
class Views:
    """Both indexes at one version. The error of its refresh stands for an index that is not ready."""

    vectors: VectorView | Exception
    keywords: KeywordView | Exception


class LocalReader:
    """See IndexReader. `searches_both`: the first search waits until both indexes are at one version."""

    def __init__(self, indexes: Indexes, knowledge_base: KnowledgeBase, epoch: Epoch, *, searches_both: bool) -> None:
        self._vectors = indexes.vectors
        self._keywords = indexes.keywords
        self._knowledge_base = knowledge_base
        self._epoch = epoch
        self._searches_both = searches_both
        self._views: Views | None = None
        self._opening = asyncio.Lock()

    async def vector_search(self, query: Query, *, limit: int, chunk_filter: ChunkFilter | None) -> list[VectorHit]:
        """See IndexReader."""
        view = _required((await self._opened()).vectors) if self._searches_both else await self._vector_view()
        return await self._vectors.search_in(view, query, limit=limit, chunk_filter=chunk_filter)

    async def keyword_search(self, question: str, *, limit: int, chunk_filter: ChunkFilter | None) -> list[KeywordHit]:
        """See IndexReader."""
        kb = self._knowledge_base
        if not self._searches_both:
            return await self._keywords.search(kb, self._epoch, question, limit=limit, chunk_filter=chunk_filter)
        view = _required((await self._opened()).keywords)
        return await self._keywords.search_in(view, kb, question, limit=limit, chunk_filter=chunk_filter)

    async def keyword_search_behind(
        self, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[KeywordHit]:
        """See IndexReader."""
        return await self._keywords.available(self._knowledge_base, question, limit=limit, chunk_filter=chunk_filter)

    async def count(self, *, chunk_filter: ChunkFilter | None) -> int:
        """See IndexReader."""
        return await self._vectors.count_in(await self._vector_view(), chunk_filter=chunk_filter)

    async def scores(self, query: Query, chunks: Collection[ChunkKey]) -> dict[ChunkKey, float]:
        """See IndexReader."""
        return await self._vectors.scores_in(await self._vector_view(), query, chunks)

    async def _vector_view(self) -> VectorView:
        """Return the vectors that have been searched, else the present ones."""
        if self._views is not None and isinstance(self._views.vectors, VectorView):
            return self._views.vectors
        return (await self._vectors.fresh(self._knowledge_base, self._epoch)).view

    async def _opened(self) -> Views:
        """Return the indexes that the reader's first search has opened."""
        async with self._opening:
            if self._views is None:
                self._views = await self._at_one_version()
            return self._views

    async def _at_one_version(self) -> Views:
        """Open both indexes at the reader's version or a later one.

        If the keyword index takes longer than a search waits, the vectors are searched alone. If the vectors do, the
        keyword index is searched alone.

        Raises:
            NotFoundError: the knowledge base has been deleted.
        """
        kb, epoch = self._knowledge_base, self._epoch
        for _ in range(REFRESH_ROUNDS):
            vectors, keywords = self._vectors.replica_of(kb), self._keywords.replica_of(kb)
            if vectors.latest is None or keywords.latest is None:
                one, other = await self._each_alone()
            elif vectors.latest.epoch == keywords.latest.epoch == epoch:
                return Views(vectors.latest.view, keywords.latest.view)
            else:
                try:
                    one, other = await keywords.refreshing_both.result(
                        partial(refresh_both, vectors, keywords),
                        "refresh of both indexes",
                        kb.id,
                        wait_seconds=self._keywords.wait_seconds,
                    )
                    self._vectors.make_room(kb.id)
                    self._keywords.make_room(kb.id)
                except TimeoutError:
                    if keywords.is_closed:  # let go for room: no reason to search without it
                        continue
                    behind = keywords.not_ready_within(self._keywords.wait_seconds)
                    return Views(_view_in(await self._alone(self._vectors)), behind)
                except Exception:  # noqa: BLE001  # of one index, and the other one answers by itself
                    one, other = await self._each_alone()
            if isinstance(one, Exception) or isinstance(other, Exception):
                return Views(_view_in(one), _view_in(other))
            if one.epoch == other.epoch and is_fresh(one.epoch, epoch):
                return Views(one.view, other.view)
        return Views(_view_in(await self._alone(self._vectors)), too_fast(kb))

    async def _each_alone(self) -> tuple[Version[VectorView] | Exception, Version[KeywordView] | Exception]:
        return await asyncio.gather(self._alone(self._vectors), self._alone(self._keywords))

    async def _alone(self, indexes: ReplicaCache[Any, ViewT]) -> Version[ViewT] | Exception:
        try:
            return await indexes.fresh(self._knowledge_base, self._epoch)
        except NotFoundError:
            raise
        except Exception as error:  # noqa: BLE001  # raised by the search that needs this index
            return error


def _view_in(outcome: Version[ViewT] | Exception) -> ViewT | Exception:
    return outcome if isinstance(outcome, Exception) else outcome.view


def _required(view: ViewT | Exception) -> ViewT:
    if isinstance(view, Exception):
        raise view
    return view
