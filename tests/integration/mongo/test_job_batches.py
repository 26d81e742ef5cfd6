"""Jobs claimed and finished together, on a real mongod."""

from collections.abc import Sequence

import pytest
from pymongo.asynchronous.client_session import AsyncClientSession

from analytiq import clock
from analytiq.errors import LeaseLostError
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobRequest, JobState, Priority
from analytiq.models.job_payloads import SyncPayload
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.transactions import run_in_transaction

FAILURE = Failure(code="rate_limited", detail="it costs $5", at=clock.now())
LANE = "organization:kb:sync"


@pytest.fixture
def jobs(migrated: MongoConnection) -> JobRepository:
    return JobRepository(migrated)


def request(document_id: str, *, kb_id: str = "kb", priority: int = Priority.INTERACTIVE) -> JobRequest:
    payload = SyncPayload(kb_id=kb_id, document_id=document_id)
    return JobRequest(payload=payload, organization_id="organization", priority=priority)


async def enqueue(jobs: JobRepository, count: int) -> None:
    await jobs.enqueue([request(f"{number:03}") for number in range(count)])


async def claim(jobs: JobRepository, limit: int = 32, *, lease_seconds: float = 30.0) -> list[Job]:
    return await jobs.claim_many(
        [JobKind.SYNC], worker="$w", lease_token=new_id(), lease_seconds=lease_seconds, lane=LANE, limit=limit
    )


async def row(jobs: JobRepository, document_id: str) -> Job:
    job = await jobs.get(f"sync:kb:{document_id}")
    assert job is not None
    return job


def documents(found: Sequence[Job]) -> set[str | None]:
    return {job.subject.document_id for job in found}


async def test_jobs_of_a_partition_are_claimed_with_one_token_up_to_the_limit(jobs: JobRepository) -> None:
    await enqueue(jobs, 10)
    await jobs.enqueue([request("000", kb_id="other")])
    first, second, third = await claim(jobs, 7), await claim(jobs, 7), await claim(jobs, 7)
    assert (len(first), len(second), third) == (7, 3, [])
    assert documents(first) | documents(second) == {f"{number:03}" for number in range(10)}
    assert len({job.lease_token for job in first}) == 1
    assert {(job.state, job.attempt, job.served, job.worker) for job in first} == {(JobState.RUNNING, 1, 1, "$w")}


async def test_urgent_jobs_are_not_claimed_together_with_bulk(jobs: JobRepository) -> None:
    await jobs.enqueue([request("bulk", priority=Priority.BULK)])
    await jobs.enqueue([request("single")])
    assert documents(await claim(jobs)) == {"single"}
    assert documents(await claim(jobs)) == {"bulk"}


async def test_jobs_that_were_tried_cost_a_worker_or_are_cancelled_are_left_to_run_alone(jobs: JobRepository) -> None:
    await enqueue(jobs, 6)
    marks = {"001": {"attempt": 1}, "002": {"deaths": 1}, "003": {"is_cancel_wanted": True}, "004": {"is_alone": True}}
    for document_id, mark in marks.items():
        later = {"$set": {**mark, "run_at": clock.now()}}
        await jobs._collection.update_one({"_id": f"sync:kb:{document_id}"}, later)
    assert documents(await claim(jobs)) == {"000", "005"}
    claims = [await claim(jobs) for _ in range(5)]
    assert [len(found) for found in claims] == [1, 1, 1, 1, 0]


async def test_claim_that_meets_a_locked_job_takes_all_others(migrated: MongoConnection, jobs: JobRepository) -> None:
    await enqueue(jobs, 20)
    async with migrated.client.start_session() as session:
        await session.start_transaction()
        await jobs.enqueue([request("011")], session=session)
        found = await claim(jobs)
        await session.abort_transaction()
    assert documents(found) == {f"{number:03}" for number in range(20)} - {"011"}
    assert (await row(jobs, "011")).state is JobState.AVAILABLE


async def test_finished_jobs_leave_no_row_but_those_that_were_requested_meanwhile(jobs: JobRepository) -> None:
    await enqueue(jobs, 5)
    found = await claim(jobs)
    await jobs.enqueue([request("002")])
    await jobs.finish_many(found)
    again = await claim(jobs)
    assert documents(again) == {"002"}
    assert (again[0].attempt, again[0].wanted, again[0].served) == (1, 2, 2)
    await jobs.finish_many(again)
    assert await jobs.counts() == {}


async def test_lease_that_another_took_aborts_the_whole_transaction(
    migrated: MongoConnection, jobs: JobRepository
) -> None:
    await enqueue(jobs, 5)
    found = await claim(jobs)
    await jobs._collection.update_one({"_id": "sync:kb:003"}, {"$set": {"lease_token": "another"}})

    async def commit(session: AsyncClientSession) -> None:
        await jobs.finish_many(found, session=session)

    with pytest.raises(LeaseLostError):
        await run_in_transaction(migrated, commit)
    assert await jobs.held_among(found) == {job.id for job in found} - {"sync:kb:003"}

    async def commit_held(session: AsyncClientSession) -> None:
        held = await jobs.held_among(found, session=session)
        await jobs.finish_many([job for job in found if job.id in held], session=session)

    await run_in_transaction(migrated, commit_held)
    assert (await row(jobs, "003")).lease_token == "another"
    assert await jobs.counts() == {("sync", "running"): 1}


async def test_jobs_are_deferred_and_returned_where_the_lease_is_held(jobs: JobRepository) -> None:
    await enqueue(jobs, 3)
    found = await claim(jobs)
    await jobs._collection.update_one({"_id": "sync:kb:002"}, {"$set": {"lease_token": "another"}})
    deferred = await jobs.retry_many(found, FAILURE, 60.0, is_counted=False)
    assert deferred == {"sync:kb:000", "sync:kb:001"}
    job = await row(jobs, "001")
    assert (job.state, job.attempt, job.error) == (JobState.AVAILABLE, 0, FAILURE)
    assert await claim(jobs) == []
    assert (await row(jobs, "002")).lease_token == "another"
    await jobs._collection.update_many({"_id": {"$ne": "sync:kb:002"}}, [{"$set": {"run_at": "$$NOW"}}])
    again = await claim(jobs)
    assert await jobs.give_back_many(again) == {job.id for job in again}
    assert documents(await claim(jobs)) == {"000", "001"}


async def test_heartbeat_renews_what_is_held_and_tells_of_cancelled_ones(jobs: JobRepository) -> None:
    await enqueue(jobs, 3)
    found = await claim(jobs, lease_seconds=5.0)
    await jobs._collection.update_one({"_id": "sync:kb:000"}, {"$set": {"lease_token": "another"}})
    await jobs.cancel("organization", "sync:kb:001", FAILURE)
    held = await jobs.heartbeat_many(found, lease_seconds=60.0)
    assert {job_id: state.is_cancel_wanted for job_id, state in held.items()} == {
        "sync:kb:001": True,
        "sync:kb:002": False,
    }
    before, after = found[2].lease_expires_at, (await row(jobs, "002")).lease_expires_at
    assert before is not None
    assert after is not None
    assert after > before
