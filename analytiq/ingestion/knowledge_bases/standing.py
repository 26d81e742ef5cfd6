"""The standing of a knowledge base: its searchable, waiting and failed documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.document_counts import MemberCounts
from analytiq.storage.repositories.kb_work import KnowledgeBaseWork


class KnowledgeBaseHealth(StrEnum):
    """The health of a knowledge base: the searchability of its documents.

    `complete`: every one is searchable. `indexing`: some are in progress, none has failed. `incomplete`: some failed.
    `failed`: all failed, or the knowledge base itself did.
    """

    COMPLETE = "complete"
    INDEXING = "indexing"
    INCOMPLETE = "incomplete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StandingKnowledgeBase:
    """A knowledge base with the counts of its documents and jobs."""

    knowledge_base: KnowledgeBase
    members: MemberCounts
    work: KnowledgeBaseWork

    @property
    def waiting_document_count(self) -> int:
        """The number of documents to be extracted, and of documents whose index is to be updated."""
        return self.members.unread + self.work.unfinished_syncs

    @property
    def health(self) -> KnowledgeBaseHealth:
        """Return the health; a failure outweighs work in progress, so that it is not overlooked."""
        knowledge_base, failed = self.knowledge_base, self.members.failed
        if knowledge_base.status is KnowledgeBaseStatus.ERROR:
            return KnowledgeBaseHealth.FAILED
        if failed and not knowledge_base.document_count and not self.waiting_document_count:
            return KnowledgeBaseHealth.FAILED
        if failed:
            return KnowledgeBaseHealth.INCOMPLETE
        if self.waiting_document_count or knowledge_base.status is not KnowledgeBaseStatus.ACTIVE:
            return KnowledgeBaseHealth.INDEXING
        return KnowledgeBaseHealth.COMPLETE


class KnowledgeBaseStandings:
    """Reads the standing of knowledge bases."""

    def __init__(self, rows: Repositories) -> None:
        self._counts = rows.document_counts
        self._work = rows.kb_work

    async def of(self, organization_id: str, knowledge_bases: Sequence[KnowledgeBase]) -> list[StandingKnowledgeBase]:
        """Return the standing of each, in order; with a fixed number of queries."""
        members = await self._counts.of_knowledge_bases(organization_id, knowledge_bases)
        work = await self._work.of(organization_id, [item.id for item in knowledge_bases])
        return [
            StandingKnowledgeBase(item, members[item.id], work.get(item.id, KnowledgeBaseWork()))
            for item in knowledge_bases
        ]
