"""Work of jobs, and what follows it, as services declare them."""

from typing import Any, cast

import pytest

from analytiq import clock
from analytiq.errors import PermanentError
from analytiq.jobs.queue.handling import after_attempt, declared_by, follows, job, when_dead
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobState, JobSubject
from analytiq.models.job_payloads import ExtractPayload, SweepPayload, SyncPayload

FAILURE = Failure(code="broken", detail="It is broken.", at=clock.now())


class Worker:
    def __init__(self) -> None:
        self.done: list[str] = []

    @job(SyncPayload)
    async def sync(self, running: RunningJob, payload: SyncPayload) -> None:
        self.done.append(f"sync {payload.document_id}")

    @job(SweepPayload)
    async def sweep(self, running: RunningJob, payload: SweepPayload) -> None:
        raise RuntimeError

    @when_dead(SyncPayload)
    async def mourn(self, job: Job, payload: SyncPayload, failure: Failure) -> None:
        self.done.append(f"{failure.code} {payload.document_id}")


class Follower:
    def __init__(self, done: list[str]) -> None:
        self._done = done

    @follows(SyncPayload)
    async def after_sync(self, running: RunningJob, payload: SyncPayload) -> None:
        self._done.append(f"followed {payload.kb_id}")

    @follows(SweepPayload)
    async def after_sweep(self, running: RunningJob, payload: SweepPayload) -> None:
        self._done.append("swept")

    @after_attempt(SyncPayload, SweepPayload)
    async def settle(self, job: Job, payload: SyncPayload | SweepPayload) -> None:
        self._done.append(f"settled {payload.kb_id}")


class Orphan:
    @follows(ExtractPayload)
    async def after_extraction(self, running: RunningJob, payload: ExtractPayload) -> None: ...


def queued(kind: JobKind, **subject: str) -> Job:
    now = clock.now()
    return Job(
        id=f"{kind.value}:1", kind=kind, organization_id="o", lane="l", subject=JobSubject(**subject),
        state=JobState.RUNNING, priority=0, run_at=now, wanted=1, created_at=now, updated_at=now,
    )  # fmt: skip


def running(job: Job) -> RunningJob:
    return RunningJob(job, cast("Any", None))


SYNC = queued(JobKind.SYNC, kb_id="k", document_id="d")
SWEEP = queued(JobKind.SWEEP, kb_id="k", generation_id="g")
EXTRACT = queued(JobKind.EXTRACT, document_id="d")
MALFORMED = queued(JobKind.SYNC, kb_id="k")


async def test_followers_come_after_the_handler_and_not_after_its_failure() -> None:
    worker = Worker()
    handlers = declared_by([Follower(worker.done), worker]).handlers
    await handlers[JobKind.SYNC](running(SYNC))
    assert worker.done == ["sync d", "followed k"]
    with pytest.raises(RuntimeError):
        await handlers[JobKind.SWEEP](running(SWEEP))
    assert worker.done == ["sync d", "followed k"]


async def test_job_without_a_name_of_its_payload_is_dead_at_once_and_calls_nothing() -> None:
    worker = Worker()
    declared = declared_by([worker, Follower(worker.done)])
    with pytest.raises(PermanentError, match="document_id") as caught:
        await declared.handlers[JobKind.SYNC](running(MALFORMED))
    assert caught.value.code == "malformed_job"
    await declared.on_dead(MALFORMED, FAILURE)
    await declared.on_settled(MALFORMED)
    assert worker.done == []


async def test_callbacks_are_those_of_the_kind() -> None:
    worker = Worker()
    declared = declared_by([worker, Follower(worker.done)])
    for ended in (SYNC, SWEEP, EXTRACT):
        await declared.on_dead(ended, FAILURE)
        await declared.on_settled(ended)
    assert worker.done == ["broken d", "settled k", "settled k"]


def test_two_handlers_of_a_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="sync"):
        declared_by([Worker(), Worker()])


def test_followers_of_a_kind_without_a_handler_are_refused() -> None:
    with pytest.raises(ValueError, match="extract"):
        declared_by([Worker(), Orphan()])
