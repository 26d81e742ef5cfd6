"""Deletes the files and texts that a document's row no longer refers to."""

import structlog

from analytiq.ingestion.documents.part_removal import PartRemoval
from analytiq.jobs.queue.handling import job
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.job_payloads import CleanDocumentPayload
from analytiq.models.webhook import document_subject
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.picture_readings import ReadFile
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)


class Cleaning:
    """The handler of clean jobs."""

    def __init__(self, rows: Repositories, parts: PartRemoval) -> None:
        self._parts = parts
        self._runs = rows.prompt_runs
        self._results = rows.prompt_results
        self._documents = rows.documents
        self._texts = rows.texts
        self._readings = rows.picture_readings
        self._files = rows.files
        self._history = rows.job_history
        self._jobs = rows.jobs
        self._holds = rows.holds
        self._chats = rows.chats
        self._source_items = rows.source_items
        self._source_runs = rows.source_runs
        self._deliveries = rows.webhook_deliveries

    @job(CleanDocumentPayload)
    async def handle(self, running: RunningJob, payload: CleanDocumentPayload) -> None:
        """Clean one document; if it is gone, delete all of its files and texts."""
        organization_id, document_id = running.job.organization_id, payload.document_id
        # Files first, the row after: a file listed before that is not the row's now has been replaced,
        # and a file added by a replacement in between is not on the list.
        stored = await self._files.ids_of_document(organization_id, document_id)
        document = await self._documents.get(organization_id, document_id)
        if document is None:
            # Their rows, which a backup in progress has read: the parts' own cleaning waits for it.
            await self._parts.remove_all(organization_id, document_id)
        await self._holds.require_free(organization_id)
        if document is None:
            await self._files.delete(organization_id, stored)
            await checkpoint("cleaning.files_deleted")
            await self._texts.delete_all(organization_id, document_id)
            await checkpoint("cleaning.texts_deleted")
            await self._readings.delete_of_document(organization_id, document_id)
            # Runs first: a running one ends by changing its row, and leaves no result once the row is gone.
            await self._runs.delete_of_document(organization_id, document_id)
            await self._results.delete_of_document(organization_id, document_id)
            await self._jobs.delete_dead_of_document(organization_id, document_id)
            await self._history.delete_of_document(organization_id, document_id)
            await self._chats.erase_document(organization_id, document_id)
            await self._source_items.delete_of_document(organization_id, document_id)
            await self._source_runs.delete_of_document(organization_id, document_id)
            await self._deliveries.forget_subject(organization_id, document_subject(document_id))
            log.info("documents.cleaned", document_id=document_id, files=len(stored))
            return
        replaced = [file_id for file_id in stored if file_id != document.file_id]
        await self._files.delete(organization_id, replaced)
        await checkpoint("cleaning.files_deleted")
        await self._readings.delete_of_other_files(organization_id, ReadFile(document_id, document.file_id))
        texts = await self._texts.delete_superseded(organization_id, document_id)
        log.info("documents.cleaned", document_id=document_id, files=len(replaced), texts=texts)
