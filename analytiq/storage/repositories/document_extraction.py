"""Collection `docs`: the extraction of documents, and the passwords that open their files."""

from collections.abc import Mapping, Sequence
from typing import Any

from pymongo import ReturnDocument, UpdateOne
from pymongo.write_concern import WriteConcern

from analytiq import clock
from analytiq.models.document import Document, DocumentState, Failure
from analytiq.models.webhook import WebhookEvent, WebhookEventType
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.repositories.webhook_outbox import WebhookOutbox
from analytiq.storage.session import Session


class DocumentExtraction:
    """The states of extraction, and passwords."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["docs"]
        self._outbox = WebhookOutbox(connection)
        # Progress need not survive a failover: it does not wait for a majority.
        self._by_primary = self._collection.with_options(write_concern=WriteConcern(w=1))

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
        failed: Row = {"state": DocumentState.FAILED.value, "error": failure.model_dump(), "updated_at": clock.now()}
        query: Row = {"_id": object_id(document_id), "organization_id": organization_id, "file_id": file_id}

        async def write(own: Session | None) -> bool:
            return (await self._collection.update_one(query, {"$set": failed}, session=own)).matched_count == 1

        event = WebhookEvent.of_document(WebhookEventType.DOCUMENT_FAILED, document_id, code=failure.code)
        await self._outbox.changing(session, organization_id, event, write)

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


def _being_extracted() -> Row:
    return {"$set": {"state": DocumentState.EXTRACTING.value, "updated_at": clock.now()}}
