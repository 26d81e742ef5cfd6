"""Documents that wait for what nothing will do, or whose text or file was lost."""

from collections.abc import AsyncGenerator, Collection, Sequence
from datetime import timedelta

from analytiq import clock
from analytiq.ingestion.documents.requests import extract_request
from analytiq.models.document import DocumentState
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.stages import BATCH, Batch
from analytiq.storage.file_survey import FileSurvey
from analytiq.storage.repositories.document_survey import DocumentPointers, DocumentSurvey
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.texts import TextRepository

STUCK_SECONDS = 60.0
"""A document whose extraction is not even enqueued after so long has lost its job."""
STUCK_AT_ONCE = 10_000


class StuckDocumentStage:
    """Documents that wait for an extraction which nothing will do, and those whose extraction was given up."""

    name = "stuck_documents"
    depth = Depth.QUICK
    needs_everything = False

    def __init__(self, documents: DocumentSurvey, jobs: JobRepository, *, grace_seconds: float) -> None:
        self._documents = documents
        self._jobs = jobs
        self._grace = timedelta(seconds=min(grace_seconds, STUCK_SECONDS))

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        waiting = await self._documents.stuck_before(
            clock.now() - self._grace, limit=STUCK_AT_ONCE, organization_id=organization_id
        )
        keys = {extract_request(item.organization_id, item.id).deduplication_key: item for item in waiting}
        unfinished = await self._jobs.unfinished_among(keys)
        left = {item.id: item for key, item in keys.items() if key not in unfinished}
        # One whose job has ended between the reads says so itself by now.
        still = await self._documents.pointers(left)
        yield Batch(
            [
                Drift(DriftKind.STUCK_DOCUMENT, item.organization_id, document_id=item.id, byte_size=item.byte_size)
                for item in left.values()
                if item.id in still and still[item.id].state in (DocumentState.UPLOADED, DocumentState.EXTRACTING)
            ]
        )


def lost_parts(
    documents: Sequence[DocumentPointers], whole_files: Collection[str], whole_texts: Collection[str]
) -> list[Drift]:
    """What documents name that is not there whole: pure. A text whose file is lost as well cannot be made again."""
    found: list[Drift] = []
    for item in documents:
        if item.file_id not in whole_files:
            found.append(
                Drift(DriftKind.LOST_FILE, item.organization_id, document_id=item.document_id, target_id=item.file_id)
            )
        elif item.text_id is not None and item.text_id not in whole_texts:
            found.append(
                Drift(
                    DriftKind.LOST_TEXT,
                    item.organization_id,
                    document_id=item.document_id,
                    target_id=item.text_id,
                    byte_size=item.byte_size,
                )
            )
    return found


class LostPartStage:
    """Documents whose file or text is gone, or incomplete."""

    name = "lost_parts"
    depth = Depth.FULL
    needs_everything = False

    def __init__(
        self, documents: DocumentSurvey, files: FileSurvey, texts: TextRepository, jobs: JobRepository
    ) -> None:
        self._documents = documents
        self._files = files
        self._texts = texts
        self._jobs = jobs

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        position: str | None = after
        while position is not None:
            keyed = await self._documents.pointers_after(organization_id, after=position, limit=BATCH)
            position = keyed[-1][0] if len(keyed) == BATCH else None
            documents = [document for _, document in keyed]
            candidates = await self._compare(documents)
            yield Batch(await self._confirmed(candidates) if candidates else [], after=position or "")

    async def _compare(self, documents: Sequence[DocumentPointers]) -> list[Drift]:
        files = await self._files.whole_among([item.file_id for item in documents])
        texts = await self._texts.whole_among([item.text_id for item in documents if item.text_id is not None])
        return lost_parts(documents, files, texts)

    async def _confirmed(self, candidates: Sequence[Drift]) -> list[Drift]:
        """Those that no extraction is about, and that are still so: a file or text may have been replaced meanwhile."""
        keys = {
            extract_request(item.organization_id, item.document_id or "").deduplication_key: item.document_id
            for item in candidates
        }
        covered = {keys[key] for key in await self._jobs.existing(keys)}
        pointers = await self._documents.pointers([item.document_id for item in candidates if item.document_id])
        found = await self._compare(list(pointers.values()))
        return [item for item in found if item.kind is DriftKind.LOST_FILE or item.document_id not in covered]
