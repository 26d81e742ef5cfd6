"""Check: compares every hit with `document_index` and `docs`."""

import asyncio
from collections.abc import Sequence

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.pipeline.context import Hit, Key, SearchContext
from analytiq.retrieval.pipeline.details import TAGS
from analytiq.storage.all_repositories import Repositories


class Check:
    """Checker of hits, by majority reads on the primary."""

    def __init__(self, repositories: Repositories) -> None:
        self._hit_checks = repositories.hit_checks

    async def run(self, context: SearchContext) -> None:
        """Keep the hits whose index entry names their generation and whose document is a member.

        The check is unconditional: a document leaves at once on every backend, and no race of the swap shows. Also fill
        in the documents and generations found, and whether the index has changed since the hits were retrieved.
        """
        with context.trace.step("check"):
            hits = merged(context.vector, context.keyword)
            by_kb: dict[str, list[Hit]] = {}
            for hit in hits.values():
                by_kb.setdefault(hit.kb_id, []).append(hit)
            kbs = {scope.knowledge_base.id: scope.knowledge_base for scope in context.scopes}
            outdated = await asyncio.gather(
                *(self._check(context, kbs[kb_id], of_kb) for kb_id, of_kb in by_kb.items())
            )
            dropped, stale = set[Key]().union(*(one for one, _ in outdated)), any(is_stale for _, is_stale in outdated)
            context.hits = [hit for key, hit in hits.items() if key not in dropped]
            context.is_outdated = stale
        context.trace.statistics.candidates = len(context.hits)
        context.trace.statistics.refused_by_check = len(dropped)

    async def _check(
        self, context: SearchContext, knowledge_base: KnowledgeBase, hits: Sequence[Hit]
    ) -> tuple[set[Key], bool]:
        """Return the hits to drop, and True if one of them is of a replaced generation."""
        truth = await self._hit_checks.read(
            knowledge_base.organization_id,
            knowledge_base.id,
            {hit.document_id for hit in hits},
            knowledge_base.tag_ids,
            with_tag_names=TAGS in context.request.include,
        )
        context.members |= truth.members
        context.tag_names |= truth.tag_names
        for version in truth.versions.values():
            context.chunk_counts[version.generation_id] = version.counts
            context.text_hashes[version.generation_id] = version.text_hash
        dropped: set[Key] = set()
        is_outdated = False
        for hit in hits:
            version = truth.versions.get(hit.document_id)
            if version is None or hit.document_id not in truth.members:
                dropped.add(hit.key)
            elif version.generation_id != hit.generation_id:
                dropped.add(hit.key)
                is_outdated = True
        return dropped, is_outdated


def merged(vector: Sequence[Hit], keyword: Sequence[Hit]) -> dict[Key, Hit]:
    """Merge the hits of both retrievers, each chunk once; ranks count from 1."""
    hits: dict[Key, Hit] = {}
    for rank, hit in enumerate(vector, start=1):
        hit.scores.vector_rank = rank
        hits[hit.key] = hit
    for rank, hit in enumerate(keyword, start=1):
        known = hits.setdefault(hit.key, hit)
        known.scores.lexical, known.scores.lexical_rank = hit.scores.lexical, rank
    return hits
