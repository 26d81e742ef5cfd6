"""A survey of the stored files of all organizations, for the reconciler."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from bson import ObjectId

from analytiq.storage.client import MongoConnection, Row
from analytiq.storage.ids import object_id, object_ids


@dataclass(frozen=True, slots=True)
class FileOwner:
    """The owner of a finished file; the ids are empty if its row does not contain them."""

    file_id: str
    organization_id: str
    document_id: str


class WholeFile(NamedTuple):
    """The owner of a complete file, and the number of its chunks."""

    document_id: str
    chunk_count: int


class FileSurvey:
    """Reads of `fs.files` and `fs.chunks` in order of file id, without bytes."""

    def __init__(self, connection: MongoConnection) -> None:
        self._files = connection.database["fs.files"]
        self._chunks = connection.database["fs.chunks"]

    async def finished_after(self, *, after: str, limit: int) -> list[FileOwner]:
        """Return the next files behind a file id."""
        query: Row = {"_id": {"$gt": object_id(after)}} if after else {}
        cursor = self._files.find(query, {"metadata": 1}).sort("_id", 1).limit(limit)
        return [_owner(row) async for row in cursor]

    async def written_after(self, *, after: str, limit: int) -> list[str]:
        """Return the files, finished or not, of the next `limit` chunks behind a file id; a covered query."""
        query: Row = {"files_id": {"$gt": object_id(after)}} if after else {}
        cursor = self._chunks.find(query, {"_id": 0, "files_id": 1}).sort([("files_id", 1), ("n", 1)]).limit(limit)
        return list(dict.fromkeys([str(row["files_id"]) async for row in cursor]))

    async def finished_among(self, file_ids: Collection[str]) -> set[str]:
        """Return the finished files among these."""
        cursor = self._files.find({"_id": {"$in": object_ids(set(file_ids))}}, {"_id": 1})
        return {str(row["_id"]) async for row in cursor}

    async def whole_among(self, file_ids: Collection[str]) -> dict[str, WholeFile]:
        """Return the finished files among these that have as many chunks as their length requires, by id."""
        ids = object_ids(set(file_ids))
        fields = {"length": 1, "chunkSize": 1, "metadata.document_id": 1}
        reading = self._files.find({"_id": {"$in": ids}}, fields, batch_size=len(ids) + 1).to_list()
        rows, there = await asyncio.gather(reading, self._chunk_counts(ids))
        whole: dict[str, WholeFile] = {}
        for row in rows:
            wanted = -(-row["length"] // row["chunkSize"])
            if there.get(row["_id"], 0) == wanted:
                metadata: Row = row.get("metadata") or {}
                whole[str(row["_id"])] = WholeFile(str(metadata.get("document_id", "")), wanted)
        return whole

    async def _chunk_counts(self, ids: Collection[ObjectId]) -> dict[ObjectId, int]:
        counting = await self._chunks.aggregate(
            [{"$match": {"files_id": {"$in": list(ids)}}}, {"$group": {"_id": "$files_id", "count": {"$sum": 1}}}],
            batchSize=len(ids) + 1,
        )
        return {row["_id"]: row["count"] for row in await counting.to_list()}

    async def count(self) -> tuple[int, int]:
        """Count finished files and chunks by their indexes, of all organizations."""
        files = await self._files.count_documents({}, hint="_id_")
        return files, await self._chunks.count_documents({}, hint="_id_")


def _owner(row: Row) -> FileOwner:
    metadata: Row = row.get("metadata") or {}
    return FileOwner(str(row["_id"]), str(metadata.get("organization_id", "")), str(metadata.get("document_id", "")))
