"""Collection `picture_readings`: what vision models have said about the pictures of documents.

A row belongs to one file of one document, and is deleted with it: it holds words of the document.
"""

from collections.abc import Collection
from dataclasses import dataclass

from pymongo import IndexModel, UpdateOne
from pymongo.errors import BulkWriteError

from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row

DUPLICATE_KEY = 11000

INDEXES = {
    "picture_readings": [
        IndexModel([("organization_id", 1), ("key", 1)]),
        IndexModel([("organization_id", 1), ("document_id", 1), ("file_id", 1), ("key", 1)], unique=True),
    ]
}


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The file of a document whose pictures are read."""

    document_id: str
    file_id: str


class PictureReadingRepository:
    """Readings of pictures by key; see `analytiq.ingestion.extraction.picture_reader`."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["picture_readings"]

    async def find(self, organization_id: str, file: ReadFile, keys: Collection[str]) -> dict[str, str]:
        """Return the organization's readings by key; those from other files become this file's too."""
        query = {"organization_id": organization_id, "key": {"$in": list(keys)}}
        found: dict[str, str] = {}
        own: set[str] = set()
        async for row in self._collection.find(query):
            found[row["key"]] = str(row["text"])
            if (row["document_id"], row["file_id"]) == (file.document_id, file.file_id):
                own.add(row["key"])
        await self.keep(organization_id, file, {key: text for key, text in found.items() if key not in own})
        return found

    async def keep(self, organization_id: str, file: ReadFile, readings: dict[str, str]) -> None:
        """Store readings by key; the first reading of a picture stays."""
        if readings:
            ids = {
                "organization_id": organization_id,
                "document_id": file.document_id,
                "file_id": file.file_id,
            }
            writes = [
                UpdateOne({**ids, "key": key}, {"$setOnInsert": {"text": text}}, upsert=True)
                for key, text in readings.items()
            ]
            try:
                await self._collection.bulk_write(writes, ordered=False)
            except BulkWriteError as error:
                failures: list[Row] = (error.details or {}).get("writeErrors", [])
                if any(failure.get("code") != DUPLICATE_KEY for failure in failures):
                    raise  # else another worker has stored the same reading at the same moment

    async def delete_of_other_files(self, organization_id: str, file: ReadFile) -> None:
        """Delete the readings of the document's former files."""
        await self._collection.delete_many(
            {
                "organization_id": organization_id,
                "document_id": file.document_id,
                "file_id": {"$ne": file.file_id},
            }
        )

    async def delete_of_document(self, organization_id: str, document_id: str) -> None:
        """Delete all readings of a document."""
        await self._collection.delete_many({"organization_id": organization_id, "document_id": document_id})
