"""Collection `docs`: checks within a transaction, with which concurrent changes of the document conflict."""

from collections.abc import Collection, Mapping

from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row
from analytiq.storage.session import Session


class DocumentHolds:
    """Checks of documents that hold until the transaction commits."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["docs"]

    async def hold_for_commit(
        self,
        session: Session,
        organization_id: str,
        document_id: str,
        *,
        text_hash: str,
        tag_ids: Collection[str],
    ) -> bool:
        """Check that the document still has this text and one of these tags, and make concurrent changes conflict.

        `$inc` achieves this: a read, or a `$set` of the same value, would not conflict with a concurrent delete.
        """
        result = await self._collection.update_one(
            {
                "_id": object_id(document_id),
                "organization_id": organization_id,
                "text_hash": text_hash,
                "tag_ids": {"$in": list(tag_ids)},
            },
            {"$inc": {"rev": 1}},
            session=session,
        )
        return result.matched_count == 1

    async def hold_many_for_commit(
        self,
        session: Session,
        organization_id: str,
        text_hashes: Mapping[str, str],
        *,
        tag_ids: Collection[str],
    ) -> set[str]:
        """Return those documents that still have their text and one of these tags; concurrent changes conflict.

        `text_hashes` are by document id. Read in the transaction, so that a changed document costs no abort.
        """
        query: Row = {
            "_id": {"$in": object_ids(set(text_hashes))},
            "organization_id": organization_id,
            "tag_ids": {"$in": list(tag_ids)},
        }
        cursor = self._collection.find(query, {"text_hash": 1}, session=session)
        held = {str(row["_id"]) async for row in cursor if row.get("text_hash") == text_hashes[str(row["_id"])]}
        if held:
            own: Row = {"_id": {"$in": object_ids(held)}, "organization_id": organization_id}
            await self._collection.update_many(own, {"$inc": {"rev": 1}}, session=session)
        return held

    async def hold_for_result(self, session: Session, organization_id: str, document_id: str) -> bool:
        """Check that the document exists, and make a concurrent delete conflict."""
        result = await self._collection.update_one(
            {"_id": object_id(document_id), "organization_id": organization_id}, {"$inc": {"rev": 1}}, session=session
        )
        return result.matched_count == 1

    async def hold_for_removal(
        self, session: Session, organization_id: str, document_id: str, *, tag_ids: Collection[str]
    ) -> bool:
        """Check that the document is gone, or has none of these tags, or no text; make concurrent changes conflict."""
        key: Row = {"_id": object_id(document_id), "organization_id": organization_id}
        no_member: Row = {
            "$or": [
                {"tag_ids": {"$nin": list(tag_ids)}},
                {"text_hash": None},
                {"character_count": {"$in": [None, 0]}},
            ]
        }
        held = await self._collection.update_one({**key, **no_member}, {"$inc": {"rev": 1}}, session=session)
        return held.matched_count == 1 or await self._collection.find_one(key, {"_id": 1}, session=session) is None
