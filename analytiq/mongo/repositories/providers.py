"""Collection `llm_providers`."""

from pymongo import IndexModel

from analytiq.models.provider import LlmProvider
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.repositories.rows import Row, decode, encode

INDEXES = {
    "llm_providers": [IndexModel([("organization_id", 1), ("litellm_provider", 1)], unique=True)],
}


class ProviderRepository:
    """Providers of models, with encrypted keys; platform defaults have no organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["llm_providers"]

    async def find(self, organization_id: str, litellm_provider: str) -> LlmProvider | None:
        """The organization's own provider, else the platform's."""
        cursor = self._collection.find(
            {"litellm_provider": litellm_provider, "organization_id": {"$in": [organization_id, None]}}
        )
        found = [decode(LlmProvider, row) async for row in cursor]
        found.sort(key=lambda provider: provider.organization_id is None)
        return found[0] if found else None

    async def put_if_absent(self, provider: LlmProvider) -> bool:
        """Store the provider unless there is one already; True where it was stored."""
        row: Row = encode(provider)
        key = {"organization_id": row.pop("organization_id"), "litellm_provider": row.pop("litellm_provider")}
        result = await self._collection.update_one(key, {"$setOnInsert": row}, upsert=True)
        return result.upserted_id is not None
