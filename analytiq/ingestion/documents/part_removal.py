"""Deletion of parts of documents, a batch a transaction."""

from collections.abc import Sequence

from analytiq.ingestion.documents.requests import clean_request, removed_event
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.membership import document_changed
from analytiq.models.job import JobRequest, Priority
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry.checkpoints import checkpoint

BATCH = 100


class PartRemoval:
    """Deletes parts; each part's own cleaning deletes its parts in turn."""

    def __init__(self, rows: Repositories, storage: Storage) -> None:
        self._connection = rows.connection
        self._parts = rows.document_parts
        self._jobs = rows.jobs
        self._outbox = rows.webhook_outbox
        self._storage = storage

    async def remove_all(self, organization_id: str, container_id: str) -> int:
        """Delete the parts of a deleted document; return their number."""
        known = await self._parts.of_container(organization_id, container_id)
        return await self.remove(organization_id, container_id, [part.document_id for part in known])

    async def remove(
        self, organization_id: str, container_id: str, document_ids: Sequence[str], *, of_file: str | None = None
    ) -> int:
        """Delete parts and return their number.

        `of_file`: the container's file that does not have them; nothing happens once the container has another one.
        """
        count = 0
        for first in range(0, len(document_ids), BATCH):
            ids = document_ids[first : first + BATCH]
            count += await run_in_transaction(
                self._connection,
                lambda session, ids=ids: self._delete(session, organization_id, container_id, ids, of_file),
            )
            await checkpoint("parts.removed")
        return count

    async def _delete(
        self, session: Session, organization_id: str, container_id: str, ids: Sequence[str], of_file: str | None
    ) -> int:
        if of_file is not None and not await self._parts.hold_container(
            session, organization_id, container_id, file_id=of_file
        ):
            return 0
        deleted = await self._parts.delete(session, organization_id, container_id, ids)
        requests: list[JobRequest] = []
        for document in deleted:
            await self._storage.give_back(session, organization_id, byte_size=document.byte_size)
            requests.append(document_changed(organization_id, document.id))
            # Not behind other cleaning: parts of this part are searchable until it is done.
            requests.append(clean_request(organization_id, document.id, priority=Priority.BULK))
        events = [removed_event(document.id) for document in deleted]
        await self._outbox.record(session, organization_id, events)
        await self._jobs.enqueue(requests, session=session)
        return len(deleted)
