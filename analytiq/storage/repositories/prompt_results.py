"""Collection `prompt_results`: current answers, one row a version and document."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from pymongo import IndexModel, ReturnDocument

from analytiq import clock
from analytiq.models.prompt_run import PromptResult
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "prompt_results": [
        IndexModel([("prompt_id", 1), ("version", 1), ("document_id", 1)], unique=True),
        IndexModel([("organization_id", 1), ("prompt_id", 1), ("version", 1), ("_id", 1)]),
        IndexModel([("organization_id", 1), ("document_id", 1)]),
    ],
}


@dataclass(frozen=True, slots=True)
class ResultQuery:
    """The filters of a list of results; None does not filter."""

    version: int | None = None
    document_id: str | None = None
    is_verified: bool | None = None


class PromptResultRepository:
    """Results of an organization's prompts."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["prompt_results"]

    async def get(
        self,
        organization_id: str,
        prompt_id: str,
        version: int,
        document_id: str,
        *,
        session: Session | None = None,
    ) -> PromptResult | None:
        """Return the result of a version for a document."""
        row: Row | None = await self._collection.find_one(
            {**_key(prompt_id, version, document_id), "organization_id": organization_id}, session=session
        )
        return decode(PromptResult, row) if row else None

    async def put(self, session: Session, result: PromptResult) -> None:
        """Store a result, replacing any existing one."""
        row = encode(result)
        row.pop("_id")
        await self._collection.update_one(
            _key(result.prompt_id, result.version, result.document_id),
            {
                "$set": {name: value for name, value in row.items() if name not in ("prompt_id", "version")},
                "$setOnInsert": {"_id": object_id(result.id)},
            },
            upsert=True,
            session=session,
        )

    async def change(
        self, result: PromptResult, changes: Mapping[str, Any], *, session: Session | None = None
    ) -> PromptResult | None:
        """Set fields; return None if another run has replaced the result, or it is gone."""
        row: Row | None = await self._collection.find_one_and_update(
            {
                "_id": object_id(result.id),
                "organization_id": result.organization_id,
                "run_id": result.run_id,
            },
            {"$set": {**changes, "updated_at": clock.now()}},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return decode(PromptResult, row) if row else None

    async def page(
        self, organization_id: str, prompt_id: str, query: ResultQuery, *, skip: int, limit: int
    ) -> tuple[list[PromptResult], int]:
        """Return a page of results, oldest first, and the total count of matches."""
        wanted = _matching(organization_id, prompt_id, query)
        cursor = self._collection.find(wanted).sort("_id", 1).skip(skip).limit(limit)
        return [decode(PromptResult, row) async for row in cursor], await self._collection.count_documents(wanted)

    async def all(self, organization_id: str, prompt_id: str, query: ResultQuery) -> AsyncIterator[PromptResult]:
        """Yield every matching result, oldest first."""
        cursor = self._collection.find(_matching(organization_id, prompt_id, query)).sort("_id", 1)
        async for row in cursor:
            yield decode(PromptResult, row)

    async def delete_of_document(self, organization_id: str, document_id: str) -> None:
        """Remove the results of a deleted document."""
        await self._collection.delete_many({"organization_id": organization_id, "document_id": document_id})

    async def delete_of_prompt(self, organization_id: str, prompt_id: str) -> None:
        """Remove the results of a deleted prompt."""
        await self._collection.delete_many({"organization_id": organization_id, "prompt_id": prompt_id})


def _key(prompt_id: str, version: int, document_id: str) -> Row:
    return {"prompt_id": prompt_id, "version": version, "document_id": document_id}


def _matching(organization_id: str, prompt_id: str, query: ResultQuery) -> Row:
    wanted: Row = {"organization_id": organization_id, "prompt_id": prompt_id}
    for name, value in (
        ("version", query.version), ("document_id", query.document_id), ("is_verified", query.is_verified),
    ):  # fmt: skip
        if value is not None:
            wanted[name] = value
    return wanted
