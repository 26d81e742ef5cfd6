"""A pass: `find` reads, `repair` enqueues."""

from collections.abc import Collection
from datetime import timedelta

import structlog

from analytiq import clock
from analytiq.documents.requests import extract_request
from analytiq.indexing.commit import sweep_request
from analytiq.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.knowledge_bases.service import drop_request
from analytiq.membership import sync_request
from analytiq.models.document import Document
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.models.job import Job, JobKind, JobRequest, JobSubject, Priority
from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.upload import Upload
from analytiq.mongo.files import FileStore
from analytiq.mongo.ids import is_made_before
from analytiq.mongo.repositories.documents import DocumentRepository
from analytiq.mongo.repositories.index_entries import GenerationRepository, IndexEntryRepository
from analytiq.mongo.repositories.jobs import JobRepository
from analytiq.mongo.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.mongo.repositories.texts import StagedText, TextRepository
from analytiq.mongo.repositories.uploads import UploadRepository
from analytiq.mongo.repositories.vectors import VectorRepository
from analytiq.reconcile.report import Drift, DriftKind, Report
from analytiq.settings import ReconcilerSettings

log = structlog.get_logger(__name__)

STUCK_SECONDS = 60.0
"""A document whose extraction is not even enqueued after so long has lost its job."""
BOUND = 10_000
"""Repairs of one kind that a pass enqueues at most; the next pass goes on."""


