"""Collection `llm_providers`."""

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from analytiq.models.provider import LlmProvider
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode, encode

INDEXES = {
    "llm_providers": [IndexModel([("organization_id", 1), ("litellm_provider", 1)], unique=True)],
}


class ProviderRepository:
    """Providers of models, with encrypted keys; platform defaults have no organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["llm_providers"]

    async def find(self, organization_id: str, litellm_provider: str) -> LlmProvider | None:
        """Return the organization's own provider, else the platform's."""
        cursor = self._collection.find(
            {"litellm_provider": litellm_provider, "organization_id": {"$in": [organization_id, None]}}
        )
        found = [decode(LlmProvider, row) async for row in cursor]
        found.sort(key=lambda provider: provider.organization_id is None)
        return found[0] if found else None

    async def usable_by(self, organization_id: str) -> list[LlmProvider]:
        """Return every provider that the organization can use, by name; its own ones hide the platform's."""
        cursor = self._collection.find({"organization_id": {"$in": [organization_id, None]}})
        found = [decode(LlmProvider, row) async for row in cursor]
        platforms = {provider.litellm_provider: provider for provider in found if provider.organization_id is None}
        own = {provider.litellm_provider: provider for provider in found if provider.organization_id is not None}
        return [provider for _, provider in sorted({**platforms, **own}.items())]

    async def put(self, provider: LlmProvider) -> None:
        """Store the provider, replacing any existing one."""
        row: Row = encode(provider)
        key = _taken_key(row)
        first = {"_id": row.pop("_id"), "created_at": row.pop("created_at")}
        try:
            await self._collection.update_one(key, {"$set": row, "$setOnInsert": first}, upsert=True)
        except DuplicateKeyError:
            # Another process created it at the same moment: the later one counts.
            await self._collection.update_one(key, {"$set": row})

    async def put_if_absent(self, provider: LlmProvider) -> bool:
        """Store the provider unless it exists; return True if it was stored."""
        row: Row = encode(provider)
        result = await self._collection.update_one(_taken_key(row), {"$setOnInsert": row}, upsert=True)
        return result.upserted_id is not None

    async def of_platform(self) -> list[LlmProvider]:
        """Return the platform's providers, by name."""
        cursor = self._collection.find({"organization_id": None}).sort("litellm_provider", 1)
        return [decode(LlmProvider, row) async for row in cursor]

    async def delete(self, organization_id: str | None, litellm_provider: str) -> bool:
        """Delete the organization's own provider, or the platform's; return False if there was none."""
        result = await self._collection.delete_one(
            {"organization_id": organization_id, "litellm_provider": litellm_provider}
        )
        return result.deleted_count == 1

    async def page_of_all(self, after: str | None, limit: int) -> list[LlmProvider]:
        """Return the next providers behind this id, of all organizations and of the platform."""
        query: Row = {} if after is None else {"_id": {"$gt": object_id(after)}}
        return [decode(LlmProvider, row) async for row in self._collection.find(query).sort("_id", 1).limit(limit)]

    async def replace_token(self, provider: LlmProvider, token: str) -> None:
        """Replace the re-encrypted key; do nothing if another key has been stored meanwhile."""
        await self._collection.update_one(
            {"_id": object_id(provider.id), "token": provider.token}, {"$set": {"token": token}}
        )


def _taken_key(row: Row) -> Row:
    return {"organization_id": row.pop("organization_id"), "litellm_provider": row.pop("litellm_provider")}
