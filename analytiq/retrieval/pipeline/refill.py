"""Refill policy: decides when a search retrieves again, and how often."""

from dataclasses import dataclass

from analytiq.errors import TransientError
from analytiq.models.knowledge_base import Epoch
from analytiq.retrieval.pipeline.context import SearchContext

OUTDATED_ROUNDS = 10
"""Most retrievals of one search after documents are re-indexed between retrieval and check."""


@dataclass(slots=True)
class Refill:
    """The policy for one search. `max_depth`: half the largest depth requested from a retriever."""

    max_depth: int
    _rounds: int = 0
    _seen: list[Epoch] | None = None

    def is_stale(self, context: SearchContext) -> bool:
        """Return True if the search must retrieve again at the newer index version.

        A swap moves the index version. If the version stands and an entry names another generation, that is drift: the
        reconciler repairs it, and the other documents are shown.

        Raises:
            TransientError: documents are re-indexed faster than they can be searched.
        """
        # A keyword index that is behind would name the same outdated chunks again.
        if context.is_behind or not context.is_outdated:
            return False
        epochs = [scope.epoch for scope in context.scopes]
        if epochs == self._seen:
            return False
        self._seen = epochs
        self._rounds += 1
        if self._rounds < OUTDATED_ROUNDS:
            return True
        names = ", ".join(repr(scope.knowledge_base.name) for scope in context.scopes)
        raise TransientError(
            f"{names} is being re-indexed faster than it can be searched. Ask again in a moment.", retry_after=0.5
        )

    def is_enough(self, context: SearchContext) -> bool:
        """Return True if the hits fill the page, or more depth brings no more; else double the depth."""
        if len(context.selected) >= context.plan.needed or context.is_whole or context.is_below_threshold:
            return True
        if context.depth >= self.max_depth:
            return True
        context.depth *= 2
        return False
