"""Collection `docs`."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from pymongo import IndexModel, ReturnDocument, UpdateOne
from pymongo.errors import DuplicateKeyError

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.document import Document, DocumentState, ExternalIdentity
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.document_extraction import DocumentExtraction
from analytiq.storage.repositories.document_holds import DocumentHolds
from analytiq.storage.repositories.document_members import DocumentMembers
from analytiq.storage.repositories.document_pages import BY_NAME, DocumentQuery, page_of
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

COUNTED_BY = {"organization_id": 1, "byte_size": 1, "_id": 1}
"""The index that sums the stored bytes of an organization without reading a document."""

INDEXES = {
    "docs": [
        IndexModel(list(COUNTED_BY.items())),
        IndexModel([("organization_id", 1), ("identity", 1)], unique=True),
        IndexModel(
            [("organization_id", 1), ("external_identity.source", 1), ("external_identity.external_id", 1)],
            name="external_identity",
            unique=True,
            partialFilterExpression={"external_identity.source": {"$exists": True}},
        ),
        IndexModel(
            [("organization_id", 1), ("part_of.parent_id", 1), ("part_of.path", 1)],
            name="parts",
            unique=True,
            partialFilterExpression={"part_of.parent_id": {"$exists": True}},
        ),
        IndexModel(
            [("organization_id", 1), ("part_of.container_ids", 1)],
            name="parts_at_any_depth",
            partialFilterExpression={"part_of.parent_id": {"$exists": True}},
        ),
        IndexModel([("organization_id", 1), ("created_at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("updated_at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("document_name", 1), ("_id", 1)], name=BY_NAME),
        IndexModel([("organization_id", 1), ("tag_ids", 1), ("_id", 1)]),
        IndexModel([("organization_id", 1), ("state", 1), ("created_at", -1)]),
        IndexModel([("organization_id", 1), ("state", 1), ("_id", 1)]),
        # Documents that need attention: counted for every knowledge base of a list.
        IndexModel([("organization_id", 1), ("state", 1), ("tag_ids", 1)]),
        IndexModel(
            [("organization_id", 1), ("character_count", 1), ("tag_ids", 1)],
            name="without_text",
            partialFilterExpression={"character_count": 0},
        ),
        # With the sort fields of a list, so that a page far down and the count are answered from the index.
        IndexModel([("organization_id", 1), ("content_type", 1), ("created_at", -1), ("_id", -1)]),
        # As above, of those whose tables can be queried, beside spreadsheets.
        IndexModel(
            [("organization_id", 1), ("has_tables", 1), ("created_at", -1), ("_id", -1)],
            name="with_tables",
            partialFilterExpression={"has_tables": True},
        ),
        # Of the few that wait for extraction, in any organization: the reconciler requests the old ones.
        IndexModel(
            [("state", 1), ("updated_at", 1)],
            name="waiting_for_extraction",
            partialFilterExpression={"state": {"$in": [DocumentState.UPLOADED.value, DocumentState.EXTRACTING.value]}},
        ),
    ],
}

SORT_FIELDS = ("created_at", "document_name", "updated_at", "byte_size", "state")
"""Fields by which a list of documents may be sorted."""


@dataclass(frozen=True, slots=True)
class DocumentMetadata:
    """Some of a document's metadata."""

    id: str
    name: str
    metadata: Mapping[str, JsonValue]


