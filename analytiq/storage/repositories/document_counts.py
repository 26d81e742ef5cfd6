"""Collection `docs`: counts of documents by state, for an organization and for its knowledge bases."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from analytiq.models.document import DocumentState
from analytiq.models.job import JobKind, JobState
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_ids
from analytiq.storage.repositories.rows import Row

MOST_WAITING_COUNTED = 10_000
"""Most documents in progress counted for a page of knowledge bases; failed documents are always counted exactly."""
MOST_FAILURE_CODES = 50

_NOT_READ = (DocumentState.UPLOADED.value, DocumentState.EXTRACTING.value)


@dataclass(frozen=True, slots=True)
class MemberCounts:
    """Documents that share a tag with a knowledge base and are not searchable in their present version.

    `failed`: unreadable, or failed in indexing. `unread`: waiting for extraction. `empty`: without any text.
    """

    failed: int = 0
    unread: int = 0
    empty: int = 0


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Failed documents with the same error code; `detail` is the message of one of them."""

    code: str
    detail: str
    count: int


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """Documents of an organization by state, and the failed ones by error code."""

    states: Mapping[DocumentState, int]
    empty: int
    failures: Sequence[FailureCount]


class DocumentCountRepository:
    """Counts documents."""

    def __init__(self, connection: MongoConnection) -> None:
        self._documents = connection.database["docs"]
        self._jobs = connection.database["jobs"]

    async def of_organization(self, organization_id: str) -> DocumentCounts:
        """Count an organization's documents."""
        own: Row = {"organization_id": organization_id}
        cursor = await self._documents.aggregate([{"$match": own}, {"$group": {"_id": "$state", "count": {"$sum": 1}}}])
        states = {DocumentState(row["_id"]): int(row["count"]) async for row in cursor}
        empty = await self._documents.count_documents(
            {**own, "character_count": 0, "state": DocumentState.EXTRACTED.value}
        )
        group: Row = {"_id": "$error.code", "count": {"$sum": 1}, "detail": {"$first": "$error.detail"}}
        cursor = await self._documents.aggregate(
            [
                {"$match": {**own, "state": DocumentState.FAILED.value}},
                {"$group": group},
                {"$sort": {"count": -1, "_id": 1}},
                {"$limit": MOST_FAILURE_CODES},
            ]
        )
        failures = [
            FailureCount(str(row["_id"] or "unknown"), str(row["detail"] or ""), int(row["count"]))
            async for row in cursor
        ]
        return DocumentCounts(states, empty, failures)

    async def of_knowledge_bases(
        self, organization_id: str, knowledge_bases: Collection[KnowledgeBase]
    ) -> dict[str, MemberCounts]:
        """Count the members of each knowledge base, with a fixed number of queries."""
        tag_ids = sorted({tag_id for item in knowledge_bases for tag_id in item.tag_ids})
        if not tag_ids:
            return {item.id: MemberCounts() for item in knowledge_bases}
        own: Row = {"organization_id": organization_id, "tag_ids": {"$in": tag_ids}}
        failed = await self._by_tags({**own, "state": DocumentState.FAILED.value})
        unread = await self._by_tags({**own, "state": {"$in": list(_NOT_READ)}}, limit=MOST_WAITING_COUNTED)
        empty = await self._by_tags({**own, "character_count": 0, "state": DocumentState.EXTRACTED.value})
        given_up = await self._given_up(organization_id, knowledge_bases)
        return {
            item.id: MemberCounts(
                failed=_sharing(failed, item) + given_up.get(item.id, 0),
                unread=_sharing(unread, item),
                empty=_sharing(empty, item),
            )
            for item in knowledge_bases
        }

    async def _by_tags(self, match: Row, *, limit: int | None = None) -> list[tuple[frozenset[str], int]]:
        """Count by set of tags: a document with two tags of a knowledge base counts once there."""
        stages: list[Row] = [{"$match": match}]
        if limit is not None:
            stages.append({"$limit": limit})
        stages.append({"$group": {"_id": "$tag_ids", "count": {"$sum": 1}}})
        cursor = await self._documents.aggregate(stages)
        return [(frozenset(row["_id"]), int(row["count"])) async for row in cursor]

    async def _given_up(self, organization_id: str, knowledge_bases: Collection[KnowledgeBase]) -> dict[str, int]:
        """Count the documents that were extracted, but whose indexing failed."""
        dead: Row = {
            "organization_id": organization_id,
            "state": JobState.DEAD.value,
            "kind": JobKind.SYNC.value,
            "subject.kb_id": {"$in": [item.id for item in knowledge_bases]},
        }
        pairs = [
            (str(row["subject"]["kb_id"]), str(row["subject"]["document_id"]))
            async for row in self._jobs.find(dead, {"subject": 1}).limit(MOST_WAITING_COUNTED)
        ]
        if not pairs:
            return {}
        read: Row = {
            "_id": {"$in": object_ids({document_id for _, document_id in pairs})},
            "organization_id": organization_id,
            "state": DocumentState.EXTRACTED.value,
        }
        tags_of = {
            str(row["_id"]): frozenset(row["tag_ids"]) async for row in self._documents.find(read, {"tag_ids": 1})
        }
        wanted = {item.id: frozenset(item.tag_ids) for item in knowledge_bases}
        counts: dict[str, int] = {}
        for kb_id, document_id in pairs:
            if not wanted[kb_id].isdisjoint(tags_of.get(document_id, frozenset())):
                counts[kb_id] = counts.get(kb_id, 0) + 1
        return counts


def _sharing(counted: Sequence[tuple[frozenset[str], int]], knowledge_base: KnowledgeBase) -> int:
    own = frozenset(knowledge_base.tag_ids)
    return sum(count for tag_ids, count in counted if not own.isdisjoint(tag_ids))
