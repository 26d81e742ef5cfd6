"""What attempts, uploads and replaced versions have left behind."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import timedelta

from analytiq import clock
from analytiq.ingestion.documents.requests import clean_request, extract_request
from analytiq.ingestion.indexing.commit import sweep_request
from analytiq.models.index_entry import Generation, GenerationState
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.lost_rows import LostRows
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.stages import BATCH, Batch
from analytiq.storage.file_survey import FileOwner, FileSurvey
from analytiq.storage.ids import is_made_before
from analytiq.storage.repositories.document_survey import DocumentPointers, DocumentSurvey
from analytiq.storage.repositories.index_entries import GenerationRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.texts import StagedText, TextRepository
from analytiq.storage.repositories.uploads import UploadRepository

LEFT_AT_ONCE = 10_000
"""Rows of one kind that a pass looks at; what is more, the next pass finds, as these are gone then."""
SCANNED_CHUNKS = 20_000
"""Chunks of files whose ids are read at a time, from the index: 30 ms."""
_UNFINISHED = "c:"
"""Marks a position in the second half of a stage, which goes by the parts instead of the wholes."""


class GenerationStage:
    """Generations that were staged by an attempt that is over, or superseded and never swept."""

    name = "generations"
    depth = Depth.QUICK
    needs_everything = False

    def __init__(self, generations: GenerationRepository, jobs: JobRepository, *, grace_seconds: float) -> None:
        self._generations = generations
        self._jobs = jobs
        self._grace = timedelta(seconds=grace_seconds)

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        states = [GenerationState.STAGING, GenerationState.SUPERSEDED, GenerationState.PURGING]
        left = await self._generations.left_since(
            states, clock.now() - self._grace, limit=LEFT_AT_ONCE, organization_id=organization_id
        )
        held = await self._jobs.held_tokens({generation.lease_token for generation in left})
        sweeps = {
            sweep_request(item, delay_seconds=0.0).deduplication_key: item for item in left if not _is_held(item, held)
        }
        known = await self._jobs.existing(list(sweeps))
        found = [item for key, item in sweeps.items() if key not in known]
        yield Batch(
            [Drift(DriftKind.ORPHAN, item.organization_id, item.kb_id, item.document_id, item.id) for item in found]
        )


def _is_held(generation: Generation, held_tokens: Collection[str]) -> bool:
    return generation.state is GenerationState.STAGING and generation.lease_token in held_tokens


class UploadStage:
    """Uploads whose sender has gone."""

    name = "uploads"
    depth = Depth.QUICK
    needs_everything = False

    def __init__(self, uploads: UploadRepository) -> None:
        self._uploads = uploads

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        abandoned = await self._uploads.abandoned(limit=LEFT_AT_ONCE, organization_id=organization_id)
        yield Batch([Drift(DriftKind.ABANDONED_UPLOAD, item.organization_id, target_id=item.id) for item in abandoned])


class StagedTextStage:
    """Staged texts that no job will serve: the next extraction would remove them, but may never come."""

    name = "staged_texts"
    depth = Depth.QUICK
    needs_everything = False

    def __init__(self, texts: TextRepository, jobs: JobRepository, *, grace_seconds: float) -> None:
        self._texts = texts
        self._jobs = jobs
        self._grace = timedelta(seconds=grace_seconds)

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        # Texts first, jobs after: a text is served in the transaction that ends its job, so one that is listed, and
        # whose document has no job then, was served or never will be; the deletion spares the served.
        staged = await self._texts.staged_before(
            clock.now() - self._grace, limit=LEFT_AT_ONCE, organization_id=organization_id
        )
        keys = {item.text_id: extract_request(item.organization_id, item.document_id) for item in staged}
        known = await self._jobs.existing({request.deduplication_key for request in keys.values()})
        yield Batch(
            [
                Drift(DriftKind.ABANDONED_TEXT, item.organization_id, document_id=item.document_id,
                      target_id=item.text_id)
                for item in staged
                if keys[item.text_id].deduplication_key not in known
            ]
        )  # fmt: skip


async def _without_cleaning(jobs: JobRepository, candidates: Sequence[Drift]) -> list[Drift]:
    """Those whose document no cleaning is about."""
    if not candidates:
        return []
    keys = {
        item.document_id: clean_request(item.organization_id, item.document_id).deduplication_key
        for item in candidates
        if item.document_id
    }
    known = await jobs.existing(list(keys.values()))
    return [item for item in candidates if keys.get(item.document_id or "") not in known]


def unnamed_files(files: Sequence[FileOwner], documents: Mapping[str, DocumentPointers]) -> list[Drift]:
    """Finished files that are not their document's: pure. One that names no document is not ours to judge."""
    return [
        Drift(DriftKind.ORPHANED_FILE, item.organization_id, document_id=item.document_id, target_id=item.file_id)
        for item in files
        if item.document_id
        and (item.document_id not in documents or documents[item.document_id].file_id != item.file_id)
    ]