class DocumentRepository(DocumentExtraction, DocumentHolds, DocumentMembers):
    """Documents of an organization."""

    def __init__(self, connection: MongoConnection) -> None:
        DocumentExtraction.__init__(self, connection)
        DocumentHolds.__init__(self, connection)
        DocumentMembers.__init__(self, connection)

    async def insert_unless_known(self, session: Session, document: Document) -> Document | None:
        """Store the document; if its identity is taken, store nothing and return the document that has it.

        An upsert, since a colliding insert would end the transaction.
        """
        row = encode(document)
        key = {"organization_id": row.pop("organization_id"), "identity": row.pop("identity")}
        result = await self._collection.update_one(key, {"$setOnInsert": row}, upsert=True, session=session)
        if result.upserted_id is not None:
            return None
        existing: Row | None = await self._collection.find_one(key, session=session)
        return decode(Document, existing) if existing else None

    async def insert_all(self, session: Session, documents: Sequence[Document]) -> None:
        """Store new documents; a taken identity ends the transaction, which then runs once more."""
        await self._collection.insert_many([encode(document) for document in documents], session=session)

    async def get(self, organization_id: str, document_id: str, *, session: Session | None = None) -> Document | None:
        """Return the organization's document with this id."""
        ids = object_ids([document_id])
        if not ids:
            return None
        query = {"_id": ids[0], "organization_id": organization_id}
        row: Row | None = await self._collection.find_one(query, session=session)
        return decode(Document, row) if row else None

    async def of_organizations(
        self, organization_ids: Collection[str], document_ids: Collection[str]
    ) -> list[Document]:
        """Return the documents of these organizations, each with its organization."""
        query: Row = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": {"$in": list(organization_ids)}}
        return [decode(Document, row) async for row in self._collection.find(query)]

    async def with_identity(self, organization_id: str, identity: str) -> Document | None:
        """Return the organization's document with these bytes under this name, read at majority."""
        row: Row | None = await self._majority.find_one({"organization_id": organization_id, "identity": identity})
        return decode(Document, row) if row else None

    async def with_identities(
        self, organization_id: str, identities: Sequence[str], *, session: Session | None = None
    ) -> list[Document]:
        """Return the organization's documents with these identities; as a majority holds them, or the session."""
        query: Row = {"organization_id": organization_id, "identity": {"$in": list(identities)}}
        collection = self._majority if session is None else self._collection
        return [decode(Document, row) async for row in collection.find(query, session=session)]

    async def with_external_identities(self, organization_id: str, items: Sequence[ExternalIdentity]) -> list[Document]:
        """Return the organization's documents of these items, in any version, as a majority holds them."""
        ids_by_source: dict[str, list[str]] = {}
        for item in items:
            ids_by_source.setdefault(item.source, []).append(item.external_id)
        found: list[Document] = []
        for source, external_ids in ids_by_source.items():
            query: Row = {
                "organization_id": organization_id,
                "external_identity.source": source,
                "external_identity.external_id": {"$in": external_ids},
            }
            found += [decode(Document, row) async for row in self._majority.find(query)]
        return found

    async def names_in_use(self, organization_id: str, names: Sequence[str]) -> set[str]:
        """Return the names among these that `named` finds documents by."""
        query: Row = {
            "organization_id": organization_id,
            "document_name": {"$in": list(names)},
            "external_identity": None,
            "part_of": None,
        }
        return {str(row["document_name"]) async for row in self._collection.find(query, {"document_name": 1})}

    async def with_external_identity(
        self, organization_id: str, item: ExternalIdentity, *, session: Session | None = None
    ) -> Document | None:
        """Return the organization's document of this item, in any version; as a majority holds it, or the session."""
        query = {
            "organization_id": organization_id,
            "external_identity.source": item.source,
            "external_identity.external_id": item.external_id,
        }
        collection = self._majority if session is None else self._collection
        row: Row | None = await collection.find_one(query, session=session)
        return decode(Document, row) if row else None

    async def named(self, organization_id: str, document_name: str, *, limit: int = 10) -> list[Document]:
        """Return the documents of exactly this name that a name identifies, newest first.

        Items of other systems and parts of documents have another identity.
        """
        query = {
            "organization_id": organization_id,
            "document_name": document_name,
            "external_identity": None,
            "part_of": None,
        }
        cursor = self._collection.find(query).sort("_id", -1).limit(limit)
        return [decode(Document, row) async for row in cursor]

    async def page(
        self, organization_id: str, query: DocumentQuery, *, skip: int, limit: int
    ) -> tuple[list[Document], int]:
        """Return a page of documents, and the total count of matches."""
        return await page_of(self._collection, organization_id, query, skip=skip, limit=limit)

    async def of_source_after(
        self, organization_id: str, source: str, *, after: str | None, limit: int
    ) -> list[Document]:
        """Return documents of an external source, by their external id."""
        query: Row = {"organization_id": organization_id, "external_identity.source": source}
        if after is not None:
            query["external_identity.external_id"] = {"$gt": after}
        cursor = self._collection.find(query).sort("external_identity.external_id", 1).limit(limit)
        return [decode(Document, row) async for row in cursor]

    async def change(
        self, session: Session, organization_id: str, document_id: str, changes: Mapping[str, Any]
    ) -> Document | None:
        """Set fields and increment `rev`; return None if the document does not exist.

        Raises:
            ConflictError: another document has the new name and the same bytes.
        """
        try:
            row: Row | None = await self._collection.find_one_and_update(
                {"_id": object_id(document_id, what="document"), "organization_id": organization_id},
                {"$set": {**changes, "updated_at": clock.now()}, "$inc": {"rev": 1}},
                return_document=ReturnDocument.AFTER,
                session=session,
            )
        except DuplicateKeyError as error:
            raise ConflictError(
                "Another document has this name and the same bytes. Choose another name.",
                code="document_exists",
            ) from error
        return decode(Document, row) if row else None

    async def with_metadata(self, organization_id: str, names: Sequence[str]) -> AsyncIterator[DocumentMetadata]:
        """Yield documents whose metadata has one of these keys, with the values of these keys only."""
        if not names:
            return
        paths = [f"metadata.{name}" for name in names]
        query: Row = {"organization_id": organization_id, "$or": [{path: {"$exists": True}} for path in paths]}
        # In an index's order: a document that is rewritten while the list is read does not move in it.
        cursor = self._majority.find(query, {"document_name": 1, **dict.fromkeys(paths, 1)})
        async for row in cursor.sort([("created_at", -1), ("_id", -1)]):
            yield DocumentMetadata(str(row["_id"]), str(row["document_name"]), row["metadata"])

    async def with_ids(self, session: Session, organization_id: str, document_ids: Sequence[str]) -> list[Document]:
        """Return the organization's documents among these."""
        query: Row = {"_id": {"$in": object_ids(list(document_ids))}, "organization_id": organization_id}
        return [decode(Document, row) async for row in self._collection.find(query, session=session)]

    async def change_metadata_values(
        self,
        session: Session,
        organization_id: str,
        changes: Mapping[str, tuple[Mapping[str, JsonValue], Sequence[str]]],
    ) -> None:
        """Change metadata, by document id: the values to set and the keys to remove."""
        updates: list[UpdateOne] = []
        for document_id, (values, removed) in changes.items():
            update: Row = {"$inc": {"rev": 1}, "$set": {"updated_at": clock.now()}}
            update["$set"] |= {f"metadata.{name}": value for name, value in values.items()}
            if removed:
                update["$unset"] = {f"metadata.{name}": "" for name in removed}
            updates.append(UpdateOne({"_id": object_id(document_id), "organization_id": organization_id}, update))
        if updates:
            await self._collection.bulk_write(updates, session=session)

    async def delete(self, session: Session, organization_id: str, document_id: str) -> Document | None:
        """Remove the row; jobs delete the dependent data."""
        row: Row | None = await self._collection.find_one_and_delete(
            {"_id": object_id(document_id, what="document"), "organization_id": organization_id},
            session=session,
        )
        return decode(Document, row) if row else None

    async def present_among(
        self, session: Session, organization_id: str, document_ids: Collection[str]
    ) -> dict[str, Document]:
        """Return the organization's documents by id, as the transaction's snapshot has them."""
        query: Row = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        return {str(row["_id"]): decode(Document, row) async for row in self._collection.find(query, session=session)}

    async def names(self, organization_id: str, document_ids: Collection[str]) -> dict[str, str]:
        """Return the names by id of existing documents."""
        query = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        cursor = self._collection.find(query, {"document_name": 1})
        return {str(row["_id"]): str(row["document_name"]) async for row in cursor}

    async def text_hashes(self, organization_id: str, document_ids: Collection[str]) -> dict[str, str]:
        """Return the hash of each document's present text; documents without text are left out."""
        query = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        cursor = self._collection.find(query, {"text_hash": 1})
        return {str(row["_id"]): str(row["text_hash"]) async for row in cursor if row.get("text_hash")}

    async def uses_of_tag(self, organization_id: str, tag_id: str) -> int:
        """Count the documents with the tag."""
        return await self._collection.count_documents({"organization_id": organization_id, "tag_ids": tag_id})

    async def states(self, organization_id: str) -> dict[str, int]:
        """Count the documents in each state."""
        cursor = await self._collection.aggregate(
            [
                {"$match": {"organization_id": organization_id}},
                {"$group": {"_id": "$state", "count": {"$sum": 1}}},
            ]
        )
        return {str(row["_id"]): int(row["count"]) async for row in cursor}
