"""The indexes of one kind in this process, built on first search; the least recently searched are evicted first."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from analytiq.errors import NotFoundError, StoreLoadingError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.local.replica import IndexReplica, Version

ViewT = TypeVar("ViewT")
ReplicaT = TypeVar("ReplicaT", bound=IndexReplica[Any])

LET_GO_ROUNDS = 3
"""Most rebuilds by one search of an index that is evicted meanwhile."""


class ReplicaCache(ABC, Generic[ReplicaT, ViewT]):
    """`wait_seconds`: the longest that a search waits for an index."""

    evicted: ClassVar[str]
    """Error text of a search that must try again: `{kb}` stands for the knowledge base's name."""

    def __init__(self, *, wait_seconds: float) -> None:
        self.wait_seconds = wait_seconds
        self._replicas: dict[str, ReplicaT] = {}
        self._is_closing = False

    def replica_of(self, knowledge_base: KnowledgeBase) -> ReplicaT:
        """Return the knowledge base's index, which is now the most recently used."""
        replica = self._replicas.pop(knowledge_base.id, None) or self.new_replica(knowledge_base)
        self._replicas[knowledge_base.id] = replica  # a dict keeps the order
        return replica

    async def fresh(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> Version[ViewT]:
        """Return the index at this version or a later one.

        Raises:
            StoreLoadingError: the index is still being built; ask again.
            NotFoundError: the knowledge base has been deleted.
        """
        for _ in range(LET_GO_ROUNDS):
            replica = self.replica_of(knowledge_base)
            if replica.latest is not None and replica.latest.epoch == epoch:
                return replica.latest
            try:
                latest: Version[ViewT] = await replica.fresh(epoch, wait_seconds=self.wait_seconds)
            except NotFoundError:
                self.forget(knowledge_base.id)
                raise
            except StoreLoadingError:
                # It was let go for another knowledge base's while it was made: no reason to ask again.
                if not replica.is_closed or self._is_closing:
                    raise
            else:
                self.make_room(knowledge_base.id)
                return latest
        raise StoreLoadingError(self.evicted.format(kb=repr(knowledge_base.name)), retry_after=1.0)

    @abstractmethod
    def new_replica(self, knowledge_base: KnowledgeBase) -> ReplicaT:
        """Return an empty index."""

    @abstractmethod
    def make_room(self, kb_id: str) -> None:
        """Evict indexes beyond the bounds, except that of `kb_id`, which has just been refreshed."""

    @abstractmethod
    def forget(self, kb_id: str) -> None:
        """Remove the index from memory and disk."""
