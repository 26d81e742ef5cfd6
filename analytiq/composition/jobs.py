"""Services that run jobs: handlers, runners, and operators' views."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from analytiq.ingestion.ocr.language_data import installed_languages
from analytiq.jobs.queue.handling import DeclaredJobs, declared_by
from analytiq.jobs.queue.history import History
from analytiq.jobs.queue.operations import Jobs
from analytiq.jobs.queue.registry import WorkerRegistry
from analytiq.jobs.queue.runner import Handler, JobWork, QueueRunner
from analytiq.jobs.queue.stops import Stops
from analytiq.jobs.queue.workers import Workers
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind
from analytiq.operations.erasure.indexes import ErasedIndexes

if TYPE_CHECKING:
    from analytiq.composition.services import Services


class JobServices:
    """The queue of this installation."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._rows = services.repositories
        self._settings = services.settings

    @cached_property
    def declared(self) -> DeclaredJobs:
        """The handler of every kind of job and what follows it, as the services declare them."""
        services = self._services
        ingestion, assistants, operations = services.ingestion, services.assistants, services.operations
        return declared_by(
            [
                ingestion.extraction,
                ingestion.life_cycle,
                ingestion.sync,
                ingestion.sync_batches,
                ingestion.sweep,
                ingestion.cleaning,
                ingestion.source_running,
                ingestion.source_cleaning,
                assistants.running,
                assistants.runs,
                assistants.triggers,
                operations.reconciliations,
                operations.erasures,
                ErasedIndexes(operations.erasures, services.retrieval.backends),
            ]
        )

    @property
    def handlers(self) -> Mapping[JobKind, Handler]:
        """The handler of every kind of job."""
        return self.declared.handlers

    async def on_dead(self, job: Job, failure: Failure) -> None:
        """Do what the services declare for a job that has no attempt left."""
        await self.declared.on_dead(job, failure)

    async def on_settled_by_hand(self, job: Job) -> None:
        """Update the KB of a job that an operator has settled: outside of a worker nothing settles continuously."""
        await self.declared.on_settled(job)
        await self._services.ingestion.life_cycle.settle_noted()

    @cached_property
    def operations(self) -> Jobs:
        """Jobs for people: listed, cancelled, replayed."""
        rows = self._rows
        return Jobs(rows, on_dead=self.on_dead, on_settled=self.on_settled_by_hand)

    @cached_property
    def workers(self) -> Workers:
        """Worker processes."""
        return Workers(self._rows.workers)

    def new_history(self) -> History:
        """Build a runner's recorder of the attempts of its jobs."""
        rows = self._rows
        return History(rows.job_history, rows.documents, rows.knowledge_bases)

    def new_runner(self, *, reads_documents: bool = True) -> QueueRunner:
        """Build a runner of all kinds of jobs, for a worker process.

        Args:
            reads_documents: False leaves extractions to workers that can isolate parsers.
        """
        left_out = frozenset[JobKind]() if reads_documents else frozenset({JobKind.EXTRACT})
        work = JobWork(
            handlers={kind: handler for kind, handler in self.handlers.items() if kind not in left_out},
            on_settled=self.declared.on_settled,
            on_dead=self.declared.on_dead,
            find_stopped=Stops(self._rows.jobs, self._rows.documents).among,
            history=self.new_history(),
            batch_handlers={
                kind: handler for kind, handler in self.declared.batch_handlers.items() if kind not in left_out
            },
        )
        settings = self._settings
        return QueueRunner(self._rows.jobs, work, settings=settings.queue, concurrency=settings.worker.concurrency)

    def new_registry(self, runner: QueueRunner, *, problems: Sequence[str] = ()) -> WorkerRegistry:
        """Build the entry of a worker process that runs `runner`; `problems` keep it from doing all of its work."""
        return WorkerRegistry(self._rows, runner, installed_languages=installed_languages, problems=problems)
