"""Entries, documents and tag names of hits, by which a search decides what it may show; read in one command."""

from collections.abc import Collection
from dataclasses import dataclass

from analytiq.models.document import Member
from analytiq.models.index_types import ChunkCounts
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_ids
from analytiq.storage.repositories.rows import Row

MEMBER_FIELDS = {"document_name": 1, "source_url": 1, "tag_ids": 1, "metadata.label": 1}
"""The projection of documents for `member_of`."""
VERSION_FIELDS = {"_id": 0} | dict.fromkeys(
    ("document_id", "generation_id", "text_hash", "chunk_count", "chunk_counts"), 1
)
"""The projection of entries; to decode an ObjectId costs as much as the rest of a row."""


def member_of(row: Row) -> Member:
    """Return the member of a row of `docs`."""
    label = row.get("metadata", {}).get("label")
    return Member(row["document_name"], row.get("source_url"), tuple(row["tag_ids"]), label)


@dataclass(frozen=True, slots=True)
class CurrentVersion:
    """The current generation of a document in a knowledge base, and the hash of its text."""

    generation_id: str
    text_hash: str
    counts: ChunkCounts


@dataclass(frozen=True, slots=True)
class HitTruth:
    """Rows behind hits: current versions and existing members by document id, and names of their tags by tag id."""

    versions: dict[str, CurrentVersion]
    members: dict[str, Member]
    tag_names: dict[str, str]


class HitCheckRepository:
    """Reads of `document_index`, `docs` and `tags` together, at majority.

    At majority, like the index version: otherwise an entry would name a generation some milliseconds before its index
    version becomes visible, and searches would miss the document under both.
    """

    def __init__(self, connection: MongoConnection) -> None:
        self._entries = connection.majority["document_index"]

    async def read(
        self,
        organization_id: str,
        kb_id: str,
        document_ids: Collection[str],
        tag_ids: Collection[str],
        *,
        with_tag_names: bool,
    ) -> HitTruth:
        """Return the versions of documents in a knowledge base, and the documents with one of the tags.

        One command instead of three: `$unionWith` reads each collection by its own index, as a find does, and a command
        costs the process as much as decoding a hundred rows. `$lookup` would take three times as long.
        """
        members: Row = {
            "_id": {"$in": object_ids(set(document_ids))},
            "organization_id": organization_id,
            "tag_ids": {"$in": list(tag_ids)},
        }
        stages: list[Row] = [
            {
                "$match": {
                    "kb_id": kb_id,
                    "document_id": {"$in": list(document_ids)},
                    "organization_id": organization_id,
                }
            },
            {"$project": VERSION_FIELDS},
            {"$unionWith": {"coll": "docs", "pipeline": [{"$match": members}, {"$project": MEMBER_FIELDS}]}},
        ]
        if with_tag_names:
            stages.append({"$unionWith": {"coll": "docs", "pipeline": _tags_of(organization_id, members)}})
        truth = HitTruth({}, {}, {})
        cursor = await self._entries.aggregate(stages, batchSize=len(document_ids) * 3 + 100)
        for row in await cursor.to_list():
            _sort_in(truth, row)
        return truth


def _tags_of(organization_id: str, members: Row) -> list[Row]:
    """Return the stages from documents to the names of their tags, each tag once."""
    named: Row = {
        "from": "tags",
        "localField": "tag",
        "foreignField": "_id",
        "pipeline": [{"$match": {"organization_id": organization_id}}, {"$project": {"name": 1}}],
        "as": "named",
    }
    return [
        {"$match": members},
        {"$unwind": "$tag_ids"},
        {"$group": {"_id": "$tag_ids"}},
        {"$project": {"tag": {"$convert": {"input": "$_id", "to": "objectId", "onError": None}}}},
        {"$lookup": named},
        {"$project": {"named.name": 1}},
    ]


def _sort_in(truth: HitTruth, row: Row) -> None:
    if "generation_id" in row:
        counts = ChunkCounts.of(row["chunk_count"], row.get("chunk_counts"))
        version = CurrentVersion(row["generation_id"], row["text_hash"], counts)
        truth.versions[row["document_id"]] = version
    elif "document_name" in row:
        truth.members[str(row["_id"])] = member_of(row)
    else:
        for tag in row["named"]:
            truth.tag_names[str(row["_id"])] = tag["name"]
