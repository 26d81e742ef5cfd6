"""Collection `docs`."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from pymongo import IndexModel, ReturnDocument, UpdateOne
from pymongo.errors import DuplicateKeyError
from pymongo.write_concern import WriteConcern

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.document import Document, DocumentState, ExternalIdentity, Failure, Member
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.document_pages import BY_NAME, DocumentQuery, page_of
from analytiq.storage.repositories.hit_checks import MEMBER_FIELDS, member_of
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


class DocumentRepository:
    """Documents of an organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["docs"]
        self._majority = connection.majority["docs"]
        # Progress need not survive a failover: it does not wait for a majority.
        self._by_primary = self._collection.with_options(write_concern=WriteConcern(w=1))

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

    async def begin_extracting(self, organization_id: str, document_id: str) -> Document | None:
        """Mark a document that waits for its extraction as being extracted, and return it.

        None if it does not wait: it is gone, extracted or failed. Only jobs leave a document waiting, and end with that
        state in one transaction; so a worker that has lost its job begins nothing here that no job would end.
        """
        waiting: Row = {"state": {"$in": [DocumentState.UPLOADED.value, DocumentState.EXTRACTING.value]}}
        row: Row | None = await self._by_primary.find_one_and_update(
            {"_id": object_id(document_id), "organization_id": organization_id, **waiting},
            _being_extracted(),
            return_document=ReturnDocument.AFTER,
        )
        return decode(Document, row) if row else None

    async def begin_extracting_again(self, session: Session, organization_id: str, document_id: str) -> Document | None:
        """Mark a document in any state as being extracted, and return it; None if it is gone."""
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": object_id(document_id), "organization_id": organization_id},
            _being_extracted(),
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return decode(Document, row) if row else None

    async def mark_extracted(
        self,
        session: Session,
        organization_id: str,
        document_id: str,
        *,
        file_id: str,
        text: Mapping[str, Any],
        warnings: Sequence[str],
    ) -> Document | None:
        """Point the document at its new text; return its former row, None if it is gone or has another file.

        `text`: text_id, text_hash, page_count, character_count, has_tables, content_type and flaws.
        """
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": object_id(document_id), "organization_id": organization_id, "file_id": file_id},
            {
                "$set": {
                    **text,
                    "state": DocumentState.EXTRACTED.value,
                    "error": None,
                    "warnings": list(warnings),
                    "updated_at": clock.now(),
                },
                "$inc": {"rev": 1},
            },
            return_document=ReturnDocument.BEFORE,
            session=session,
        )
        return decode(Document, row) if row else None

    async def mark_all_extracted(
        self,
        session: Session,
        organization_id: str,
        texts: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Point documents at their first texts, in one command; the caller has read them in the same transaction.

        `texts`: by document id, the fields as in `mark_extracted`, and warnings.
        """
        writes = [
            UpdateOne(
                {"_id": object_id(document_id), "organization_id": organization_id},
                {
                    "$set": {
                        **text,
                        "state": DocumentState.EXTRACTED.value,
                        "error": None,
                        "updated_at": clock.now(),
                    },
                    "$inc": {"rev": 1},
                },
            )
            for document_id, text in texts.items()
        ]
        await self._collection.bulk_write(writes, ordered=False, session=session)

    async def present_among(
        self, session: Session, organization_id: str, document_ids: Collection[str]
    ) -> dict[str, Document]:
        """Return the organization's documents by id, as the transaction's snapshot has them."""
        query: Row = {"_id": {"$in": object_ids(set(document_ids))}, "organization_id": organization_id}
        return {str(row["_id"]): decode(Document, row) async for row in self._collection.find(query, session=session)}

    async def mark_failed(
        self,
        organization_id: str,
        document_id: str,
        file_id: str,
        failure: Failure,
        *,
        session: Session | None = None,
    ) -> None:
        """Record the permanent failure of an extraction; an earlier version's text stays current."""
        await self._collection.update_one(
            {"_id": object_id(document_id), "organization_id": organization_id, "file_id": file_id},
            {
                "$set": {
                    "state": DocumentState.FAILED.value,
                    "error": failure.model_dump(),
                    "updated_at": clock.now(),
                }
            },
            session=session,
        )

    async def settle_password(
        self, session: Session, organization_id: str, document_id: str, *, offered: str, is_right: bool
    ) -> None:
        """Keep the offered password that opened the file, or forget a wrong one; one offered meanwhile stays."""
        kept = {"password": offered} if is_right else {}
        await self._collection.update_one(
            {"_id": object_id(document_id), "organization_id": organization_id, "offered_password": offered},
            {"$set": {**kept, "offered_password": None}},
            session=session,
        )

    async def page_with_passwords(self, after: str | None, limit: int) -> list[Document]:
        """Return the next documents, of any organization, that have a password."""
        query: Row = {"$or": [{"password": {"$type": "string"}}, {"offered_password": {"$type": "string"}}]}
        if after is not None:
            query["_id"] = {"$gt": object_id(after)}
        return [decode(Document, row) async for row in self._collection.find(query).sort("_id").limit(limit)]

    async def replace_password(self, document: Document, *, field: str, old: str, new: str) -> None:
        """Replace an encrypted password unless it has changed; `field`: password or offered_password."""
        await self._collection.update_one({"_id": object_id(document.id), field: old}, {"$set": {field: new}})

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

    async def members(
        self, organization_id: str, document_ids: Collection[str], tag_ids: Collection[str]
    ) -> dict[str, Member]:
        """Return the existing documents with one of the tags, by id; a part of the check of every hit.

        Read at majority: see `IndexEntryRepository.of_documents`.
        """
        cursor = self._majority.find(
            {
                "_id": {"$in": object_ids(set(document_ids))},
                "organization_id": organization_id,
                "tag_ids": {"$in": list(tag_ids)},
            },
            MEMBER_FIELDS,
        )
        return {str(row["_id"]): member_of(row) async for row in cursor}

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

    async def ids_of_members_matching(
        self, organization_id: str, tag_ids: Collection[str], compiled_filter: Mapping[str, Any]
    ) -> set[str]:
        """Return the members that pass a compiled filter (`analytiq.retrieval.filters.compilers.documents`)."""
        query: Row = {
            "$and": [
                {"organization_id": organization_id, "tag_ids": {"$in": list(tag_ids)}},
                dict(compiled_filter),
            ]
        }
        return {str(row["_id"]) async for row in self._majority.find(query, {"_id": 1})}

    async def member_ids(
        self, organization_id: str, tag_ids: Collection[str], *, batch_size: int = 1000
    ) -> AsyncIterator[list[tuple[str, str]]]:
        """Yield all members with text, as batches of (document id, text hash) in order of id; resumes by key range."""
        after: Any = None
        while True:
            query: Row = {
                "organization_id": organization_id,
                "tag_ids": {"$in": list(tag_ids)},
                "text_hash": {"$ne": None},
                "character_count": {"$gt": 0},
            }
            if after is not None:
                query["_id"] = {"$gt": after}
            cursor = self._collection.find(query, {"text_hash": 1}).sort("_id", 1).limit(batch_size)
            rows = [row async for row in cursor]
            if not rows:
                return
            yield [(str(row["_id"]), str(row["text_hash"])) for row in rows]
            after = rows[-1]["_id"]

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


def _being_extracted() -> Row:
    return {"$set": {"state": DocumentState.EXTRACTING.value, "updated_at": clock.now()}}
