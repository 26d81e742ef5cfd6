"""The inputs of a forecast: lengths of documents, a sample of texts, and known dimensions."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from analytiq.models.document import DocumentState
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row
from analytiq.storage.repositories.vectors import from_bindata

MOST_NAMED = 20
"""Most documents without text that are returned; all are counted."""

_HAS_TEXT: Row = {"text_id": {"$ne": None}, "character_count": {"$gt": 0}}


@dataclass(frozen=True, slots=True)
class UnknownDocument:
    """A document without a known text: not extracted yet, or unreadable."""

    document_id: str
    document_name: str
    state: DocumentState


@dataclass(frozen=True, slots=True)
class TextTotals:
    """The number and length of extracted texts; the number of documents without text, and the first of these by id."""

    documents: int
    characters: int
    unknown: int = 0
    named: tuple[UnknownDocument, ...] = ()


@dataclass(frozen=True, slots=True)
class SampledText:
    """The location of a document's text, with the document's name and metadata."""

    text_id: str
    characters: int
    document_name: str
    metadata: Mapping[str, JsonValue]


class ForecastRepository:
    """Read-only queries for forecasts."""

    def __init__(self, connection: MongoConnection) -> None:
        self._documents = connection.database["docs"]
        self._knowledge_bases = connection.database["knowledge_bases"]
        self._cache = connection.database["embedding_cache"]

    async def totals(self, organization_id: str, tag_ids: Collection[str]) -> TextTotals:
        """Return the totals of the organization's documents that have one of the tags."""
        tagged = _tagged(organization_id, tag_ids)
        sums: Row = {"_id": None, "documents": {"$sum": 1}, "characters": {"$sum": "$character_count"}}
        cursor = await self._documents.aggregate([{"$match": {**tagged, **_HAS_TEXT}}, {"$group": sums}])
        rows: list[Row] = [row async for row in cursor]
        unread: Row = {**tagged, "text_id": None}
        unknown = await self._documents.count_documents(unread)
        shown = self._documents.find(unread, {"document_name": 1, "state": 1}).sort("_id", 1).limit(MOST_NAMED)
        named = [
            UnknownDocument(str(row["_id"]), row["document_name"], DocumentState(row["state"])) async for row in shown
        ]
        documents, characters = (rows[0]["documents"], rows[0]["characters"]) if rows else (0, 0)
        return TextTotals(documents, characters, unknown, tuple(named))

    async def sample(self, organization_id: str, tag_ids: Collection[str], *, size: int) -> list[SampledText]:
        """Return a random sample of the documents with text; all of them if there are fewer."""
        with_text: Row = {**_tagged(organization_id, tag_ids), **_HAS_TEXT}
        shown: Row = {"text_id": 1, "character_count": 1, "document_name": 1, "metadata": 1}
        cursor = await self._documents.aggregate(
            [{"$match": with_text}, {"$project": shown}, {"$sample": {"size": size}}]
        )
        return [
            SampledText(row["text_id"], row["character_count"], row["document_name"], row.get("metadata", {}))
            async for row in cursor
        ]

    async def dimensions(self, organization_id: str, model: str) -> int | None:
        """Return the dimensions of the organization's stored vectors of the model; None without any."""
        of_model: Row = {"organization_id": organization_id, "embedding_model": model}
        row: Row | None = await self._knowledge_bases.find_one(of_model, {"embedding_dimensions": 1})
        if row is not None:
            return int(row["embedding_dimensions"])
        paid: Row = {"payer_organization_id": organization_id, "embedding_model": model}
        row = await self._cache.find_one(paid, {"embedding": 1})
        return None if row is None else int(from_bindata(row["embedding"]).shape[0])


def _tagged(organization_id: str, tag_ids: Collection[str]) -> Row:
    return {"organization_id": organization_id, "tag_ids": {"$in": list(tag_ids)}}
