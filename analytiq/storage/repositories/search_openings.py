"""The first read of a search over HTTP, one command: the caller's token, the organization, knowledge bases."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.organization import AccessToken, Organization
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_ids
from analytiq.storage.repositories.knowledge_bases import shown_among
from analytiq.storage.repositories.organizations import AccessTokenRepository
from analytiq.storage.repositories.rows import Row, decode

KnowledgeBasesAtVersions = Mapping[str, tuple[KnowledgeBase, Epoch]]
"""Id → knowledge base and its index version."""


@dataclass(frozen=True, slots=True)
class SearchOpening:
    """A token with its organization, if there is such a token, and the existing ones of the knowledge bases."""

    token: AccessToken | None
    organization: Organization | None
    knowledge_bases: KnowledgeBasesAtVersions


class SearchOpeningRepository:
    """Reads of `access_tokens`, `organizations`, `knowledge_bases` and `kb_epochs` together, at majority."""

    def __init__(self, connection: MongoConnection) -> None:
        self._tokens = connection.majority["access_tokens"]

    async def read(self, token_hash: str, organization_id: str, kb_ids: Collection[str]) -> SearchOpening:
        """Return the token with this hash, revoked and expired ones included, and the organization's knowledge bases.

        Each command costs the process about 0.5 ms. A version is read after its knowledge base, as
        `KnowledgeBaseRepository.at_versions` does.
        """
        epochs: Row = {"_id": {"$in": object_ids(set(kb_ids))}}
        stages: list[Row] = [
            *AccessTokenRepository.stages_of(token_hash),
            {
                "$unionWith": {
                    "coll": "knowledge_bases",
                    "pipeline": [{"$match": shown_among(organization_id, kb_ids)}, {"$set": {"is_kb": True}}],
                }
            },
            {"$unionWith": {"coll": "kb_epochs", "pipeline": [{"$match": epochs}]}},
        ]
        token: AccessToken | None = None
        organization: Organization | None = None
        bases: list[KnowledgeBase] = []
        versions: dict[str, Epoch] = {}
        cursor = await self._tokens.aggregate(stages)
        for row in await cursor.to_list():
            if "token_hash" in row:
                token, organization = AccessTokenRepository.decoded(row)
            elif row.pop("is_kb", False):
                bases.append(decode(KnowledgeBase, row))
            else:
                kb_id = str(row["_id"])
                versions[kb_id] = Epoch(kb_id=kb_id, epoch=row["epoch"], commit_id=row["commit_id"])
        found = {base.id: (base, versions[base.id]) for base in bases if base.id in versions}
        return SearchOpening(token, organization, found)
