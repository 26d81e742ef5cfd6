"""Collection `jobs`: the queue's rows and the moves between their states (drawn in `analytiq.queue`).

All times that decide something are the server's ($$NOW), so that no worker's clock counts.
"""

import random
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from pymongo import IndexModel, ReturnDocument, UpdateOne
from pymongo.errors import ExecutionTimeout, OperationFailure
from pymongo.write_concern import WriteConcern

from analytiq.errors import LeaseLostError
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobRequest, JobState, Progress
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.repositories.rows import Row, decode
from analytiq.mongo.session import Session
from analytiq.telemetry import traces

INDEXES = {
    "jobs": [
        IndexModel([("state", 1), ("priority", 1), ("run_at", 1)]),
        IndexModel([("state", 1), ("run_at", 1)]),
        IndexModel([("state", 1), ("lease_expires_at", 1)]),
        IndexModel([("state", 1), ("kind", 1)]),
        IndexModel([("lane", 1), ("state", 1), ("priority", 1), ("run_at", 1)]),
        IndexModel([("subject.kb_id", 1), ("state", 1), ("created_at", 1)]),
        IndexModel([("subject.document_id", 1), ("state", 1)]),
        IndexModel([("organization_id", 1), ("state", 1), ("updated_at", -1)]),
    ],
}

CANDIDATES = 16
"""How many due jobs a claim looks at: enough for many workers to miss one another."""
CLAIM_ROUNDS = 3
"""How often a claim looks anew where others were faster for every job that it saw."""
CLAIM_MILLISECONDS = 50
"""A claim gives up a job that an open transaction holds, instead of waiting for it: the next one is free."""
RESCUE_MILLISECONDS = 200
"""As for a claim, but longer: this write waits for a majority as well, and there are few of them."""
_WRITE_CONFLICT = 112

_LEFT: Row = {"state": JobState.RUNNING.value, "$expr": {"$lt": ["$lease_expires_at", "$$NOW"]}}
_DUE: Row = {"$expr": {"$lte": ["$run_at", "$$NOW"]}}
_ASKED_AGAIN: Row = {"$gt": ["$wanted", "$served"]}
"""The work was asked for while it was running: what ends the attempt does not end that wish."""
_CANCEL_IF_NOT_ASKED_AGAIN: Row = {"$and": [{"$ifNull": ["$is_cancel_wanted", False]}, {"$not": [_ASKED_AGAIN]}]}
_ONE_ATTEMPT_LESS: Row = {"$max": [0, {"$subtract": ["$attempt", 1]}]}
_NO_LEASE: Row = {
    "lease_token": None,
    "lease_expires_at": None,
    "worker": None,
    "served": None,
    "progress": None,
}


def _due_of(kinds: Collection[JobKind], lane: str | None) -> Row:
    due: Row = {"state": JobState.AVAILABLE.value, "kind": {"$in": [kind.value for kind in kinds]}, **_DUE}
    return due if lane is None else {"lane": lane, **due}


