"""Resolve: reads the knowledge bases at their index version, and resolves the filter in each."""

import asyncio
from collections.abc import Sequence

from analytiq.errors import NotFoundError
from analytiq.models.index_types import in_order
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.retrieval.backends.base import IndexReader
from analytiq.retrieval.backends.registry import Backends
from analytiq.retrieval.filters.compilers.documents import compile_filter
from analytiq.retrieval.filters.declared_types import with_declared_types
from analytiq.retrieval.filters.selection import ANY_CHUNK, ChunkFilter, selection_of
from analytiq.retrieval.filters.tag_names import tag_names_in, with_tag_ids
from analytiq.retrieval.filters.tree import EVERYTHING, Filter
from analytiq.retrieval.pipeline.context import Scope, SearchContext
from analytiq.storage.all_repositories import Repositories


class Resolve:
    """Resolver of filters and scopes, by majority reads on the primary."""

    def __init__(self, repositories: Repositories, backends: Backends) -> None:
        self.repositories = repositories
        self._backends = backends
        self._knowledge_bases = repositories.knowledge_bases
        self._documents = repositories.documents
        self._tags = repositories.tags

    async def run(self, context: SearchContext) -> None:
        """Fill in the filter and the scopes.

        Raises:
            NotFoundError: the organization lacks one of the knowledge bases.
            InvalidInputError: names a declared field, and the literal of another type.
        """
        context.filter = await self.resolve_filter(context.organization, context.request.filter)
        await self.read_scopes(context)

    async def resolve_filter(self, organization: Organization, tree: Filter) -> Filter:
        """Replace tag names by ids, and literals by values of the organization's declared types.

        Raises:
            InvalidInputError: names a declared field, and the literal of another type.
        """
        if tree == EVERYTHING:
            return tree
        typed = with_declared_types(tree, organization.metadata_fields)
        names = tag_names_in(typed)
        return with_tag_ids(typed, await self._tags.ids_of_names(organization.id, names)) if names else typed

    async def read_scopes(self, context: SearchContext) -> None:
        """Read the present knowledge bases and the chunks that pass the filter."""
        with context.trace.step("read"):
            before, context.read_before = context.read_before, {}
            if all(kb_id in before for kb_id in context.kb_ids):
                read = [before[kb_id] for kb_id in context.kb_ids]
            else:
                read = await self._read(context.organization.id, context.kb_ids)
        with context.trace.step("filter"):
            filters: list[ChunkFilter | None] = [None] * len(read)
            if context.filter != EVERYTHING:
                filters = [*await asyncio.gather(*(self._chunks(kb, context.filter) for kb, _ in read))]
            if index_types := in_order(context.request.index_types):
                # Applied whatever the settings say: during a move to others, documents have the types of before.
                filters = [(one or ANY_CHUNK).of_types(index_types) for one in filters]
        context.scopes = [
            Scope(kb, epoch, one, self._reader(context, kb, epoch))
            for (kb, epoch), one in zip(read, filters, strict=True)
        ]

    def _reader(self, context: SearchContext, knowledge_base: KnowledgeBase, epoch: Epoch) -> IndexReader:
        """Open a knowledge base for one search, at this index version or a later one."""
        return self._backends.of(knowledge_base).reader(
            knowledge_base,
            epoch,
            with_vectors=context.plan.uses_vectors,
            with_keywords=context.plan.uses_keywords and self._backends.has_keywords,
        )

    async def _read(self, organization_id: str, kb_ids: Sequence[str]) -> list[tuple[KnowledgeBase, Epoch]]:
        found = await self._knowledge_bases.at_versions(organization_id, kb_ids)
        missing = next((kb_id for kb_id in kb_ids if kb_id not in found), None)
        if missing is not None:
            raise NotFoundError(f"No knowledge base has the id {missing!r}. List the knowledge bases to find it.")
        return [found[kb_id] for kb_id in kb_ids]

    async def _chunks(self, knowledge_base: KnowledgeBase, tree: Filter) -> ChunkFilter:
        """Select the chunks of the knowledge base that pass the filter."""

        async def matching(part: Filter) -> frozenset[str]:
            found = await self._documents.ids_of_members_matching(
                knowledge_base.organization_id, knowledge_base.tag_ids, compile_filter(part)
            )
            return frozenset(found)

        return ChunkFilter(tree, await selection_of(tree, matching))
