"""Candidates that pass the check, ranked: begins again where a swap came between finding and checking."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.errors import AnalytiqError, NotFoundError, TransientError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.retrieval.backends.base import Query
from analytiq.retrieval.backends.registry import Backends
from analytiq.retrieval.filters.compilers.documents import compile_filter
from analytiq.retrieval.filters.declared_types import with_declared_types
from analytiq.retrieval.filters.selection import ChunkFilter, selection_of
from analytiq.retrieval.filters.tag_names import tag_names_in, with_tag_ids
from analytiq.retrieval.filters.tree import EVERYTHING, Filter
from analytiq.retrieval.search.candidates import Candidate, Merged, Scope
from analytiq.retrieval.search.check import Check, Checked
from analytiq.retrieval.search.legs import Legs
from analytiq.retrieval.search.plan import SearchPlan
from analytiq.retrieval.search.request import Mode
from analytiq.retrieval.search.trail import Trail
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.knowledge_bases import EpochRepository, KnowledgeBaseRepository
from analytiq.storage.repositories.tags import TagRepository

OUTDATED_ROUNDS = 10
"""How often a search starts again because a document was re-indexed between finding and checking it."""
TORN_ROUNDS = 3
"""How often a search starts again because a document came between its legs; then it is shown as it was found."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates that count, best first.

    `is_whole`: there are no more. `is_torn`: one is of a generation that was committed since the search began, which
    one leg may have seen and the other not.
    """

    scopes: tuple[Scope, ...]
    checked: Checked
    is_whole: bool
    is_torn: bool = False
    is_behind: bool = False

    def is_below(self, threshold: float | None) -> bool:
        """Whether a leg has been read down to where it finds nothing above the threshold any more."""
        if threshold is None:
            return False
        found = [item for item in self.checked.candidates if item.scores.vector_rank is not None]
        return any(item.relevance < threshold for item in found or self.checked.candidates)


class Finding:
    """Finds, merges, checks and ranks."""

    def __init__(
        self,
        knowledge_bases: KnowledgeBaseRepository,
        epochs: EpochRepository,
        documents: DocumentRepository,
        tags: TagRepository,
        backends: Backends,
        legs: Legs,
        check: Check,
    ) -> None:
        self._knowledge_bases = knowledge_bases
        self._epochs = epochs
        self._documents = documents
        self._tags = tags
        self._backends = backends
        self._legs = legs
        self._check = check

    async def read(self, organization_id: str, kb_id: str) -> tuple[KnowledgeBase, Epoch]:
        """A knowledge base and its epoch, on the primary at majority.

        Raises:
            NotFoundError: the organization has no such knowledge base.
        """
        knowledge_base = await self._knowledge_bases.get(organization_id, kb_id)
        epoch = await self._epochs.read(kb_id) if knowledge_base else None
        if knowledge_base is None or epoch is None:
            raise NotFoundError(f"No knowledge base has the id {kb_id!r}.")
        return knowledge_base, epoch

    async def as_meant(self, organization: Organization, tree: Filter) -> Filter:
        """The filter with ids for the names of tags in it, and literals of the types that the organization declares.

        Raises:
            InvalidInputError: names a declared field, and the literal that is of another type.
        """
        typed = with_declared_types(tree, organization.metadata_fields)
        names = tag_names_in(typed)
        return with_tag_ids(typed, await self._tags.ids_of_names(organization.id, names)) if names else typed

    async def chunk_filter(self, knowledge_base: KnowledgeBase, tree: Filter) -> ChunkFilter | None:
        """The chunks of the knowledge base that pass; None for all."""
        if tree == EVERYTHING:
            return None

        async def matching(part: Filter) -> frozenset[str]:
            found = await self._documents.ids_of_members_matching(
                knowledge_base.organization_id, knowledge_base.tag_ids, compile_filter(part)
            )
            return frozenset(found)

        return ChunkFilter(tree, await selection_of(tree, matching))

    def scope(
        self, knowledge_base: KnowledgeBase, epoch: Epoch, chunk_filter: ChunkFilter | None, query: Query | None = None
    ) -> Scope:
        """Open a knowledge base for one search, at this epoch or a later one."""
        reader = self._backends.of(knowledge_base).reader(knowledge_base, epoch)
        return Scope(knowledge_base, epoch, chunk_filter, query, reader)

    async def rank(
        self,
        first: Sequence[Scope],
        plan: SearchPlan,
        queries: dict[str, Query],
        tree: Filter,
        trail: Trail,
        *,
        depth: int,
    ) -> Ranking:
        """Candidates to `depth` in each leg.

        A swap moves the epoch; so does a document that joins, of which one leg alone would show a part. Where the epoch
        stands and an entry still names another generation, that is drift: the reconciler's to mend, and no reason to
        show nothing of the other documents.
        """
        scopes = first
        seen: list[Epoch] | None = None
        for number in range(OUTDATED_ROUNDS):
            epochs = [scope.epoch for scope in scopes]
            is_drift = epochs == seen
            ranking = await self._rank_once(scopes, plan, trail, depth=depth)
            # A keyword index that is behind would name the same outdated chunks again.
            is_repeated = not ranking.is_behind and (
                ranking.checked.is_outdated or (ranking.is_torn and number < TORN_ROUNDS)
            )
            if not is_repeated or is_drift:
                return ranking
            seen = epochs
            scopes = await self._anew(scopes, queries, tree)
        names = ", ".join(repr(scope.knowledge_base.name) for scope in scopes)
        raise TransientError(
            f"{names} is being indexed anew faster than it can be searched; ask again in a moment", retry_after=0.5
        )

    async def _anew(self, scopes: Sequence[Scope], queries: dict[str, Query], tree: Filter) -> list[Scope]:
        fresh: list[Scope] = []
        for scope in scopes:
            old = scope.knowledge_base
            knowledge_base, epoch = await self.read(old.organization_id, old.id)
            chunk_filter = await self.chunk_filter(knowledge_base, tree)
            fresh.append(self.scope(knowledge_base, epoch, chunk_filter, queries.get(knowledge_base.embedding_model)))
        return fresh

    async def _rank_once(self, scopes: Sequence[Scope], plan: SearchPlan, trail: Trail, *, depth: int) -> Ranking:
        with trail.step("find"):
            result = await self._legs.find(scopes, plan, depth=depth)
        for name, milliseconds in result.milliseconds.items():
            trail.add_time(name, milliseconds)
        for lacking in result.degraded:
            trail.lack(lacking.step, lacking.code, lacking.detail)
        merged = Merged.of(result.found)
        with trail.step("check"):
            knowledge_bases = [scope.knowledge_base for scope in scopes]
            has_two_legs = plan.has_vector_leg and plan.has_lexical_leg and not result.degraded
            checked, added = await asyncio.gather(
                self._check.check(knowledge_bases, list(merged.by_key.values())),
                self._added_since(scopes) if has_two_legs else _nothing(),
            )
        merged.keep(checked.candidates)
        if plan.has_vector_leg and result.found.vector:
            await self._compare(scopes, merged, trail)
        candidates = tuple(merged.ranked(plan))
        trail.is_fused = plan.mode is Mode.HYBRID and bool(result.found.vector) and bool(result.found.lexical)
        trail.count(
            vector_candidates=len(result.found.vector),
            lexical_candidates=len(result.found.lexical),
            candidates=len(candidates),
            refused_by_check=len(set(_keys(result.found.vector, result.found.lexical))) - len(candidates),
        )
        is_torn = bool(added) and any(item.generation_id in added for item in candidates)
        return Ranking(tuple(scopes), checked.ranked(candidates), result.found.is_whole, is_torn, result.is_behind)

    async def _added_since(self, scopes: Sequence[Scope]) -> frozenset[str]:
        """The generations that have joined since the epochs at which these are searched."""
        parts = await asyncio.gather(*(self._epochs.added_after(scope.epoch) for scope in scopes))
        return frozenset(generation for part in parts for generation in part)

    async def _compare(self, scopes: Sequence[Scope], merged: Merged, trail: Trail) -> None:
        """Give the chunks that only words found their vector's score too."""
        unknown = [item for item in merged.by_key.values() if item.scores.vector is None]
        if not unknown:
            return
        with trail.step("compare"):
            try:
                merged.with_vector_scores(await self._legs.vector_scores(scopes, unknown))
            except AnalytiqError as error:
                trail.degrade("compare", error)


async def _nothing() -> frozenset[str]:
    return frozenset()


def _keys(*lists: Sequence[Candidate]) -> list[object]:
    return [item.key for one in lists for item in one]
