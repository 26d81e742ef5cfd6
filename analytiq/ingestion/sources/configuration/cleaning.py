"""Removes the data of deleted sources."""

import structlog

from analytiq.errors import ConflictError, NotFoundError, TransientError
from analytiq.ingestion.documents.service import Documents
from analytiq.ingestion.sources.jobs import run_request
from analytiq.ingestion.tags.service import Tags
from analytiq.jobs.queue.handling import job
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.job_payloads import CleanSourcePayload
from analytiq.models.source import Source
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.documents import DocumentQuery

log = structlog.get_logger(__name__)

BATCH = 100
WAIT_SECONDS = 2.0


class SourceCleaning:
    """The handler of the cleaning of sources."""

    def __init__(self, rows: Repositories, documents: Documents, tags: Tags) -> None:
        self._sources = rows.sources
        self._items = rows.source_items
        self._runs = rows.source_runs
        self._addresses = rows.inbound
        self._jobs = rows.jobs
        self._holds = rows.holds
        self._documents = documents
        self._tags = tags

    @job(CleanSourcePayload)
    async def handle(self, running: RunningJob, payload: CleanSourcePayload) -> None:
        """Remove the rows of a deleted source, and its documents if that was wanted."""
        organization_id = running.job.organization_id
        source = await self._sources.get(organization_id, payload.source_id)
        if source is None or not source.is_deleted:
            return
        await self._require_idle(source)
        await self._holds.require_free(organization_id)
        if source.deletes_documents:
            await self._delete_documents(running, source)
        await self._delete_tags(source)
        await self._items.delete_of_source(organization_id, source.id)
        await self._runs.delete_of_source(organization_id, source.id)
        await self._addresses.delete_of_source(organization_id, source.id)
        await self._sources.delete(organization_id, source.id)
        log.info("sources.cleaned", source_id=source.id)

    async def _require_idle(self, source: Source) -> None:
        """Wait for the end of a run that may be uploading.

        Raises:
            TransientError: it is at work.
        """
        runs, _ = await self._runs.page(source.organization_id, source.id, skip=0, limit=1)
        ids = [run_request(run).deduplication_key for run in runs]
        if await self._jobs.unfinished_among(ids):
            raise TransientError("The last run of the source is still at work.", retry_after=WAIT_SECONDS)

    async def _delete_tags(self, source: Source) -> None:
        for tag_id in source.deletes_tag_ids:
            try:
                await self._tags.delete(source.organization_id, tag_id)
            except NotFoundError:
                continue
            except ConflictError as error:
                log.info("sources.tag_kept", source_id=source.id, tag_id=tag_id, reason=error.detail)

    async def _delete_documents(self, running: RunningJob, source: Source) -> None:
        query = DocumentQuery(source=source.identity_source)
        done = 0
        while True:
            documents, total = await self._documents.page(source.organization_id, query, skip=0, limit=BATCH)
            if not documents:
                return
            for document in documents:
                try:
                    await self._documents.delete(source.organization_id, document.id)
                except NotFoundError:
                    continue
            done += len(documents)
            await running.report(done, done + total - len(documents), "documents")
