"""The queue's rows on a real mongod: every arrow of the drawing in `analytiq.jobs.queue`, and its races."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from pymongo.asynchronous.client_session import AsyncClientSession

from analytiq import clock
from analytiq.errors import LeaseLostError
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobRequest, JobState, Priority, Progress
from analytiq.models.job_payloads import SyncPayload
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.job_leases import CANDIDATES
from analytiq.storage.repositories.jobs import JobQuery, JobRepository
from analytiq.storage.transactions import run_in_transaction

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]
KEY = "sync:kb:document"
FAILURE = Failure(code="temporarily_unavailable", detail="it costs $5", at=clock.now())


@pytest.fixture
def jobs(migrated: MongoConnection) -> JobRepository:
    return JobRepository(migrated)


def request(document_id: str = "document", *, kb_id: str = "kb", **options: Any) -> JobRequest:
    payload = SyncPayload(kb_id=kb_id, document_id=document_id)
    return JobRequest(payload=payload, organization_id="organization", **options)


async def claim(jobs: JobRepository, *, lease_seconds: float = 30.0, kind: JobKind = JobKind.SYNC) -> Job:
    job = await claim_or_none(jobs, lease_seconds=lease_seconds, kind=kind)
    assert job is not None
    return job


async def claim_or_none(
    jobs: JobRepository, *, lease_seconds: float = 30.0, kind: JobKind = JobKind.SYNC
) -> Job | None:
    return await jobs.claim([kind], worker="$w", lease_token=new_id(), lease_seconds=lease_seconds)


async def row(jobs: JobRepository, key: str = KEY) -> Job:
    job = await jobs.get(key)
    assert job is not None
    return job


async def rescued(jobs: JobRepository, eventually: EventuallyTrue, *, max_deaths: int = 8) -> None:
    """Wait until a lease has run out and its job was taken back."""

    async def is_rescued() -> bool:
        return await jobs.rescue(max_deaths=max_deaths) == 1

    await eventually(is_rescued)


async def test_same_work_asked_for_twice_is_one_row_that_counts(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    await jobs.enqueue([request(), request("other")])
    assert (await row(jobs)).wanted == 2
    assert (await row(jobs, "sync:kb:other")).wanted == 1


async def test_work_is_what_runs_and_what_is_due(jobs: JobRepository) -> None:
    await jobs.enqueue([request(), request("other"), request("third"), request("later", delay_seconds=3600)])
    assert await jobs.count_waiting(JobKind.SYNC) == 4
    first = await claim(jobs)
    assert await jobs.count_waiting(JobKind.SYNC) == 3, "a running job does not wait"
    assert await jobs.count_waiting(JobKind.SWEEP) == 0
    assert await jobs.count_work() == 3, "the running job and two due ones"
    assert await jobs.bury(await claim(jobs), FAILURE)
    assert await jobs.count_work() == 2, "a failed job is no work"
    assert await jobs.retry(first, FAILURE, delay_seconds=3600)
    assert await jobs.count_work() == 1, "nor is one that waits for its next attempt"


async def test_fifty_callers_at_once_are_all_counted(jobs: JobRepository) -> None:
    await asyncio.gather(*(jobs.enqueue([request()]) for _ in range(50)))
    assert (await row(jobs)).wanted == 50


async def test_fifty_transactions_at_once_are_all_counted(migrated: MongoConnection, jobs: JobRepository) -> None:
    async def operation(session: AsyncClientSession) -> None:
        await jobs.enqueue([request()], session=session)

    await asyncio.gather(*(run_in_transaction(migrated, operation) for _ in range(50)))
    assert (await row(jobs)).wanted == 50


async def test_aborted_change_leaves_no_job(migrated: MongoConnection, jobs: JobRepository) -> None:
    async def operation(session: AsyncClientSession) -> None:
        await jobs.enqueue([request()], session=session)
        raise LookupError

    with pytest.raises(LookupError):
        await run_in_transaction(migrated, operation)
    assert await jobs.get(KEY) is None


async def test_finished_work_leaves_no_row(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    await jobs.finish(await claim(jobs))
    assert await jobs.get(KEY) is None


async def test_work_asked_for_while_it_runs_runs_again_afresh(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    job = await claim(jobs)
    await jobs.enqueue([request()])
    assert await claim_or_none(jobs) is None
    await jobs.finish(job)
    again = await claim(jobs)
    assert (again.attempt, again.wanted, again.served) == (1, 2, 2)
    await jobs.finish(again)
    assert await jobs.get(KEY) is None


async def test_second_request_is_the_more_urgent_of_both_and_the_sooner(jobs: JobRepository) -> None:
    await jobs.enqueue([request(priority=Priority.CLEANING, delay_seconds=3600)])
    assert await claim_or_none(jobs) is None
    await jobs.enqueue([request(priority=Priority.BULK)])
    await jobs.enqueue([request(priority=Priority.CLEANING, delay_seconds=3600)])
    job = await claim(jobs)
    assert job.priority == Priority.BULK


async def test_urgent_work_goes_first_whatever_its_age(jobs: JobRepository) -> None:
    await jobs.enqueue([request(f"bulk {number}", priority=Priority.BULK) for number in range(30)])
    await jobs.enqueue([request("urgent", priority=Priority.INTERACTIVE)])
    assert (await claim(jobs)).subject.document_id == "urgent"


async def test_worker_claims_only_the_kinds_that_it_can_do(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    assert await claim_or_none(jobs, kind=JobKind.EXTRACT) is None
    assert (await claim(jobs)).worker == "$w"


async def test_two_hundred_claims_at_once_never_take_the_same_job(jobs: JobRepository) -> None:
    await jobs.enqueue([request(str(number)) for number in range(60)])
    taken: list[str] = []

    async def worker() -> None:
        # None may mean that others were faster; only an empty queue ends a worker.
        while ("sync", "available") in await jobs.counts():
            job = await claim_or_none(jobs)
            if job is not None:
                taken.append(job.id)

    await asyncio.gather(*(worker() for _ in range(12)))
    assert len(taken) == 60
    assert len(set(taken)) == 60


async def test_open_transaction_on_the_head_job_does_not_block_claims(
    migrated: MongoConnection, jobs: JobRepository
) -> None:
    await jobs.enqueue([request("head", priority=Priority.INTERACTIVE)])
    await jobs.enqueue([request("next", priority=Priority.BULK)])
    async with migrated.client.start_session() as session:
        await session.start_transaction()
        await jobs.enqueue([request("head")], session=session)
        async with asyncio.timeout(20):  # the transaction stays open for ever, as far as claims can tell
            assert (await claim(jobs)).subject.document_id == "next"
            assert await claim_or_none(jobs) is None
        await session.abort_transaction()
    assert (await claim(jobs)).subject.document_id == "head"


async def test_claim_looks_beyond_jobs_that_others_hold(jobs: JobRepository) -> None:
    await jobs.enqueue([request(str(number)) for number in range(CANDIDATES * 2)])
    claims = await asyncio.gather(*(claim_or_none(jobs) for _ in range(CANDIDATES)))
    found = [job.id for job in claims if job is not None]
    assert len(set(found)) == len(found) == CANDIDATES


async def test_job_whose_lease_ran_out_is_taken_up_by_another(jobs: JobRepository, eventually: EventuallyTrue) -> None:
    await jobs.enqueue([request()])
    first = await claim(jobs, lease_seconds=0.2)
    await rescued(jobs, eventually)
    second = await claim(jobs)
    assert second.attempt == 2
    assert second.lease_token != first.lease_token


@pytest.mark.parametrize("is_in_transaction", [True, False], ids=["in a transaction", "outside"])
async def test_worker_that_lost_its_lease_finishes_nothing(
    migrated: MongoConnection, jobs: JobRepository, eventually: EventuallyTrue, is_in_transaction: bool
) -> None:
    await jobs.enqueue([request()])
    stale = await claim(jobs, lease_seconds=0.2)
    await rescued(jobs, eventually)
    fresh = await claim(jobs)

    async def commit(session: AsyncClientSession) -> None:
        await migrated.database["tags"].insert_one({"name": "what the stale worker wrote"}, session=session)
        await jobs.finish(stale, session=session)

    with pytest.raises(LeaseLostError, match=KEY):
        await (run_in_transaction(migrated, commit) if is_in_transaction else jobs.finish(stale))
    assert await migrated.database["tags"].count_documents({}) == 0
    assert (await row(jobs)).lease_token == fresh.lease_token


async def test_worker_that_lost_its_lease_writes_no_other_outcome_either(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    await jobs.enqueue([request()])
    stale = await claim(jobs, lease_seconds=0.2)
    await rescued(jobs, eventually)
    await claim(jobs)
    before = await row(jobs)
    assert not await jobs.heartbeat(stale, lease_seconds=3600)
    assert not await jobs.report_progress(stale, Progress(done=1, total=2, unit="chunks"))
    assert not await jobs.retry(stale, FAILURE, delay_seconds=0)
    assert not await jobs.bury(stale, FAILURE)
    assert not await jobs.give_back(stale)
    assert await row(jobs) == before


async def test_heartbeat_renews_the_lease(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    job = await claim(jobs, lease_seconds=600)
    assert await jobs.heartbeat(job, lease_seconds=7200)
    renewed, first = (await row(jobs)).lease_expires_at, job.lease_expires_at
    assert renewed is not None
    assert first is not None
    assert (renewed - first).total_seconds() > 6000
    assert await jobs.rescue(max_deaths=8) == 0


async def test_failed_attempt_waits_and_says_why(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    assert await jobs.retry(await claim(jobs), FAILURE, delay_seconds=3600)
    assert await claim_or_none(jobs) is None
    waiting = await row(jobs)
    assert (waiting.state, waiting.attempt, waiting.error) == (JobState.AVAILABLE, 1, FAILURE)
    assert (waiting.lease_token, waiting.lease_expires_at, waiting.worker) == (None, None, None)


async def test_wait_that_is_nobodys_fault_uses_up_no_attempt(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    for _ in range(3):
        assert await jobs.retry(await claim(jobs), FAILURE, delay_seconds=0, is_counted=False)
    assert (await claim(jobs)).attempt == 1


async def test_job_given_back_at_shutdown_is_due_at_once_and_the_attempt_does_not_count(
    jobs: JobRepository,
) -> None:
    await jobs.enqueue([request()])
    assert await jobs.give_back(await claim(jobs))
    assert (await row(jobs)).attempt == 0
    assert (await claim(jobs)).attempt == 1


async def test_dead_job_stays_visible_until_it_is_asked_for_again(jobs: JobRepository) -> None:
    await jobs.enqueue([request(priority=Priority.BULK)])
    assert await jobs.bury(await claim(jobs), FAILURE)
    dead = await row(jobs)
    assert (dead.state, dead.error, dead.attempt) == (JobState.DEAD, FAILURE, 1)
    assert await claim_or_none(jobs) is None
    await jobs.enqueue([request()])
    revived = await claim(jobs)
    assert (revived.attempt, revived.priority) == (1, Priority.INTERACTIVE)
    assert revived.created_at > dead.created_at


async def test_work_asked_for_while_its_last_attempt_ran_is_tried_once_more(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    job = await claim(jobs)
    await jobs.enqueue([request()])
    assert await jobs.bury(job, FAILURE)
    assert (await claim(jobs)).attempt == 1


async def test_job_that_kills_its_workers_is_buried(jobs: JobRepository, eventually: EventuallyTrue) -> None:
    await jobs.enqueue([request()])
    for attempt in (1, 2):
        assert (await claim(jobs, lease_seconds=0.2)).attempt == attempt
        await rescued(jobs, eventually, max_deaths=2)
    dead = await row(jobs)
    assert dead.state is JobState.DEAD
    assert dead.error is not None
    assert dead.error.code == "worker_died"
    assert "2 times" in dead.error.detail


async def test_work_asked_for_anew_is_not_buried_with_the_worker_that_died(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    await jobs.enqueue([request()])
    await claim(jobs, lease_seconds=0.2)
    await jobs.enqueue([request()])
    await rescued(jobs, eventually, max_deaths=1)
    again = await claim(jobs)
    assert (again.attempt, again.served) == (1, 2)


async def test_jobs_of_a_deleted_knowledge_base_are_forgotten_but_for_the_one_that_drops_it(
    jobs: JobRepository,
) -> None:
    await jobs.enqueue([request(), request("other"), request(kb_id="another")])
    await jobs.delete_of_kb("organization", "kb", but="sync:kb:other")
    assert await jobs.existing([KEY, "sync:kb:other", "sync:another:document"]) == {
        "sync:kb:other",
        "sync:another:document",
    }


async def test_only_tokens_of_running_jobs_are_held(jobs: JobRepository) -> None:
    await jobs.enqueue([request()])
    token = (await claim(jobs)).lease_token or ""
    assert await jobs.held_tokens({token, "another"}) == {token}
    assert await jobs.counts("organization") == {("sync", "running"): 1}
    assert await jobs.counts("another organization") == {}


async def test_failed_attempts_do_not_count_as_workers_that_died(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    await jobs.enqueue([request()])
    for _ in range(3):
        await jobs.retry(await claim(jobs), FAILURE, delay_seconds=0)
    await claim(jobs, lease_seconds=0.2)
    await rescued(jobs, eventually, max_deaths=2)
    assert ((await row(jobs)).state, (await row(jobs)).deaths) == (JobState.AVAILABLE, 1)


def listed_row(number: int, organization_id: str) -> dict[str, Any]:
    kind = list(JobKind)[number % len(JobKind)]
    now = clock.now()
    return {
        "_id": f"{kind.value}:{organization_id}:{number}",
        "kind": kind.value,
        "organization_id": organization_id,
        "lane": f"{organization_id}:-:{kind.value}",
        "subject": {"document_id": f"d{number}", "kb_id": None, "generation_id": None},
        "state": list(JobState)[number % len(JobState)].value,
        "priority": 0,
        "run_at": now,
        "wanted": 1,
        "created_at": now,
        "updated_at": now + timedelta(milliseconds=number),
    }


@pytest.mark.parametrize(
    "query",
    [JobQuery(), JobQuery(states=(JobState.DEAD, JobState.RUNNING)), JobQuery(kinds=(JobKind.SYNC, JobKind.SWEEP))],
    ids=["everything", "states", "kinds"],
)
async def test_page_reads_no_more_than_it_shows_however_many_there_are(
    migrated: MongoConnection, jobs: JobRepository, query: JobQuery
) -> None:
    database = migrated.database
    await database["jobs"].insert_many([listed_row(number, "ours") for number in range(3000)])
    await database["jobs"].insert_many([listed_row(number, "theirs") for number in range(3000)])
    await database.command("profile", 2)
    try:
        page = await jobs.page("ours", query, skip=0, limit=10)
    finally:
        await database.command("profile", 0)
    reads = [row async for row in database["system.profile"].find({"command.find": "jobs"})]
    await database["system.profile"].drop()
    (read,) = reads
    assert (read["docsExamined"], read.get("hasSortStage", False)) == (10, False)
    expected = [
        row
        for row in sorted(
            (listed_row(number, "ours") for number in range(3000)), key=lambda row: row["updated_at"], reverse=True
        )
        if (not query.states or row["state"] in query.states) and (not query.kinds or row["kind"] in query.kinds)
    ]
    assert [job.id for job in page.jobs] == [row["_id"] for row in expected[:10]]
    assert (page.total_count, page.total_count_is_at_least) == (len(expected), False)


async def test_matches_are_counted_up_to_a_bound_that_is_told(
    migrated: MongoConnection, jobs: JobRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.storage.repositories.jobs.MOST_COUNTED", 20)
    await migrated.database["jobs"].insert_many([listed_row(number, "ours") for number in range(20)])
    page = await jobs.page("ours", JobQuery(), skip=5, limit=5)
    assert (len(page.jobs), page.total_count, page.total_count_is_at_least) == (5, 20, False)
    await migrated.database["jobs"].insert_one(listed_row(20, "ours"))
    page = await jobs.page("ours", JobQuery(), skip=0, limit=5)
    assert (page.total_count, page.total_count_is_at_least) == (20, True)
