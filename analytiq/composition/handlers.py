"""Says which part does which kind of job, and what else follows of one."""

from collections.abc import Mapping

from analytiq.composition.documents import DocumentLives
from analytiq.composition.indexing import Indexing
from analytiq.composition.prompting import Prompting
from analytiq.jobs.queue.runner import Handler, OnDead, OnSettled, RunningJob
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind
from analytiq.operations.reconcile.runs import Runs
from analytiq.retrieval.backends.registry import Backends


def new_handlers(
    indexing: Indexing, lives: DocumentLives, prompting: Prompting, backends: Backends, reconciliations: Runs
) -> Mapping[JobKind, Handler]:
    """The handler of every kind of job."""

    async def handle_document_membership(running: RunningJob) -> None:
        await indexing.life_cycle.handle_document_membership(running)
        job = running.job
        if job.subject.document_id is not None:
            await prompting.triggers.run_on_document(
                job.organization_id, job.subject.document_id, request_id=job.request_id
            )

    async def drop_knowledge_base(running: RunningJob) -> None:
        await indexing.life_cycle.handle_drop(running)
        if running.job.subject.kb_id is not None:
            backends.forget(running.job.subject.kb_id)

    async def erase(running: RunningJob) -> None:
        await lives.erasures.handle(running)
        if running.job.subject.erasure_id is not None:
            for kb_id in (await lives.erasures.get(running.job.subject.erasure_id)).kb_ids:
                backends.forget(kb_id)

    return {
        JobKind.EXTRACT: indexing.extraction.handle,
        JobKind.MEMBERSHIP_DOCUMENT: handle_document_membership,
        JobKind.MEMBERSHIP_KB: indexing.life_cycle.handle_kb_membership,
        JobKind.SYNC: indexing.sync.handle,
        JobKind.SWEEP: indexing.sweep.handle,
        JobKind.CLEAN_DOCUMENT: lives.cleaning.handle,
        JobKind.DROP_KB: drop_knowledge_base,
        JobKind.ERASE: erase,
        JobKind.RECONCILE: reconciliations.handle,
        JobKind.RUN_PROMPT: prompting.running.handle,
        JobKind.MEMBERSHIP_PROMPT: prompting.triggers.handle_prompt_membership,
        JobKind.CLEAN_PROMPT: prompting.triggers.handle_clean,
    }


def new_on_dead(indexing: Indexing, prompting: Prompting) -> OnDead:
    """What fails with a job that has no attempt left: its document's text, or its run."""

    async def on_dead(job: Job, failure: Failure) -> None:
        await indexing.extraction.fail_document_of(job, failure)
        await prompting.runs.fail_run_of(job, failure)

    return on_dead


def new_on_settled(indexing: Indexing) -> OnSettled:
    """What follows of a job that an operator has settled: outside of a worker nothing settles continuously."""

    async def on_settled(job: Job) -> None:
        await indexing.life_cycle.after_job(job)
        await indexing.life_cycle.settle_noted()

    return on_settled