def unnamed_texts(texts: Sequence[StagedText], documents: Mapping[str, DocumentPointers]) -> list[Drift]:
    """Served texts that are not their document's: pure."""
    return [
        Drift(DriftKind.ORPHANED_TEXT, item.organization_id, document_id=item.document_id, target_id=item.text_id)
        for item in texts
        if item.document_id not in documents or documents[item.document_id].text_id != item.text_id
    ]


class FileStage:
    """Files that no document names, and bytes without a file that no upload writes.

    They cost nobody anything but room and have no reader, so only a pass over everything looks for them.
    """

    name = "files"
    depth = Depth.FULL
    needs_everything = True

    def __init__(
        self,
        survey: FileSurvey,
        documents: DocumentSurvey,
        uploads: UploadRepository,
        jobs: JobRepository,
        *,
        grace_seconds: float,
    ) -> None:
        self._survey = survey
        self._documents = documents
        self._uploads = uploads
        self._jobs = jobs
        self._grace = timedelta(seconds=grace_seconds)

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        position, lost = after, LostRows(self._documents)
        while not position.startswith(_UNFINISHED):
            files = await self._survey.finished_after(after=position, limit=BATCH)
            position = files[-1].file_id if len(files) == BATCH else _UNFINISHED
            yield Batch(await self._unnamed(files, lost), after=position)
        position = position.removeprefix(_UNFINISHED)
        while True:
            written = await self._survey.written_after(after=position, limit=SCANNED_CHUNKS)
            if not written:
                return
            position = written[-1]
            yield Batch(await self._unfinished(written, lost), after=_UNFINISHED + position)

    async def _unnamed(self, files: Sequence[FileOwner], lost: LostRows) -> list[Drift]:
        # Files first, documents after: a file that a replacement adds in between is not on the list. The job that
        # cleans up after a replacement is asked for in its transaction.
        known = await self._documents.pointers({item.document_id for item in files})
        left = await _without_cleaning(self._jobs, unnamed_files(files, known))
        there = await self._survey.finished_among([item.target_id for item in left if item.target_id])
        owners = [(item.organization_id, item.document_id) for item in files]
        return await lost.spare([item for item in left if item.target_id in there], owners, known)

    async def _unfinished(self, file_ids: Sequence[str], lost: LostRows) -> list[Drift]:
        latest = clock.now() - self._grace
        old = [each for each in file_ids if is_made_before(each, latest)]
        # Uploads first: the transaction that ends one makes its file finished.
        uploading = await self._uploads.file_ids_among(old)
        finished = await self._survey.finished_among(old)
        nameless = [each for each in old if each not in uploading and each not in finished]
        # Bytes of a file that a document names are no leftovers: the file's own row was lost, and is told as that.
        named = await self._documents.files_named_among(nameless) if nameless else set[str]()
        left = [
            Drift(DriftKind.ORPHANED_FILE, "", target_id=each, detail="never finished")
            for each in nameless
            if each not in named
        ]
        return await lost.spare(left, [("", each) for each in old], finished | named)


class TextStage:
    """Texts that no document names, and segments whose text has no head; looked for like files, and as rarely."""

    name = "texts"
    depth = Depth.FULL
    needs_everything = True

    def __init__(
        self, texts: TextRepository, documents: DocumentSurvey, jobs: JobRepository, *, grace_seconds: float
    ) -> None:
        self._texts = texts
        self._documents = documents
        self._jobs = jobs
        self._grace = timedelta(seconds=grace_seconds)

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        position, latest, lost = after, clock.now() - self._grace, LostRows(self._documents)
        while not position.startswith(_UNFINISHED):
            texts = await self._texts.served_after(after=position, until=latest, limit=BATCH)
            position = texts[-1].text_id if len(texts) == BATCH else _UNFINISHED
            yield Batch(await self._unnamed(texts, lost), after=position)
        position = position.removeprefix(_UNFINISHED)
        while True:
            segmented = await self._texts.segmented_after(after=position, limit=BATCH)
            if not segmented:
                return
            position = segmented[-1].text_id
            yield Batch(await self._headless(segmented), after=_UNFINISHED + position)

    async def _unnamed(self, texts: Sequence[StagedText], lost: LostRows) -> list[Drift]:
        known = await self._documents.pointers({item.document_id for item in texts})
        left = await _without_cleaning(self._jobs, unnamed_texts(texts, known))
        there = await self._texts.heads_among([item.target_id for item in left if item.target_id])
        owners = [(item.organization_id, item.document_id) for item in texts]
        return await lost.spare([item for item in left if item.target_id in there], owners, known)

    async def _headless(self, texts: Sequence[StagedText]) -> list[Drift]:
        latest = clock.now() - self._grace
        old = [item for item in texts if is_made_before(item.text_id, latest)]
        heads = await self._texts.heads_among([item.text_id for item in old])
        return [
            Drift(DriftKind.ORPHANED_TEXT, item.organization_id, document_id=item.document_id, target_id=item.text_id)
            for item in old
            if item.text_id not in heads
        ]
