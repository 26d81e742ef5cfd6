"""Collections `users` and `members`: people, and their memberships in organizations."""

from datetime import datetime

from pymongo import IndexModel, ReturnDocument
from pymongo.errors import DuplicateKeyError

from analytiq.errors import ConflictError
from analytiq.models.account import Member, Role, User
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "users": [
        IndexModel([("email", 1)], unique=True),
        IndexModel(
            [("oidc_issuer", 1), ("oidc_subject", 1)],
            unique=True,
            partialFilterExpression={"oidc_subject": {"$type": "string"}},
        ),
    ],
    "members": [
        IndexModel([("organization_id", 1), ("user_id", 1)], unique=True),
        IndexModel([("user_id", 1)]),
    ],
}


class UserRepository:
    """People; they belong to no organization, so only `analytiq.tenancy.accounts` and operators read them."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["users"]

    async def insert(self, session: Session | None, user: User) -> None:
        """Store a new person.

        Raises:
            ConflictError: the address is taken (outside of a transaction; inside, the transaction is run again).
        """
        try:
            await self._collection.insert_one(encode(user), session=session)
        except DuplicateKeyError as error:
            if session is not None:
                raise
            raise ConflictError(f"The address {user.email} already has an account.", code="email_taken") from error

    async def get(self, user_id: str, session: Session | None = None) -> User | None:
        """Return the person with this id."""
        ids = object_ids([user_id])
        row: Row | None = await self._collection.find_one({"_id": ids[0]}, session=session) if ids else None
        return decode(User, row) if row else None

    async def with_email(self, email: str, session: Session | None = None) -> User | None:
        """Return the person who signs in with this address, lower-cased."""
        row: Row | None = await self._collection.find_one({"email": email}, session=session)
        return decode(User, row) if row else None

    async def with_subject(self, issuer: str, subject: str) -> User | None:
        """Return the person with this subject at an OIDC provider."""
        row: Row | None = await self._collection.find_one({"oidc_issuer": issuer, "oidc_subject": subject})
        return decode(User, row) if row else None

    async def with_ids(self, user_ids: list[str]) -> list[User]:
        """Return the people with these ids."""
        return [decode(User, row) async for row in self._collection.find({"_id": {"$in": object_ids(user_ids)}})]

    async def join(self, session: Session, user_id: str) -> bool:
        """Protect a joining person from deletion as a person without organizations; return False if gone."""
        result = await self._collection.update_one(
            {"_id": object_id(user_id)}, {"$inc": {"joined": 1}}, session=session
        )
        return result.matched_count == 1

    async def rename(self, user_id: str, name: str) -> User | None:
        """Rename the person; return None if the person is gone."""
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": object_id(user_id)}, {"$set": {"name": name}}, return_document=ReturnDocument.AFTER
        )
        return decode(User, row) if row else None

    async def set_password(self, session: Session, user_id: str, password_hash: str) -> None:
        """Replace the password's hash."""
        await self._collection.update_one(
            {"_id": object_id(user_id)}, {"$set": {"password_hash": password_hash}}, session=session
        )

    async def rehash(self, user_id: str, *, old: str, new: str) -> None:
        """Replace the password's hash by one of the present cost, unless the password has changed meanwhile."""
        await self._collection.update_one(
            {"_id": object_id(user_id), "password_hash": old}, {"$set": {"password_hash": new}}
        )

    async def bind_subject(self, user_id: str, issuer: str, subject: str) -> bool:
        """Let the OIDC provider's subject sign in as this person instead of a password, unless another subject does."""
        result = await self._collection.update_one(
            {"_id": object_id(user_id), "oidc_subject": None},
            {"$set": {"oidc_issuer": issuer, "oidc_subject": subject, "password_hash": None}},
        )
        return result.matched_count == 1

    async def note_sign_in(self, user_id: str, at: datetime) -> None:
        """Record the time of the sign-in."""
        await self._collection.update_one({"_id": object_id(user_id)}, {"$set": {"last_signed_in_at": at}})


class MemberRepository:
    """The members of organizations with their roles."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["members"]
        self._organizations = connection.database["organizations"]

    async def get(self, organization_id: str, user_id: str, session: Session | None = None) -> Member | None:
        """Return the person's membership of the organization."""
        row: Row | None = await self._collection.find_one(
            {"organization_id": organization_id, "user_id": user_id}, session=session
        )
        return decode(Member, row) if row else None

    async def of_organization(self, organization_id: str, *, skip: int, limit: int) -> tuple[list[Member], int]:
        """Return a page of members, oldest first, and the total count."""
        query: Row = {"organization_id": organization_id}
        cursor = self._collection.find(query).sort("_id", 1).skip(skip).limit(limit)
        return [decode(Member, row) async for row in cursor], await self._collection.count_documents(query)

    async def of_user(self, user_id: str) -> list[Member]:
        """Return the person's memberships, oldest first."""
        return [decode(Member, row) async for row in self._collection.find({"user_id": user_id}).sort("_id", 1)]

    async def put(self, session: Session, member: Member) -> None:
        """Add the person as a member, or change the role."""
        row = encode(member)
        await self._collection.update_one(
            {"organization_id": member.organization_id, "user_id": member.user_id},
            {"$set": {"role": member.role.value}, "$setOnInsert": {"_id": row["_id"], "created_at": member.created_at}},
            upsert=True,
            session=session,
        )

    async def remove(self, session: Session, organization_id: str, user_id: str) -> bool:
        """End the membership; return False if there was none."""
        result = await self._collection.delete_one(
            {"organization_id": organization_id, "user_id": user_id}, session=session
        )
        return result.deleted_count == 1

    async def has_owner(self, organization_id: str) -> bool:
        """Return whether the organization has an owner."""
        query: Row = {"organization_id": organization_id, "role": Role.OWNER.value}
        return await self._collection.find_one(query, {"_id": 1}) is not None

    async def owners(self, session: Session, organization_id: str) -> list[str]:
        """Return the owners' ids, in a transaction that conflicts with other callers."""
        await self._organizations.update_one(
            {"_id": object_id(organization_id)}, {"$inc": {"members_revision": 1}}, session=session
        )
        query: Row = {"organization_id": organization_id, "role": Role.OWNER.value}
        return [row["user_id"] async for row in self._collection.find(query, session=session)]