@dataclass(frozen=True, slots=True)
class Held:
    """A job is still ours; whether somebody wants it stopped."""

    is_cancel_wanted: bool


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs of an organization are meant; what is None does not narrow it."""

    states: tuple[JobState, ...] = ()
    kinds: tuple[JobKind, ...] = ()
    kb_id: str | None = None
    document_id: str | None = None
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class LaneNews:
    """That a lane holds a job of this priority."""

    lane: str
    organization_id: str
    priority: int


def _in_seconds(seconds: float) -> Row:
    return {"$add": ["$$NOW", int(seconds * 1000)]}


class JobRepository:
    """The queue's rows."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["jobs"]
        # Claims and outcomes do not wait for a majority: a failover that loses one makes the job run again, which
        # every handler allows, and commits are fenced by the token. A claim that waited could run out of its few
        # milliseconds after it was made, and the job was then nobody's until the lease ended. Requests do wait.
        self._by_primary = self._collection.with_options(write_concern=WriteConcern(w=1))

    async def enqueue(
        self, requests: Sequence[JobRequest], *, request_id: str | None = None, session: Session | None = None
    ) -> None:
        """Ask for work: one row a deduplication key, upserted. A transaction's last statement."""
        if requests:
            writes = [_enqueueing(request, request_id) for request in requests]
            await self._collection.bulk_write(writes, ordered=False, session=session)

    async def claim(
        self,
        kinds: Collection[JobKind],
        *,
        worker: str,
        lease_token: str,
        lease_seconds: float,
        lane: str | None = None,
    ) -> Job | None:
        """Take a due job, of one lane or of any, the most urgent first; None where there is none to be had now.

        None may also mean that others were faster for each job that it looked at: see `has_due`.
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
        cursor = self._collection.find(_due_of(kinds, lane), {"priority": 1})
        candidates: list[Row] = [row async for row in cursor.sort([("priority", 1), ("run_at", 1)]).limit(CANDIDATES)]
        # Workers that read the same candidates would all run for the first; equal urgency may go in any order.
        candidates.sort(key=lambda row: (row["priority"], random.random()))  # noqa: S311
        return candidates

    async def has_due(self, kinds: Collection[JobKind], lane: str | None = None) -> bool:
        """Whether a job of these kinds is due and nobody has it."""
        return await self._collection.find_one(_due_of(kinds, lane), {"_id": 1}) is not None

    async def all_lanes(self) -> list[LaneNews]:
        """Every lane that holds a job to be run, now or later, by skipping from lane to lane in the index.

        0.3 ms a lane however many jobs it holds: a distinct over a million jobs took 2.6 s.
        """
        found: list[LaneNews] = []
        after = ""
        while True:
            row: Row | None = await self._collection.find_one(
                {"lane": {"$gt": after}, "state": JobState.AVAILABLE.value},
                {"lane": 1, "organization_id": 1, "priority": 1},
                sort=[("lane", 1), ("state", 1), ("priority", 1), ("run_at", 1)],
            )
            if row is None:
                return found
            found.append(_news(row))
            after = str(row["lane"])

    async def lanes_due_since(self, moment: datetime) -> list[LaneNews]:
        """The lanes of jobs that became due after `moment`, which is the server's time.

        Whatever makes a job available makes it due from then on, so nothing escapes who asks again and again.
        """
        cursor = await self._collection.aggregate(
            [
                {"$match": {"state": JobState.AVAILABLE.value, "run_at": {"$gt": moment}, **_DUE}},
                {
                    "$group": {
                        "_id": "$lane",
                        "organization_id": {"$first": "$organization_id"},
                        "priority": {"$min": "$priority"},
                    }
                },
            ]
        )
        return [_news({**row, "lane": row["_id"]}) async for row in cursor]

    async def server_time(self) -> datetime:
        """The time by the clock that decides when jobs are due."""
        hello: Row = await self._collection.database.command("hello")
        moment: datetime = hello["localTime"]
        return moment

    async def _take(self, job_id: str, worker: str, lease_token: str, lease_seconds: float) -> Job | None:
        lease: Row = {
            "state": JobState.RUNNING.value,
            "served": "$wanted",
            "attempt": {"$add": ["$attempt", 1]},
            "lease_token": lease_token,
            "lease_expires_at": _in_seconds(lease_seconds),
            "worker": {"$literal": worker},
            "progress": None,
            "updated_at": "$$NOW",
        }
        try:
            row: Row | None = await self._by_primary.find_one_and_update(
                {"_id": job_id, "state": JobState.AVAILABLE.value, **_DUE},
                [{"$set": lease}],
                return_document=ReturnDocument.AFTER,
                maxTimeMS=CLAIM_MILLISECONDS,
            )
        except ExecutionTimeout:
            return None
        except OperationFailure as error:
            if error.code == _WRITE_CONFLICT:
                return None
            raise
        return decode(Job, row) if row else None

    async def heartbeat(self, job: Job, *, lease_seconds: float) -> Held | None:
        """Renew the lease; None where it is no longer ours."""
        row: Row | None = await self._by_primary.find_one_and_update(
            {"_id": job.id, "lease_token": job.lease_token},
            [{"$set": {"lease_expires_at": _in_seconds(lease_seconds)}}],
            projection={"is_cancel_wanted": 1},
        )
        return None if row is None else Held(is_cancel_wanted=bool(row.get("is_cancel_wanted")))

    async def report_progress(self, job: Job, progress: Progress) -> bool:
        """Show how far the job is; False where the lease is no longer ours."""
        return await self._set_if_held(job, {"progress": progress.model_dump()})

    async def finish(self, job: Job, *, session: Session | None = None) -> None:
        """The work is done: forget the row, or make it available again where it was asked for meanwhile.

        Raises:
            LeaseLostError: another worker has it; in a transaction this aborts what the stale one wrote.
        """
        held = {"_id": job.id, "lease_token": job.lease_token}
        # Within a transaction the commit says how it is acknowledged.
        done = await self._by_primary.delete_one({**held, "$expr": {"$eq": ["$wanted", "$served"]}}, session=session)
        if done.deleted_count:
            return
        again: Row = {
            **_NO_LEASE,
            "is_cancel_wanted": False,
            "state": JobState.AVAILABLE.value,
            "run_at": "$$NOW",
            "attempt": 0,
            "deaths": 0,
            "error": None,
            "updated_at": "$$NOW",
        }
        released = await self._by_primary.update_one(held, [{"$set": again}], session=session)
        if not released.matched_count:
            raise LeaseLostError(f"the lease of job {job.id!r} was lost; another worker goes on with it")

    async def retry(self, job: Job, failure: Failure, *, delay_seconds: float, is_counted: bool = True) -> bool:
        """Make the job available again later; False where the lease is no longer ours."""
        return await self._set_if_held(
            job,
            {
                **_NO_LEASE,
                "is_cancel_wanted": _CANCEL_IF_NOT_ASKED_AGAIN,
                "state": JobState.AVAILABLE.value,
                "run_at": _in_seconds(delay_seconds),
                "attempt": "$attempt" if is_counted else _ONE_ATTEMPT_LESS,
                "error": {"$literal": failure.model_dump()},
            },
        )

    async def bury(self, job: Job, failure: Failure) -> bool:
        """Give up, visibly; what was asked for meanwhile is tried once more all the same."""
        return await self._set_if_held(
            job,
            {
                **_NO_LEASE,
                "is_cancel_wanted": False,
                "state": {"$cond": [_ASKED_AGAIN, JobState.AVAILABLE.value, JobState.DEAD.value]},
                "attempt": {"$cond": [_ASKED_AGAIN, 0, "$attempt"]},
                "deaths": {"$cond": [_ASKED_AGAIN, 0, {"$ifNull": ["$deaths", 0]}]},
                "run_at": "$$NOW",
                "error": {"$literal": failure.model_dump()},
            },
        )

    async def give_back(self, job: Job) -> bool:
        """Return an unfinished job at shutdown; the attempt does not count."""
        return await self._set_if_held(
            job,
            {
                **_NO_LEASE,
                "is_cancel_wanted": _CANCEL_IF_NOT_ASKED_AGAIN,
                "state": JobState.AVAILABLE.value,
                "run_at": "$$NOW",
                "attempt": _ONE_ATTEMPT_LESS,
            },
        )

    async def _set_if_held(self, job: Job, changes: Row) -> bool:
        result = await self._by_primary.update_one(
            {"_id": job.id, "lease_token": job.lease_token},
            [{"$set": {**changes, "updated_at": "$$NOW"}}],
        )
        return result.matched_count == 1

    async def rescue(self, *, max_deaths: int) -> int:
        """Take back the jobs whose lease has run out: their worker died, hangs or sleeps.

        One that has cost `max_deaths` workers is buried: it probably kills them. What was asked for meanwhile
        is tried all the same, since it may be about another state of the truth.
        """
        deaths: Row = {"$add": [{"$ifNull": ["$deaths", 0]}, 1]}
        spent: Row = {"$and": [{"$gte": [deaths, max_deaths]}, {"$not": [_ASKED_AGAIN]}]}
        died: Row = {
            "code": "worker_died",
            "detail": {"$concat": ["the worker stopped in the middle of it, ", {"$toString": deaths}, " times"]},
            "at": "$$NOW",
        }
        taken_back: Row = {
            **_NO_LEASE,
            "is_cancel_wanted": _CANCEL_IF_NOT_ASKED_AGAIN,
            "state": {"$cond": [spent, JobState.DEAD.value, JobState.AVAILABLE.value]},
            "attempt": {"$cond": [_ASKED_AGAIN, 0, "$attempt"]},
            "deaths": {"$cond": [_ASKED_AGAIN, 0, deaths]},
            "error": {"$cond": [spent, died, "$error"]},
            "run_at": "$$NOW",
            "updated_at": "$$NOW",
        }
        # One by one: a worker that dies within a transaction leaves it open on the server for a while, and its job
        # held; the others need not wait for it.
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
            if error.code == _WRITE_CONFLICT:
                return False
            raise
        return row is not None

    async def get(self, job_id: str) -> Job | None:
        """The row with this deduplication key."""
        row: Row | None = await self._collection.find_one({"_id": job_id})
        return decode(Job, row) if row else None

    async def page(self, organization_id: str, query: JobQuery, *, skip: int, limit: int) -> tuple[list[Job], int]:
        """A page of an organization's jobs, latest change first, and how many match in all."""
        wanted = _matching(organization_id, query)
        cursor = self._collection.find(wanted).sort([("updated_at", -1), ("_id", 1)]).skip(skip).limit(limit)
        return [decode(Job, row) async for row in cursor], await self._collection.count_documents(wanted)

    async def of_organization(self, organization_id: str, job_id: str) -> Job | None:
        """The organization's job with this id."""
        row: Row | None = await self._collection.find_one({"_id": job_id, "organization_id": organization_id})
        return decode(Job, row) if row else None

    async def replay(self, organization_id: str, query: JobQuery, *, job_id: str | None = None) -> int:
        """Run dead jobs again, as if they had never been tried; how many there were."""
        wanted = {**_matching(organization_id, query), "state": JobState.DEAD.value}
        if job_id is not None:
            wanted["_id"] = job_id
        afresh: Row = {
            **_NO_LEASE,
            "is_cancel_wanted": False,
            "state": JobState.AVAILABLE.value,
            "attempt": 0,
            "deaths": 0,
            "error": None,
            "run_at": "$$NOW",
            "created_at": "$$NOW",
            "updated_at": "$$NOW",
            "wanted": {"$add": ["$wanted", 1]},
        }
        result = await self._collection.update_many(wanted, [{"$set": afresh}])
        return result.modified_count

    async def cancel(self, organization_id: str, job_id: str, failure: Failure) -> JobState | None:
        """Stop a job: a waiting one is dead at once, a running one is told at its next heartbeat, or when it is
        claimed again, where its attempt ends or its worker dies before that.

        Returns the state that it was in; None where the organization has no such job. A cancelled job stays as a
        dead one, so that the reconciler does not ask for it again and a person can.
        """
        is_waiting: Row = {"$eq": ["$state", JobState.AVAILABLE.value]}
        is_running: Row = {"$eq": ["$state", JobState.RUNNING.value]}
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": job_id, "organization_id": organization_id},
            [
                {
                    "$set": {
                        "state": {"$cond": [is_waiting, JobState.DEAD.value, "$state"]},
                        "error": {"$cond": [is_waiting, {"$literal": failure.model_dump()}, "$error"]},
                        "is_cancel_wanted": is_running,
                        "updated_at": "$$NOW",
                    }
                }
            ],
        )
        return JobState(row["state"]) if row else None

    async def existing(self, job_ids: Collection[str]) -> set[str]:
        """Those of the deduplication keys that have a row, be it waiting, running or dead."""
        return {str(row["_id"]) async for row in self._collection.find({"_id": {"$in": list(job_ids)}}, {"_id": 1})}

    async def dead_among(self, job_ids: Collection[str]) -> list[Job]:
        """Those of the jobs that were given up."""
        query: Row = {"_id": {"$in": list(job_ids)}, "state": JobState.DEAD.value}
        return [decode(Job, row) async for row in self._collection.find(query)]

    async def of_document(self, organization_id: str, document_id: str) -> list[Job]:
        """All that is still to be done, or was given up, for a document."""
        cursor = self._collection.find({"subject.document_id": document_id, "organization_id": organization_id})
        return [decode(Job, row) async for row in cursor]

    async def documents_being_synced(self, organization_id: str, kb_id: str) -> list[str]:
        """The documents of which a sync with the knowledge base is running now."""
        query: Row = {
            "subject.kb_id": kb_id,
            "organization_id": organization_id,
            "state": JobState.RUNNING.value,
            "kind": JobKind.SYNC.value,
        }
        return [str(row["subject"]["document_id"]) async for row in self._collection.find(query, {"subject": 1})]

    async def has_untried_sync(self, organization_id: str, kb_id: str, *, enqueued_until: datetime) -> bool:
        """Whether a sync of the knowledge base, first asked for until then, has not been tried once.

        One that has failed, or has cost a worker, was tried, though it waits or runs again.
        """
        row: Row | None = await self._collection.find_one(
            {
                "subject.kb_id": kb_id,
                "organization_id": organization_id,
                "state": {"$in": [JobState.AVAILABLE.value, JobState.RUNNING.value]},
                "kind": JobKind.SYNC.value,
                "created_at": {"$lte": enqueued_until},
                "error": None,
                "deaths": {"$in": [None, 0]},
            },
            {"_id": 1},
        )
        return row is not None

    async def counts(self, organization_id: str | None = None) -> dict[tuple[str, str], int]:
        """(kind, state) → how many jobs."""
        match: Row = {} if organization_id is None else {"organization_id": organization_id}
        cursor = await self._collection.aggregate(
            [
                {"$match": match},
                {"$group": {"_id": {"kind": "$kind", "state": "$state"}, "count": {"$sum": 1}}},
            ]
        )
        return {(str(row["_id"]["kind"]), str(row["_id"]["state"])): int(row["count"]) async for row in cursor}

    async def delete_dead_of_document(self, organization_id: str, document_id: str) -> None:
        """Forget what was given up for a document that is gone: nobody can mend it any more."""
        await self._collection.delete_many(
            {
                "subject.document_id": document_id,
                "organization_id": organization_id,
                "state": JobState.DEAD.value,
            }
        )

    async def delete_of_kb(self, organization_id: str, kb_id: str, *, but: str) -> None:
        """Forget what was still to be done for a deleted knowledge base, except the job with id `but`."""
        await self._collection.delete_many(
            {"subject.kb_id": kb_id, "organization_id": organization_id, "_id": {"$ne": but}}
        )

    async def held_tokens(self, lease_tokens: Collection[str]) -> set[str]:
        """Those of the lease tokens under which a job is running now."""
        query: Row = {"lease_token": {"$in": list(lease_tokens)}, "state": JobState.RUNNING.value}
        return {str(row["lease_token"]) async for row in self._collection.find(query, {"lease_token": 1})}

    async def watch_enqueues(self) -> AsyncGenerator[LaneNews]:
        """The lane of each job that is asked for from now on, by a change stream."""
        asked_for: Row = {
            "$or": [{"operationType": "insert"}, {"updateDescription.updatedFields.wanted": {"$exists": True}}]
        }
        fields: Row = {f"fullDocument.{name}": 1 for name in ("lane", "organization_id", "priority")}
        stream = await self._collection.watch(
            [{"$match": asked_for}, {"$project": fields}], full_document="updateLookup", max_await_time_ms=10_000
        )
        async with stream:
            async for change in stream:
                row: Row | None = change.get("fullDocument")
                if row:  # none, where the job has been done already
                    yield _news(row)


