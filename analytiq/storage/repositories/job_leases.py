"""Collection `jobs`: the state changes made by workers, from claim to outcome (drawn in `analytiq.jobs.queue`)."""

import random
from collections.abc import Collection
from dataclasses import dataclass

from pymongo import ReturnDocument
from pymongo.errors import ExecutionTimeout, OperationFailure
from pymongo.write_concern import WriteConcern

from analytiq.errors import LeaseLostError
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobState, Progress
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.job_expressions import (
    ASKED_AGAIN,
    CANCEL_IF_NOT_ASKED_AGAIN,
    DUE,
    NO_LEASE,
    WRITE_CONFLICT,
    claimed_by,
    due_of,
    finished_again,
    given_back,
    in_seconds,
    retried,
)
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.session import Session

CANDIDATES = 16
"""Due jobs considered by a claim: enough for many workers to avoid one another."""
CLAIM_ROUNDS = 3
"""Rounds of a claim if other workers were faster for every job considered."""
CLAIM_MILLISECONDS = 50
"""Time limit of a claim: a job locked by an open transaction is skipped, since the next one is free."""
RESCUE_MILLISECONDS = 200
"""As for a claim, but longer: this write waits for a majority as well, and there are few of them."""

_LEFT: Row = {"state": JobState.RUNNING.value, "$expr": {"$lt": ["$lease_expires_at", "$$NOW"]}}


@dataclass(frozen=True, slots=True)
class Held:
    """The job's lease is still held; `cancel_wanted` tells whether its cancellation was requested."""

    is_cancel_wanted: bool


