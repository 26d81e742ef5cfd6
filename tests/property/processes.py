"""The processes of a run: each has the whole library to itself, as an API server or a worker has."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from pydantic import SecretStr

from analytiq.composition import Services, compose
from analytiq.errors import AnalytiqError
from analytiq.inference.credentials.encryption import new_secret_key
from analytiq.inference.embedding.base import BeforeRepeat, InputType, Vectors
from analytiq.inference.embedding.providers.local import LOCAL_MODEL
from analytiq.ingestion.knowledge_bases.service import NewKnowledgeBase
from analytiq.ingestion.upload.store import StagedFile, UploadResult
from analytiq.jobs.queue.runner import JobWork, QueueRunner, RunningJob
from analytiq.jobs.queue.stops import Stops
from analytiq.models.job import Job
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.models.upload import DuplicatePolicy
from analytiq.settings import (
    QueueSettings,
    ReconcilerSettings,
    SearchSettings,
    Settings,
)
from analytiq.storage.client import MongoConnection, translate
from analytiq.storage.session import DatabaseError
from tests.fakes.bag_of_words import bag_of_words
from tests.integration.tenant import blocks
from tests.property.model import Content

DIMENSIONS = 16
DIRECT_BYTES = 60
"""Files up to this length are written with their document: texts of one line are, of two lines are not."""
ENDLESS_SECONDS = 1e6

Launch = Callable[..., Awaitable[Services]]


class TinyEmbedder:
    """Stands in for the local model, whose loading and computing would be most of a run."""

    def __init__(self, model: str, *_: object, **__: object) -> None:
        self.model = model
        self.batch_size = 2
        self.dimensions = DIMENSIONS
        self.has_tokenizer = True

    async def embed(
        self, texts: Sequence[str], *, input_type: InputType, before_repeat: BeforeRepeat | None = None
    ) -> Vectors:
        assert input_type in InputType
        return bag_of_words(texts, DIMENSIONS)

    def known_share(self, _: str) -> float:
        return 1.0


def launcher(connection: MongoConnection, directory: Path, patch: pytest.MonkeyPatch) -> Launch:
    """A function that starts a process of the platform."""
    patch.setattr("analytiq.inference.embedding.models.LocalEmbedder", TinyEmbedder)
    # A beat would come at a moment of its own, and a run could not be repeated.
    patch.setattr("analytiq.inference.embedding.filling.RENEWALS", 0.001)
    # A process that stands still, or is dead, keeps the others from its texts for so long.
    patch.setattr("analytiq.inference.embedding.service.CLAIM_LEASE_SECONDS", 0.2)
    patch.setattr("analytiq.ingestion.indexing.staging.STAGE_BATCH_SIZE", 1)
    patch.setattr("analytiq.ingestion.upload.store.WITH_DOCUMENT_BYTES", DIRECT_BYTES)
    secret_key = SecretStr(new_secret_key())

    async def launch(*, grace_seconds: float = 3600.0) -> Services:
        settings = Settings(
            data_dir=directory,
            secret_key=secret_key,
            # Many crashes in a row are no fault of the job.
            queue=QueueSettings(lease_seconds=ENDLESS_SECONDS, max_attempts=1000),
            search=SearchSettings(load_wait_seconds=30.0),
            reconciler=ReconcilerSettings(orphan_grace_seconds=grace_seconds),
        )
        return await compose(settings, connection)

    return launch


class SteppedRunner(QueueRunner):
    """Runs a job when it is told to; its heartbeat beats when it is told to."""

    def __init__(self, services: Services) -> None:
        work = JobWork(
            handlers=services.jobs.handlers,
            on_settled=services.jobs.declared.on_settled,
            on_dead=services.jobs.declared.on_dead,
            find_stopped=Stops(services.repositories.jobs, services.repositories.documents).among,
            history=services.jobs.new_history(),
        )
        super().__init__(services.repositories.jobs, work, settings=services.settings.queue, concurrency=1)
        self.unforeseen: list[Exception] = []
        self._life_cycle = services.ingestion.life_cycle
        self._work_in_hand: asyncio.Task[None] | None = None

    async def run_job(self, job: Job) -> None:
        """The whole of an attempt, and what its process does soon after."""
        await self._run_job(job)
        await self._history.flush()
        await self._life_cycle.settle_noted()

    def stop_work(self) -> None:
        """Act as a heartbeat does that finds the lease lost."""
        if self._work_in_hand is not None:
            self._work_in_hand.cancel()

    async def _heartbeat(self, running: RunningJob, work: asyncio.Task[None]) -> None:
        self._work_in_hand = work

    async def _settle_failure(self, running: RunningJob, error: Exception) -> bool:
        foreseen = isinstance(error, AnalytiqError) or (isinstance(error, DatabaseError) and translate(error))
        if not foreseen:
            self.unforeseen.append(error)
        return await super()._settle_failure(running, error)


async def stage(services: Services, organization_id: str, name: str, content: Content) -> StagedFile:
    """The first half of an upload."""
    return await services.ingestion.uploads.stage(
        organization_id, document_name=name, content_type="text/plain", source=blocks(content.text)
    )


async def commit(
    services: Services, staged: StagedFile, *, tag_ids: tuple[str, ...] | None, policy: DuplicatePolicy
) -> UploadResult:
    """The second half of an upload."""
    return await services.ingestion.uploads.commit(staged, tag_ids=tag_ids, metadata=None, policy=policy)


async def create_knowledge_base(
    services: Services, organization: Organization, name: str, tag_ids: tuple[str, ...]
) -> KnowledgeBase:
    """Chunks are about as long as a line of `Content`."""
    wanted = NewKnowledgeBase(
        name=name,
        description="",
        tag_ids=tag_ids,
        chunker_type="token",
        chunk_size=12,
        chunk_overlap=0,
        embedding_model=LOCAL_MODEL,
        coalesce_neighbors=0,
    )
    return await services.ingestion.knowledge_bases.create(organization, wanted)
