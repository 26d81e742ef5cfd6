"""Counts of an organization's resources, for its quotas."""

from datetime import datetime

from analytiq.models.knowledge_base import KnowledgeBaseStatus
from analytiq.models.organization import Countable
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row

_COLLECTIONS = {
    Countable.KNOWLEDGE_BASES: "knowledge_bases",
    Countable.TAGS: "tags",
    Countable.PROMPTS: "prompts",
    Countable.SOURCES: "sources",
    Countable.ACCESS_TOKENS: "access_tokens",
    Countable.INVITATIONS: "invitations",
}


class OrganizationCountRepository:
    """Counts rows up to the requested number."""

    def __init__(self, connection: MongoConnection) -> None:
        self._database = connection.database

    async def up_to(self, organization_id: str, what: Countable, most: int, now: datetime) -> int:
        """Return the number of rows, at most `most`, without revoked, used, expired and deleted ones."""
        still_open: Row = {}
        if what is Countable.ACCESS_TOKENS:
            still_open = {"revoked_at": None, "$or": [{"expires_at": None}, {"expires_at": {"$gt": now}}]}
        elif what is Countable.INVITATIONS:
            still_open = {"accepted_at": None, "expires_at": {"$gt": now}}
        elif what is Countable.KNOWLEDGE_BASES:
            still_open = {"status": {"$ne": KnowledgeBaseStatus.DELETING.value}}
        collection = self._database[_COLLECTIONS[what]]
        return await collection.count_documents({"organization_id": organization_id, **still_open}, limit=most)
