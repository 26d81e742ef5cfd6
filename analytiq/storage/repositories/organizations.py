"""Collections `organizations` and `access_tokens`."""

from collections.abc import Collection, Mapping

from pymongo import IndexModel, ReturnDocument

from analytiq import clock
from analytiq.models.maker import Maker
from analytiq.models.metadata_field import FieldType
from analytiq.models.organization import AccessToken, Organization
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "organizations": [IndexModel([("name", 1)])],
    "access_tokens": [
        IndexModel([("token_hash", 1)], unique=True),
        IndexModel([("organization_id", 1), ("created_at", -1)]),
    ],
}


class OrganizationRepository:
    """Organizations: the tenants."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["organizations"]

    async def insert(self, organization: Organization) -> None:
        """Store a new organization."""
        await self._collection.insert_one(encode(organization))

    async def get(self, organization_id: str, *, session: Session | None = None) -> Organization | None:
        """Return the organization with this id."""
        ids = object_ids([organization_id])
        row: Row | None = await self._collection.find_one({"_id": ids[0]}, session=session) if ids else None
        return decode(Organization, row) if row else None

    async def change(
        self, organization_id: str, changes: Row, *, session: Session | None = None
    ) -> Organization | None:
        """Change some of its fields; return the new row, None if it does not exist."""
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": object_id(organization_id, what="organization")},
            {"$set": changes},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return decode(Organization, row) if row else None

    async def declare_metadata_fields(
        self, organization_id: str, types: Mapping[str, FieldType], *, after: int
    ) -> bool:
        """Replace the declaration, unless its revision is no longer `after`."""
        # A missing revision is 0, as the model reads it: rows may be older than the field.
        revision: Row = {"metadata_fields_revision": after or {"$in": [0, None]}}
        result = await self._collection.update_one(
            {"_id": object_id(organization_id, what="organization"), **revision},
            {
                "$set": {
                    "metadata_fields": {name: kind.value for name, kind in types.items()},
                    "metadata_fields_revision": after + 1,
                }
            },
        )
        return result.matched_count == 1

    async def first(self) -> Organization | None:
        """Return the oldest organization, created by the first start."""
        row: Row | None = await self._collection.find_one({}, sort=[("_id", 1)])
        return decode(Organization, row) if row else None

    async def all(self) -> list[Organization]:
        """Return every organization, oldest first; there are few, and only operators ask."""
        return [decode(Organization, row) async for row in self._collection.find({}).sort("_id", 1)]

    async def existing(self, organization_ids: Collection[str]) -> set[str]:
        """Return the ids of existing organizations, without those being restored or erased."""
        query: Row = {"_id": {"$in": object_ids(set(organization_ids))}}
        return {str(row["_id"]) async for row in self._collection.find(query, {"_id": 1})}


class AccessTokenRepository:
    """Bearer tokens, by hash."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["access_tokens"]

    async def insert(self, token: AccessToken) -> None:
        """Store a new token."""
        await self._collection.insert_one(encode(token))

    async def opened(self, token_hash: str) -> tuple[AccessToken, Organization | None] | None:
        """Return the token with this hash, revoked and expired ones included, and its organization.

        One command for both rows: every call of the API begins with it.
        """
        async for row in await self._collection.aggregate(self.stages_of(token_hash)):
            return self.decoded(row)
        return None

    @staticmethod
    def stages_of(token_hash: str) -> list[Row]:
        """Return the stages that read the token with this hash, with its organization in `organization`."""
        return [
            {"$match": {"token_hash": token_hash}},
            {"$set": {"organization": {"$toObjectId": "$organization_id"}}},
            {
                "$lookup": {
                    "from": "organizations",
                    "localField": "organization",
                    "foreignField": "_id",
                    "as": "organization",
                }
            },
        ]

    @staticmethod
    def decoded(row: Row) -> tuple[AccessToken, Organization | None]:
        """Return the row that `stages_of` reads."""
        organizations: list[Row] = row.pop("organization")
        return decode(AccessToken, row), decode(Organization, organizations[0]) if organizations else None

    async def get(self, organization_id: str, token_id: str, session: Session | None = None) -> AccessToken | None:
        """Return the organization's token with this id."""
        ids = object_ids([token_id])
        query: Row = {"_id": {"$in": ids}, "organization_id": organization_id}
        row: Row | None = await self._collection.find_one(query, session=session)
        return decode(AccessToken, row) if row else None

    async def of_organization(self, organization_id: str, *, skip: int, limit: int) -> list[AccessToken]:
        """Return a page of an organization's tokens, newest first."""
        cursor = self._collection.find({"organization_id": organization_id})
        return [decode(AccessToken, row) async for row in cursor.sort("created_at", -1).skip(skip).limit(limit)]

    async def count(self, organization_id: str) -> int:
        """Count the organization's tokens, revoked ones included."""
        return await self._collection.count_documents({"organization_id": organization_id})

    async def revoke(self, organization_id: str, token_id: str) -> bool:
        """Revoke a token for good; return False if the organization has no such token."""
        result = await self._collection.update_one(
            {"_id": object_id(token_id, what="access token"), "organization_id": organization_id},
            [{"$set": {"revoked_at": {"$ifNull": ["$revoked_at", "$$NOW"]}}}],
        )
        return result.matched_count == 1

    async def hand_over(self, organization_id: str, token_id: str, maker: Maker) -> AccessToken | None:
        """Change the token's maker; return None if the organization has no such active token."""
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": {"$in": object_ids([token_id])}, "organization_id": organization_id, "revoked_at": None},
            {"$set": {"made_by": maker.model_dump()}},
            return_document=ReturnDocument.AFTER,
        )
        return decode(AccessToken, row) if row else None

    async def note_use(self, token_id: str) -> None:
        """Record that the token was just used."""
        await self._collection.update_one({"_id": object_id(token_id)}, {"$set": {"last_used_at": clock.now()}})