class Reconciler:
    """Finds and repairs drift of every organization."""

    def __init__(
        self,
        documents: DocumentRepository,
        texts: TextRepository,
        knowledge_bases: KnowledgeBaseRepository,
        entries: IndexEntryRepository,
        generations: GenerationRepository,
        vectors: VectorRepository,
        jobs: JobRepository,
        uploads: UploadRepository,
        files: FileStore,
        life_cycle: KnowledgeBaseLifeCycle,
        settings: ReconcilerSettings,
    ) -> None:
        self._documents = documents
        self._texts = texts
        self._knowledge_bases = knowledge_bases
        self._entries = entries
        self._generations = generations
        self._vectors = vectors
        self._jobs = jobs
        self._uploads = uploads
        self._files = files
        self._life_cycle = life_cycle
        self._settings = settings

    async def run_pass(self, *, is_dry: bool = False) -> Report:
        """Look at everything once; enqueue repairs unless `is_dry`."""
        report = Report()
        requests: list[JobRequest] = []
        shown = await self._knowledge_bases.all_shown()
        for knowledge_base in shown:
            requests += await self._find_pairs(knowledge_base, report)
            requests += await self._find_unknown_generations(knowledge_base, report)
        requests += await self._find_left_generations(report)
        requests += await self._find_half_deleted(report)
        stuck, given_up = await self._find_stuck_documents(report)
        requests += stuck
        abandoned = await self._find_abandoned_uploads(report)
        abandoned_texts = await self._find_abandoned_texts(report)
        half_created = await self._find_half_created(report)
        report.knowledge_bases = len(shown)
        if not is_dry:
            await self._jobs.enqueue(requests)
            for document, job in given_up:
                await self._fail(document, job)
            for upload in abandoned:
                await self._give_up(upload)
            for text in abandoned_texts:
                await self._texts.delete_unless_served(text.organization_id, text.document_id, text.text_id)
            for kb_id in half_created:
                await self._vectors.drop_collection(kb_id)
            for knowledge_base in shown:
                await self._settle(knowledge_base, report)
        if report.drift:
            log.warning("reconcile.drift", is_dry=is_dry, **report.counts())
        return report

    async def _find_pairs(self, knowledge_base: KnowledgeBase, report: Report) -> list[JobRequest]:
        """Missing, outdated and stale pairs of one knowledge base, by merging two sorted scans in key ranges."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        drift: list[Drift] = []
        async for members in self._documents.member_ids(organization_id, knowledge_base.tag_ids):
            text_hashes = dict(members)
            entries = await self._entries.of_documents(organization_id, kb_id, text_hashes)
            drift += _unlike(knowledge_base, text_hashes, entries)
            if len(drift) >= BOUND:
                break
        async for batch in self._entries.document_ids(organization_id, kb_id):
            report.entries += len(batch)
            indexed = [entry.document_id for entry in batch]
            names = await self._documents.names_of_members(organization_id, indexed, knowledge_base.tag_ids)
            drift += [
                Drift(DriftKind.STALE, organization_id, kb_id, document_id)
                for document_id in indexed
                if document_id not in names
            ]
        return await self._without_jobs(drift[:BOUND], report)

    async def _without_jobs(self, drift: list[Drift], report: Report) -> list[JobRequest]:
        """What a job is waiting for is not drift; what a job has given up is for a person to replay."""
        requests = {
            item: sync_request(item.organization_id, item.kb_id or "", item.document_id or "", priority=Priority.BULK)
            for item in drift
        }
        keys = [request.deduplication_key for request in requests.values()]
        known = await self._jobs.existing(keys)
        left = {item: job for item, job in requests.items() if job.deduplication_key not in known}
        report.drift += list(left)
        return list(left.values())

    async def _find_unknown_generations(self, knowledge_base: KnowledgeBase, report: Report) -> list[JobRequest]:
        """Vectors without a `generations` row, which is always written before the first of them."""
        present = await self._vectors.generation_ids(knowledge_base.id)
        known = await self._generations.known(knowledge_base.id, present)
        unknown = [generation_id for generation_id in present if generation_id not in known]
        report.drift += [
            Drift(DriftKind.ORPHAN, knowledge_base.organization_id, knowledge_base.id, None, generation_id)
            for generation_id in unknown
        ]
        return [
            JobRequest(
                kind=JobKind.SWEEP,
                organization_id=knowledge_base.organization_id,
                subject=JobSubject(kb_id=knowledge_base.id, generation_id=generation_id),
                priority=Priority.CLEANING,
            )
            for generation_id in unknown[:BOUND]
        ]

    async def _find_left_generations(self, report: Report) -> list[JobRequest]:
        """Staged by an attempt that is over, or superseded and never swept."""
        grace = timedelta(seconds=self._settings.orphan_grace_seconds)
        states = [GenerationState.STAGING, GenerationState.SUPERSEDED, GenerationState.PURGING]
        left = await self._generations.left_since(states, clock.now() - grace, limit=BOUND)
        held = await self._jobs.held_tokens({generation.lease_token for generation in left})
        requests = {
            generation.id: sweep_request(generation, delay_seconds=0.0)
            for generation in left
            if not _is_held(generation, held)
        }
        known = await self._jobs.existing([request.deduplication_key for request in requests.values()])
        found = [item for item in left if item.id in requests]
        found = [item for item in found if requests[item.id].deduplication_key not in known]
        report.drift += [
            Drift(DriftKind.ORPHAN, item.organization_id, item.kb_id, item.document_id, item.id) for item in found
        ]
        return [requests[item.id] for item in found]

    async def _find_half_deleted(self, report: Report) -> list[JobRequest]:
        deleting = await self._knowledge_bases.all_deleting()
        requests = {item.id: drop_request(item.organization_id, item.id) for item in deleting}
        known = await self._jobs.existing([request.deduplication_key for request in requests.values()])
        found = [item for item in deleting if requests[item.id].deduplication_key not in known]
        report.drift += [Drift(DriftKind.HALF_DELETED, item.organization_id, item.id) for item in found]
        return [requests[item.id] for item in found]

    async def _find_half_created(self, report: Report) -> list[str]:
        """Empty collections without a knowledge base, older than the grace: a younger one may be about to get its row.

        One with vectors is left alone: after a partial restore its row may still be on the way.

        A creation ends within its transaction's deadline of half a minute, an hour before the default grace does.
        """
        latest = clock.now() - timedelta(seconds=self._settings.orphan_grace_seconds)
        # Collections first, rows after: one that is created in between is on neither list.
        present = [kb_id for kb_id in await self._vectors.kb_ids() if is_made_before(kb_id, latest)]
        known = await self._knowledge_bases.existing(present)
        nameless = [kb_id for kb_id in present if kb_id not in known][:BOUND]
        found = [kb_id for kb_id in nameless if await self._vectors.is_empty(kb_id)]
        report.drift += [Drift(DriftKind.HALF_CREATED, "", kb_id) for kb_id in found]
        return found

    async def _find_stuck_documents(self, report: Report) -> tuple[list[JobRequest], list[tuple[Document, Job]]]:
        """Documents that wait for an extraction which nothing will do, and those whose extraction was given up."""
        grace = timedelta(seconds=min(self._settings.orphan_grace_seconds, STUCK_SECONDS))
        waiting = await self._documents.stuck_before(clock.now() - grace, limit=BOUND)
        requests = {item.id: extract_request(item.organization_id, item.id) for item in waiting}
        keys = [request.deduplication_key for request in requests.values()]
        known = await self._jobs.existing(keys)
        dead = {job.id: job for job in await self._jobs.dead_among(keys)}
        stuck = [item for item in waiting if requests[item.id].deduplication_key not in known]
        given_up = [
            (item, dead[requests[item.id].deduplication_key])
            for item in waiting
            if requests[item.id].deduplication_key in dead
        ]
        report.drift += [
            Drift(DriftKind.STUCK_DOCUMENT, item.organization_id, document_id=item.id)
            for item in [*stuck, *(document for document, _ in given_up)]
        ]
        return [requests[item.id] for item in stuck], given_up

    async def _fail(self, document: Document, job: Job) -> None:
        """A worker that died with its document cannot say so; its job's row does."""
        if job.error is not None:
            await self._documents.mark_failed(document.organization_id, document.id, document.file_id, job.error)

    async def _find_abandoned_uploads(self, report: Report) -> list[Upload]:
        abandoned = await self._uploads.abandoned(limit=BOUND)
        report.drift += [Drift(DriftKind.ABANDONED_UPLOAD, item.organization_id) for item in abandoned]
        return abandoned

    async def _find_abandoned_texts(self, report: Report) -> list[StagedText]:
        """Staged texts that no job will serve: the next extraction would remove them, but may never come."""
        grace = timedelta(seconds=self._settings.orphan_grace_seconds)
        # Texts first, jobs after: a text is served in the transaction that ends its job, so one that is listed, and
        # whose document has no job then, was served or never will be; the deletion spares the served.
        staged = await self._texts.staged_before(clock.now() - grace, limit=BOUND)
        keys = {
            text.text_id: extract_request(text.organization_id, text.document_id).deduplication_key for text in staged
        }
        known = await self._jobs.existing(set(keys.values()))
        found = [text for text in staged if keys[text.text_id] not in known]
        report.drift += [
            Drift(DriftKind.ABANDONED_TEXT, text.organization_id, document_id=text.document_id) for text in found
        ]
        return found

    async def _give_up(self, upload: Upload) -> None:
        """End the lease first: from then on the upload cannot commit, and its bytes are nobody's."""
        if await self._uploads.give_up(upload):
            await self._files.delete_unfinished(upload.file_id)
            await self._uploads.forget(upload)

    async def _settle(self, knowledge_base: KnowledgeBase, report: Report) -> None:
        is_behind = await self._life_cycle.settle(knowledge_base.organization_id, knowledge_base.id)
        if is_behind and knowledge_base.status is not KnowledgeBaseStatus.INDEXING:
            report.drift.append(Drift(DriftKind.UNSETTLED, knowledge_base.organization_id, knowledge_base.id))


def _unlike(knowledge_base: KnowledgeBase, text_hashes: dict[str, str], entries: dict[str, IndexEntry]) -> list[Drift]:
    """The members that have no entry, or one of another text or configuration."""
    found: list[Drift] = []
    for document_id, text_hash in text_hashes.items():
        entry = entries.get(document_id)
        if entry is None:
            kind = DriftKind.MISSING
        elif (entry.text_hash, entry.configuration_hash) != (
            text_hash,
            knowledge_base.configuration_hash,
        ):
            kind = DriftKind.OUTDATED
        else:
            continue
        found.append(Drift(kind, knowledge_base.organization_id, knowledge_base.id, document_id))
    return found


def _is_held(generation: Generation, held_tokens: Collection[str]) -> bool:
    return generation.state is GenerationState.STAGING and generation.lease_token in held_tokens
