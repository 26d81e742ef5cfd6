"""Collection `tags`."""

import re
from collections.abc import Collection, Sequence

from pymongo import IndexModel, ReturnDocument
from pymongo.errors import DuplicateKeyError

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.tag import Tag
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "tags": [
        IndexModel([("organization_id", 1), ("name", 1)], unique=True),
    ],
}


class TagRepository:
    """Labels of an organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["tags"]

    async def insert(self, tag: Tag) -> None:
        """Store a new tag.

        Raises:
            ConflictError: the organization has a tag of that name.
        """
        try:
            await self._collection.insert_one(encode(tag))
        except DuplicateKeyError as error:
            raise _name_taken(tag.name) from error

    async def get(self, organization_id: str, tag_id: str) -> Tag | None:
        """Return the organization's tag with this id."""
        ids = object_ids([tag_id])
        if not ids:
            return None
        row: Row | None = await self._collection.find_one({"_id": ids[0], "organization_id": organization_id})
        return decode(Tag, row) if row else None

    async def with_ids(self, organization_id: str, tag_ids: Sequence[str]) -> list[Tag]:
        """Return the tags that exist in the organization."""
        query = {"_id": {"$in": object_ids(list(tag_ids))}, "organization_id": organization_id}
        return [decode(Tag, row) async for row in self._collection.find(query)]

    async def ids_of_names(self, organization_id: str, names: Collection[str]) -> dict[str, str]:
        """Return the tag ids by name, of the names in use."""
        query = {"organization_id": organization_id, "name": {"$in": list(names)}}
        return {str(row["name"]): str(row["_id"]) async for row in self._collection.find(query, {"name": 1})}

    async def page(
        self, organization_id: str, *, skip: int, limit: int, name_search: str | None, descending: bool
    ) -> tuple[list[Tag], int]:
        """Return a page of tags by name, and the total count."""
        query: Row = {"organization_id": organization_id}
        if name_search:
            query["name"] = {"$regex": re.escape(name_search), "$options": "i"}
        order = [("name", -1 if descending else 1)]
        cursor = self._collection.find(query).sort(order).skip(skip).limit(limit)
        tags = [decode(Tag, row) async for row in cursor]
        return tags, await self._collection.count_documents(query)

    async def update(self, organization_id: str, tag_id: str, changes: Row) -> Tag | None:
        """Change some of name, color and description; return None if the tag does not exist.

        Raises:
            ConflictError: the organization has another tag of that name.
        """
        try:
            row: Row | None = await self._collection.find_one_and_update(
                {"_id": object_id(tag_id, what="tag"), "organization_id": organization_id},
                {"$set": {**changes, "updated_at": clock.now()}},
                return_document=ReturnDocument.AFTER,
            )
        except DuplicateKeyError as error:
            raise _name_taken(str(changes.get("name"))) from error
        return decode(Tag, row) if row else None

    async def hold(self, session: Session, organization_id: str, tag_ids: Sequence[str]) -> bool:
        """Check that all of the tags exist, and make their deletion conflict."""
        wanted = object_ids(list(tag_ids))
        result = await self._collection.update_many(
            {"_id": {"$in": wanted}, "organization_id": organization_id}, {"$inc": {"holds": 1}}, session=session
        )
        return result.matched_count == len(set(tag_ids))

    async def delete(self, session: Session, organization_id: str, tag_id: str) -> bool:
        """Remove the tag's row; the caller checks its uses first."""
        result = await self._collection.delete_one(
            {"_id": object_id(tag_id, what="tag"), "organization_id": organization_id}, session=session
        )
        return result.deleted_count == 1


def _name_taken(name: str) -> ConflictError:
    return ConflictError(
        f"The organization already has a tag named {name!r}. Use it, or choose another name.",
        code="tag_name_taken",
    )