def _matching(organization_id: str, query: JobQuery) -> Row:
    wanted: Row = {"organization_id": organization_id}
    if query.states:
        wanted["state"] = {"$in": [state.value for state in query.states]}
    if query.kinds:
        wanted["kind"] = {"$in": [kind.value for kind in query.kinds]}
    for field, value in (
        ("subject.kb_id", query.kb_id),
        ("subject.document_id", query.document_id),
        ("error.code", query.error_code),
    ):
        if value is not None:
            wanted[field] = value
    return wanted


def _news(row: Row) -> LaneNews:
    return LaneNews(str(row["lane"]), str(row["organization_id"]), int(row["priority"]))


def _enqueueing(request: JobRequest, request_id: str | None) -> UpdateOne:
    due = _in_seconds(request.delay_seconds)
    state: Row = {"$ifNull": ["$state", JobState.DEAD.value]}
    starts_afresh: Row = {"$eq": [state, JobState.DEAD.value]}
    fields: Row = {
        "kind": request.kind.value,
        "organization_id": request.organization_id,
        "lane": request.lane,
        "subject": request.subject.model_dump(),
        "state": {"$cond": [{"$eq": [state, JobState.RUNNING.value]}, state, JobState.AVAILABLE.value]},
        "priority": {"$min": [{"$ifNull": ["$priority", request.priority]}, request.priority]},
        "run_at": {"$cond": [starts_afresh, due, {"$min": ["$run_at", due]}]},
        "wanted": {"$add": [{"$ifNull": ["$wanted", 0]}, 1]},
        "attempt": {"$cond": [starts_afresh, 0, "$attempt"]},
        "deaths": {"$cond": [starts_afresh, 0, {"$ifNull": ["$deaths", 0]}]},
        # What is asked for after a cancellation is wanted; while the job runs, the end of the attempt sees to it.
        "is_cancel_wanted": {
            "$and": [{"$eq": [state, JobState.RUNNING.value]}, {"$ifNull": ["$is_cancel_wanted", False]}]
        },
        "request_id": {"$literal": request_id},
        "trace_parent": {"$literal": traces.current_traceparent()},
        "created_at": {"$cond": [starts_afresh, "$$NOW", "$created_at"]},
        "updated_at": "$$NOW",
    }
    return UpdateOne({"_id": request.deduplication_key}, [{"$set": fields}], upsert=True)
