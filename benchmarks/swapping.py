"""The steps of a swap one by one, with given vectors: indexing without chunking and embedding."""

import asyncio
from collections.abc import Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from analytiq import clock
from analytiq.ingestion.documents.naming import identity_of
from analytiq.ingestion.indexing.commit import Commit
from analytiq.ingestion.indexing.staging import STAGE_BATCH_SIZE
from analytiq.ingestion.indexing.sweep import Sweep
from analytiq.ingestion.membership import sync_request
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.document import Document, DocumentState
from analytiq.models.index_entry import Generation, GenerationState
from analytiq.models.job import JobKind
from analytiq.models.job_payloads import SweepPayload
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.generations import GenerationRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from benchmarks.platform_under_test import Platform

CHUNK_TEXT = "The quick brown fox jumps over the lazy dog and thinks about retrieval. " * 14
"""About 1,000 characters, like a chunk of 256 tokens."""
DIMENSIONS = 64
CHUNKS = 2
"""Chunks of a small document, for measuring its commit."""


def random_vectors(rows: int, dimensions: int, *, seed: int) -> NDArray[np.float32]:
    """Return vectors of length 1 in random directions."""
    vectors = np.random.default_rng(seed).standard_normal((rows, dimensions), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def rows_of(matrix: NDArray[np.float32]) -> list[VectorRow]:
    """Return chunks with these vectors."""
    return [
        VectorRow(
            chunk_index=index,
            chunk_hash=f"{index:064x}",
            chunk_text=CHUNK_TEXT,
            embedding=vector,
            token_count=250,
            start=index * len(CHUNK_TEXT),
            end=(index + 1) * len(CHUNK_TEXT),
            first_page=1,
            last_page=1,
        )
        for index, vector in enumerate(matrix)
    ]


class Swapping:
    """Stages, commits and sweeps documents of one knowledge base."""

    def __init__(self, target: Platform, knowledge_base: KnowledgeBase) -> None:
        connection = target.services.connection
        self._target = target
        self._knowledge_base = knowledge_base
        self._connection = connection
        self._jobs = target.services.repositories.jobs
        self._documents = DocumentRepository(connection)
        self._generations = GenerationRepository(connection)
        self._vectors = VectorRepository(connection)
        self._batch_size = STAGE_BATCH_SIZE
        self._commit = Commit(target.services.repositories, target.services.settings.indexing)
        self._sweep = Sweep(target.services.repositories, target.services.retrieval.backends)

    async def create_document(self, name: str, metadata: dict[str, JsonValue]) -> Document:
        """Create a document whose text counts as extracted."""
        now = clock.now()
        document = Document(
            id=new_id(),
            organization_id=self._target.organization.id,
            document_name=name,
            identity=identity_of(name, name),
            sha256=name,
            byte_size=1,
            content_type="text/plain",
            file_id=new_id(),
            state=DocumentState.EXTRACTED,
            tag_ids=(self._target.tag.id,),
            metadata=metadata,
            text_id=new_id(),
            text_hash=name,
            page_count=1,
            character_count=1,
            created_at=now,
            updated_at=now,
        )

        async def insert(session: Session) -> None:
            await self._documents.insert_unless_known(session, document)

        await run_in_transaction(self._connection, insert)
        return document

    async def claim_sync(self, document: Document) -> RunningJob:
        """Enqueue the document's sync and claim it."""
        request = sync_request(document.organization_id, self._knowledge_base.id, document.id)
        await self._jobs.enqueue([request])
        return await self._claim(JobKind.SYNC)

    async def stage(self, running: RunningJob, document: Document, rows: Sequence[VectorRow]) -> Generation:
        """Write the vectors of a new generation."""
        now = clock.now()
        generation = Generation(
            id=new_id(),
            organization_id=document.organization_id,
            kb_id=self._knowledge_base.id,
            document_id=document.id,
            state=GenerationState.STAGING,
            chunk_count=len(rows),
            lease_token=running.job.lease_token or "",
            created_at=now,
            updated_at=now,
        )
        await self._generations.insert(generation)
        owner = VectorOwner(
            organization_id=document.organization_id,
            kb_id=self._knowledge_base.id,
            vectors_uuid=self._knowledge_base.vectors_uuid,
            document_id=document.id,
            generation_id=generation.id,
            metadata_snapshot={"document_name": document.document_name, "metadata": document.metadata},
            indexed_at=now,
        )
        for start in range(0, len(rows), self._batch_size):
            await self._vectors.stage(owner, rows[start : start + self._batch_size])
        return generation

    async def commit(self, running: RunningJob, document: Document, generation: Generation) -> None:
        """Make the generation current; its predecessor's sweep is enqueued."""
        await self._commit.make_current(running, self._knowledge_base, document, generation)

    async def sweep(self) -> None:
        """Delete the vectors of the former generation."""
        running = await self._claim(JobKind.SWEEP)
        await self._sweep.handle(running, SweepPayload.from_job(running.job))
        await self._jobs.finish(running.job)

    async def index(self, name: str, metadata: dict[str, JsonValue], matrix: NDArray[np.float32]) -> Document:
        """Create a searchable document with these vectors."""
        document = await self.create_document(name, metadata)
        running = await self.claim_sync(document)
        generation = await self.stage(running, document, rows_of(matrix))
        await self.commit(running, document, generation)
        return document

    async def _claim(self, kind: JobKind) -> RunningJob:
        job = await self._jobs.claim([kind], worker="benchmark", lease_token=new_id(), lease_seconds=3600)
        if job is None:
            raise SystemExit(f"no {kind.value} job is due, so nothing can be measured")
        return RunningJob(job, self._jobs)


Staged = tuple[Swapping, RunningJob, Document, Generation]


async def staged(targets: Sequence[Swapping], count: int, *, dimensions: int = DIMENSIONS) -> list[Staged]:
    """Stage `count` documents, spread over the knowledge bases, that only need their commit."""
    rows = rows_of(random_vectors(CHUNKS, dimensions, seed=1))
    found: list[Staged] = []
    for number in range(count):
        swapping = targets[number % len(targets)]
        document = await swapping.create_document(f"{new_id()}.txt", {})
        running = await swapping.claim_sync(document)
        found.append((swapping, running, document, await swapping.stage(running, document, rows)))
    return found


async def commit_all(items: list[Staged], workers: int) -> list[float]:
    """Commit everything with the given number of workers; return the seconds of each commit."""
    waiting = list(reversed(items))
    seconds: list[float] = []

    async def work() -> None:
        while waiting:
            swapping, running, document, generation = waiting.pop()
            began = perf_counter()
            await swapping.commit(running, document, generation)
            seconds.append(perf_counter() - began)

    await asyncio.gather(*(work() for _ in range(workers)))
    return seconds