class JobLeases:
    """Claims jobs and records their outcomes, under a lease."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["jobs"]
        # Claims and outcomes do not wait for a majority: a failover that loses one makes the job run again, which
        # every handler allows, and commits are fenced by the token. A claim that waited could run out of its few
        # milliseconds after it was made, and the job would have no worker until the lease ended. Requests do wait.
        self._by_primary = self._collection.with_options(write_concern=WriteConcern(w=1))

    async def claim(
        self,
        kinds: Collection[JobKind],
        *,
        worker: str,
        lease_token: str,
        lease_seconds: float,
        lane: str | None = None,
    ) -> Job | None:
        """Claim a due job, of one partition or of any, the most urgent first; return None if none is available.

        None may also mean that other workers were faster for each job considered: see `has_due`.
        """
        for _ in range(CLAIM_ROUNDS):
            candidates = await self._candidates(kinds, lane)
            for candidate in candidates:
                job = await self._take(candidate["_id"], worker, lease_token, lease_seconds)
                if job is not None:
                    return job
            if not candidates:
                break
        return None

    async def _candidates(self, kinds: Collection[JobKind], lane: str | None) -> list[Row]:
        cursor = self._collection.find(due_of(kinds, lane), {"priority": 1})
        candidates: list[Row] = [row async for row in cursor.sort([("priority", 1), ("run_at", 1)]).limit(CANDIDATES)]
        # Workers with the same candidates would all compete for the first; equal urgency may go in any order.
        candidates.sort(key=lambda row: (row["priority"], random.random()))  # noqa: S311
        return candidates

    async def _take(self, job_id: str, worker: str, lease_token: str, lease_seconds: float) -> Job | None:
        try:
            row: Row | None = await self._by_primary.find_one_and_update(
                {"_id": job_id, "state": JobState.AVAILABLE.value, **DUE},
                [{"$set": claimed_by(worker, lease_token, lease_seconds)}],
                return_document=ReturnDocument.AFTER,
                maxTimeMS=CLAIM_MILLISECONDS,
            )
        except ExecutionTimeout:
            return None
        except OperationFailure as error:
            if error.code == WRITE_CONFLICT:
                return None
            raise
        return decode(Job, row) if row else None

    async def heartbeat(self, job: Job, *, lease_seconds: float) -> Held | None:
        """Renew the lease; return None if it is lost."""
        row: Row | None = await self._by_primary.find_one_and_update(
            {"_id": job.id, "lease_token": job.lease_token},
            [{"$set": {"lease_expires_at": in_seconds(lease_seconds)}}],
            projection={"is_cancel_wanted": 1},
        )
        return None if row is None else Held(is_cancel_wanted=bool(row.get("is_cancel_wanted")))

    async def report_progress(self, job: Job, progress: Progress) -> bool:
        """Record the job's progress; return False if the lease is lost."""
        return await self._set_if_held(job, {"progress": progress.model_dump()})

    async def finish(self, job: Job, *, session: Session | None = None) -> None:
        """Complete the job: delete its row, or make it available again if it was requested meanwhile.

        Raises:
            LeaseLostError: another worker has it; in a transaction this aborts the stale worker's writes.
        """
        held = {"_id": job.id, "lease_token": job.lease_token}
        # Within a transaction the commit determines the write concern.
        done = await self._by_primary.delete_one({**held, "$expr": {"$eq": ["$wanted", "$served"]}}, session=session)
        if done.deleted_count:
            return
        released = await self._by_primary.update_one(held, [{"$set": finished_again()}], session=session)
        if not released.matched_count:
            raise LeaseLostError(f"The lease of job {job.id!r} was lost. Another worker continues the job.")

    async def retry(self, job: Job, failure: Failure, *, delay_seconds: float, is_counted: bool = True) -> bool:
        """Make the job available again later; return False if the lease is lost."""
        return await self._set_if_held(job, retried(failure, delay_seconds=delay_seconds, is_counted=is_counted))

    async def bury(self, job: Job, failure: Failure) -> bool:
        """Mark the job as failed for good; a request made meanwhile is tried once more all the same."""
        return await self._set_if_held(
            job,
            {
                **NO_LEASE,
                "is_cancel_wanted": False,
                "state": {"$cond": [ASKED_AGAIN, JobState.AVAILABLE.value, JobState.DEAD.value]},
                "attempt": {"$cond": [ASKED_AGAIN, 0, "$attempt"]},
                "deaths": {"$cond": [ASKED_AGAIN, 0, {"$ifNull": ["$deaths", 0]}]},
                "run_at": "$$NOW",
                "waiting_since": None,
                "error": {"$literal": failure.model_dump()},
            },
        )

    async def give_back(self, job: Job) -> bool:
        """Return an unfinished job at shutdown; the attempt does not count."""
        return await self._set_if_held(job, given_back())

    async def _set_if_held(self, job: Job, changes: Row) -> bool:
        result = await self._by_primary.update_one(
            {"_id": job.id, "lease_token": job.lease_token},
            [{"$set": {**changes, "updated_at": "$$NOW"}}],
        )
        return result.matched_count == 1

    async def rescue(self, *, max_deaths: int) -> int:
        """Release the jobs with an expired lease: their worker died, hangs or sleeps.

        A job that has cost `max_deaths` workers is dead-lettered: it probably kills them. A request made meanwhile is
        tried all the same, since the data may have changed.
        """
        deaths: Row = {"$add": [{"$ifNull": ["$deaths", 0]}, 1]}
        spent: Row = {"$and": [{"$gte": [deaths, max_deaths]}, {"$not": [ASKED_AGAIN]}]}
        died: Row = {
            "code": "worker_died",
            "detail": {"$concat": ["the worker stopped in the middle of it, ", {"$toString": deaths}, " times"]},
            "at": "$$NOW",
        }
        taken_back: Row = {
            **NO_LEASE,
            "is_cancel_wanted": CANCEL_IF_NOT_ASKED_AGAIN,
            "state": {"$cond": [spent, JobState.DEAD.value, JobState.AVAILABLE.value]},
            "attempt": {"$cond": [ASKED_AGAIN, 0, "$attempt"]},
            "deaths": {"$cond": [ASKED_AGAIN, 0, deaths]},
            "error": {"$cond": [spent, died, "$error"]},
            "run_at": "$$NOW",
            "updated_at": "$$NOW",
        }
        # One by one: a worker that dies within a transaction leaves it open on the server for a while, with its job
        # locked; the others need not wait for it.
        left = [str(row["_id"]) async for row in self._collection.find(_LEFT, {"_id": 1})]
        return sum([await self._take_back(job_id, taken_back) for job_id in left])

    async def _take_back(self, job_id: str, taken_back: Row) -> bool:
        try:
            row: Row | None = await self._collection.find_one_and_update(
                {"_id": job_id, **_LEFT}, [{"$set": taken_back}], projection={"_id": 1}, maxTimeMS=RESCUE_MILLISECONDS
            )
        except ExecutionTimeout:
            return False
        except OperationFailure as error:
            if error.code == WRITE_CONFLICT:
                return False
            raise
        return row is not None

    async def held_tokens(self, lease_tokens: Collection[str]) -> set[str]:
        """Return the lease tokens of jobs running now."""
        query: Row = {"lease_token": {"$in": list(lease_tokens)}, "state": JobState.RUNNING.value}
        return {str(row["lease_token"]) async for row in self._collection.find(query, {"lease_token": 1})}
