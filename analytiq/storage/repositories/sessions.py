"""Collections `user_sessions`, `invitations` and `one_time_links`: people's secrets, by hash."""

from datetime import datetime

from pymongo import IndexModel, ReturnDocument

from analytiq.models.account import Invitation, LinkPurpose, OneTimeLink, UserSession
from analytiq.models.maker import Maker
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "user_sessions": [
        IndexModel([("secret_hash", 1)], unique=True),
        IndexModel([("user_id", 1)]),
        IndexModel([("expires_at", 1)], expireAfterSeconds=0),
    ],
    "invitations": [
        IndexModel([("secret_hash", 1)], unique=True),
        IndexModel([("organization_id", 1), ("_id", -1)]),
        # A day later, so that an invitation that has just expired is reported as expired.
        IndexModel([("expires_at", 1)], expireAfterSeconds=86_400),
    ],
    "one_time_links": [
        IndexModel([("secret_hash", 1)], unique=True),
        IndexModel([("user_id", 1)]),
        IndexModel([("expires_at", 1)], expireAfterSeconds=0),
    ],
}

MOST_FOR_ADDRESS = 100


class SessionRepository:
    """Sessions of browsers. Read at majority: an ended session never works again."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["user_sessions"]
        self._majority = connection.majority["user_sessions"]

    async def insert(self, session: UserSession) -> None:
        """Store a new session."""
        await self._collection.insert_one(encode(session))

    async def with_hash(self, secret_hash: str) -> UserSession | None:
        """Return the session with this secret, expired ones included."""
        row: Row | None = await self._majority.find_one({"secret_hash": secret_hash})
        return decode(UserSession, row) if row else None

    async def open_of(self, user_id: str, now: datetime, *, skip: int, limit: int) -> tuple[list[UserSession], int]:
        """Return a page of the person's unexpired sessions, the last used first, and the total count."""
        query: Row = {"user_id": user_id, "expires_at": {"$gt": now}}
        cursor = self._majority.find(query).sort([("last_seen_at", -1), ("_id", -1)]).skip(skip).limit(limit)
        return [decode(UserSession, row) async for row in cursor], await self._majority.count_documents(query)

    async def note_use(self, session_id: str, at: datetime, expires_at: datetime) -> None:
        """Record the use, and the new expiry of the session."""
        await self._collection.update_one(
            {"_id": object_id(session_id)}, {"$set": {"last_seen_at": at, "expires_at": expires_at}}
        )

    async def end(self, session_id: str) -> None:
        """Sign a browser out."""
        await self._collection.delete_one({"_id": object_id(session_id)})

    async def end_own(self, user_id: str, session_id: str) -> bool:
        """Sign one of the person's browsers out; return False if the person has no such session."""
        query: Row = {"_id": {"$in": object_ids([session_id])}, "user_id": user_id}
        return (await self._collection.delete_one(query)).deleted_count == 1

    async def end_all(self, user_id: str, *, but: str | None = None, session: Session | None = None) -> int:
        """Sign the person out of all sessions, or all but one; return the number of sessions ended."""
        query: Row = {"user_id": user_id} | ({"_id": {"$ne": object_id(but)}} if but else {})
        return (await self._collection.delete_many(query, session=session)).deleted_count


class InvitationRepository:
    """Invitations of an organization, and by the hash of their secret."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["invitations"]

    async def insert(self, invitation: Invitation) -> None:
        """Store a new invitation."""
        await self._collection.insert_one(encode(invitation))

    async def with_hash(self, secret_hash: str, session: Session | None = None) -> Invitation | None:
        """Return the invitation with this secret, used and expired ones included."""
        row: Row | None = await self._collection.find_one({"secret_hash": secret_hash}, session=session)
        return decode(Invitation, row) if row else None

    async def get(self, organization_id: str, invitation_id: str) -> Invitation | None:
        """Return the organization's invitation with this id."""
        query: Row = {"_id": {"$in": object_ids([invitation_id])}, "organization_id": organization_id}
        row: Row | None = await self._collection.find_one(query)
        return decode(Invitation, row) if row else None

    async def open_for(self, email: str, now: datetime) -> list[Invitation]:
        """Return the open invitations of an address, oldest first, at most MOST_FOR_ADDRESS."""
        query: Row = {"email": email, "accepted_at": None, "expires_at": {"$gt": now}}
        cursor = self._collection.find(query).sort("_id", 1).limit(MOST_FOR_ADDRESS)
        return [decode(Invitation, row) async for row in cursor]

    async def accept(self, session: Session, invitation_id: str, at: datetime) -> bool:
        """Mark the invitation as accepted; return False if it was accepted before."""
        result = await self._collection.update_one(
            {"_id": object_id(invitation_id), "accepted_at": None}, {"$set": {"accepted_at": at}}, session=session
        )
        return result.modified_count == 1

    async def open_of(
        self, organization_id: str, now: datetime, *, skip: int, limit: int
    ) -> tuple[list[Invitation], int]:
        """Return a page of open invitations, latest first, and the total count."""
        query: Row = {"organization_id": organization_id, "accepted_at": None, "expires_at": {"$gt": now}}
        cursor = self._collection.find(query).sort("_id", -1).skip(skip).limit(limit)
        return [decode(Invitation, row) async for row in cursor], await self._collection.count_documents(query)

    async def hand_over(self, organization_id: str, invitation_id: str, maker: Maker) -> Invitation | None:
        """Change an open invitation's maker; return None if the organization has no such invitation."""
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": {"$in": object_ids([invitation_id])}, "organization_id": organization_id, "accepted_at": None},
            {"$set": {"made_by": maker.model_dump()}},
            return_document=ReturnDocument.AFTER,
        )
        return decode(Invitation, row) if row else None

    async def delete(self, organization_id: str, invitation_id: str) -> bool:
        """Withdraw an invitation; return False if the organization has no such open invitation."""
        ids = object_ids([invitation_id])
        query: Row = {"_id": {"$in": ids}, "organization_id": organization_id, "accepted_at": None}
        return (await self._collection.delete_one(query)).deleted_count == 1


class OneTimeLinkRepository:
    """Secrets for one use."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["one_time_links"]

    async def insert(self, link: OneTimeLink) -> None:
        """Store a new link."""
        await self._collection.insert_one(encode(link))

    async def take(
        self, purpose: LinkPurpose, secret_hash: str, now: datetime, session: Session | None = None
    ) -> OneTimeLink | None:
        """Use the secret up; return None if it is unknown, used or expired."""
        row: Row | None = await self._collection.find_one_and_delete(
            {"secret_hash": secret_hash, "purpose": purpose.value, "expires_at": {"$gt": now}}, session=session
        )
        return decode(OneTimeLink, row) if row else None

    async def is_open(self, purpose: LinkPurpose, secret_hash: str, now: datetime) -> bool:
        """Return whether the secret is still usable."""
        query: Row = {"secret_hash": secret_hash, "purpose": purpose.value, "expires_at": {"$gt": now}}
        return await self._collection.find_one(query, {"_id": 1}) is not None

    async def forget_of(self, user_id: str, purpose: LinkPurpose, session: Session | None = None) -> None:
        """Revoke the person's links of this purpose."""
        await self._collection.delete_many({"user_id": user_id, "purpose": purpose.value}, session=session)
