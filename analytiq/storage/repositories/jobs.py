"""Collection `jobs`: requested work, as people and other services see and change it.

Workers' state changes are in `job_leases` and `job_batches`, the look-up of partitions is in `job_lanes`, waking in
`job_recovery`.
"""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from pymongo import IndexModel, UpdateOne

from analytiq.errors import LeaseLostError
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobRequest, JobState
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.job_batches import JobBatches
from analytiq.storage.repositories.job_expressions import AFRESH, DUE, in_seconds
from analytiq.storage.repositories.job_lanes import JobLanes
from analytiq.storage.repositories.job_recovery import JobRecovery
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.session import Session
from analytiq.telemetry import traces

LIST_INDEX = [("organization_id", 1), ("state", 1), ("kind", 1), ("updated_at", -1), ("_id", 1)]
KIND_INDEX = [("state", 1), ("kind", 1)]
INDEXES = {
    "jobs": [
        IndexModel([("state", 1), ("priority", 1), ("run_at", 1)]),
        IndexModel([("state", 1), ("run_at", 1)]),
        IndexModel([("state", 1), ("lease_expires_at", 1)]),
        IndexModel(KIND_INDEX),
        IndexModel([("lane", 1), ("state", 1), ("priority", 1), ("run_at", 1)]),
        IndexModel([("subject.kb_id", 1), ("state", 1), ("created_at", 1)]),
        IndexModel([("subject.document_id", 1), ("state", 1)]),
        # A list names every wanted state and kind, so that any of them comes in this order, without a sort.
        IndexModel(LIST_INDEX),
        # Failed jobs only: they are few to write, and their errors are grouped without reading a row.
        IndexModel(
            [("organization_id", 1), ("state", 1), ("error.code", 1), ("kind", 1), ("subject.kb_id", 1)],
            partialFilterExpression={"state": JobState.DEAD.value},
        ),
    ],
}


MOST_COUNTED = 10_000
"""Most matches that a list counts: counting 200,000 took 0.2 to 0.5 s, and lists are requested often."""
MOST_WAITING = 1_000_000
JOBS_PER_BATCH = 500
UNSORTED_INDEX = "organization_id_1_state_1_updated_at_-1"
"""The index of earlier releases, by which a list of several states or kinds had to be sorted in memory."""


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of jobs. `total_count` is a lower bound if `total_count_is_at_least`."""

    jobs: list[Job]
    total_count: int
    total_count_is_at_least: bool


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failed jobs with the same error: its code, one message, and the number of jobs."""

    code: str
    detail: str
    count: int


@dataclass(frozen=True, slots=True)
class JobQuery:
    """A selection of an organization's jobs; None does not filter."""

    states: tuple[JobState, ...] = ()
    kinds: tuple[JobKind, ...] = ()
    kb_id: str | None = None
    document_id: str | None = None
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class JobOrigin:
    """The call that a job follows from: its id for the log, and its trace."""

    request_id: str | None
    trace_parent: str | None


class JobRepository(JobBatches, JobLanes, JobRecovery):
    """The rows of the queue."""

    def __init__(self, connection: MongoConnection) -> None:
        JobBatches.__init__(self, connection)
        JobLanes.__init__(self, connection)
        JobRecovery.__init__(self, connection)

    async def enqueue(
        self, requests: Sequence[JobRequest], *, request_id: str | None = None, session: Session | None = None
    ) -> None:
        """Enqueue work: one row a deduplication key, upserted. The last statement of a transaction."""
        if requests:
            trace_parent = traces.current_traceparent()
            writes = [_enqueueing(request, request_id, trace_parent) for request in requests]
            await self._collection.bulk_write(writes, ordered=False, session=session)

    async def enqueue_of_several(
        self, requests: Sequence[tuple[JobRequest, JobOrigin]], *, session: Session | None = None
    ) -> None:
        """Enqueue work of several calls, as `enqueue` does for one."""
        if requests:
            writes = [_enqueueing(request, origin.request_id, origin.trace_parent) for request, origin in requests]
            await self._collection.bulk_write(writes, ordered=False, session=session)

    async def get(self, job_id: str) -> Job | None:
        """Return the row with this deduplication key."""
        row: Row | None = await self._collection.find_one({"_id": job_id})
        return decode(Job, row) if row else None

    async def page(self, organization_id: str, query: JobQuery, *, skip: int, limit: int) -> JobPage:
        """Return a page of an organization's jobs, latest change first, and the matches up to MOST_COUNTED."""
        wanted = _matching(organization_id, query)
        cursor = self._collection.find(wanted).sort([("updated_at", -1), ("_id", 1)]).skip(skip).limit(limit)
        jobs = [decode(Job, row) async for row in cursor]
        count = await self._collection.count_documents(wanted, limit=MOST_COUNTED + 1)
        return JobPage(jobs, min(count, MOST_COUNTED), total_count_is_at_least=count > MOST_COUNTED)

    async def of_organization(self, organization_id: str, job_id: str) -> Job | None:
        """Return the organization's job with this id."""
        row: Row | None = await self._collection.find_one({"_id": job_id, "organization_id": organization_id})
        return decode(Job, row) if row else None

    async def replay(self, organization_id: str, query: JobQuery, *, job_id: str | None = None) -> int:
        """Run failed jobs again, as if they had never been tried; return their number."""
        wanted = {**_matching(organization_id, query), "state": JobState.DEAD.value}
        if job_id is not None:
            wanted["_id"] = job_id
        result = await self._collection.update_many(wanted, [{"$set": AFRESH}])
        return result.modified_count

    async def cancel(self, organization_id: str, job_id: str, failure: Failure) -> JobState | None:
        """Cancel a waiting job at once, and a running one at its next heartbeat.

        If its attempt ends or its worker dies before that, the job is cancelled when it is claimed again. Return the
        job's former state; None if the organization has no such job. A cancelled job stays as a failed one, so that a
        person can replay it and the reconciler does not request it again.
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

    async def waiting(self, organization_id: str, query: JobQuery) -> AsyncGenerator[list[Job], None]:
        """Yield the organization's waiting jobs that match, in batches; jobs changed meanwhile are not seen again."""
        wanted = {**_matching(organization_id, query), "state": JobState.AVAILABLE.value}
        batch: list[Job] = []
        # Latest change first: jobs requested after this began lie behind the cursor.
        async for row in self._collection.find(wanted).sort([("updated_at", -1), ("_id", 1)]):
            batch.append(decode(Job, row))
            if len(batch) == JOBS_PER_BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    async def cancel_waiting(self, organization_id: str, jobs: Sequence[Job], failure: Failure) -> list[Job]:
        """Cancel those of the jobs that still wait; return the cancelled ones."""
        ids: Row = {"_id": {"$in": [job.id for job in jobs]}, "organization_id": organization_id}
        dead: Row = {
            "state": JobState.DEAD.value,
            "error": {"$literal": failure.model_dump()},
            "is_cancel_wanted": False,
            "updated_at": "$$NOW",
        }
        await self._collection.update_many({**ids, "state": JobState.AVAILABLE.value}, [{"$set": dead}])
        now_dead: Row = {**ids, "state": JobState.DEAD.value, "error.code": failure.code, "error.at": failure.at}
        return [decode(Job, row) async for row in self._collection.find(now_dead)]

    async def stop_running(self, organization_id: str, query: JobQuery) -> int:
        """Tell the workers of matching running jobs to stop at their next heartbeat; return their number."""
        wanted = {**_matching(organization_id, query), "state": JobState.RUNNING.value}
        asked: Row = {"is_cancel_wanted": True, "updated_at": "$$NOW"}
        return (await self._collection.update_many(wanted, [{"$set": asked}])).matched_count

    async def cancel_wanted_among(self, job_ids: Collection[str]) -> set[str]:
        """Return the ids of running jobs whose cancellation was requested."""
        query: Row = {"_id": {"$in": list(job_ids)}, "state": JobState.RUNNING.value, "is_cancel_wanted": True}
        return {str(row["_id"]) async for row in self._collection.find(query, {"_id": 1})}

    async def dead_by_error(self, organization_id: str, query: JobQuery, *, limit: int) -> list[ErrorGroup]:
        """Return the organization's matching failed jobs, grouped by error code; most frequent first."""
        wanted = {**_matching(organization_id, query), "state": JobState.DEAD.value}
        cursor = await self._collection.aggregate(
            [
                {"$match": wanted},
                {"$group": {"_id": "$error.code", "count": {"$sum": 1}}},
                {"$match": {"_id": {"$ne": None}}},
                {"$sort": {"count": -1, "_id": 1}},
                {"$limit": limit},
            ]
        )
        counts = [(str(row["_id"]), int(row["count"])) async for row in cursor]
        groups: list[ErrorGroup] = []
        for code, count in counts:
            row: Row | None = await self._collection.find_one({**wanted, "error.code": code}, {"error.detail": 1})
            if row is not None:  # else the last of them was replayed in between
                groups.append(ErrorGroup(code, str(row["error"]["detail"]), count))
        return groups

    async def existing(self, job_ids: Collection[str]) -> set[str]:
        """Return the deduplication keys with a row: waiting, running or failed."""
        return {str(row["_id"]) async for row in self._collection.find({"_id": {"$in": list(job_ids)}}, {"_id": 1})}

    async def unfinished_among(self, job_ids: Collection[str]) -> set[str]:
        """Return the deduplication keys whose job waits or runs."""
        query: Row = {
            "_id": {"$in": list(job_ids)},
            "state": {"$in": [JobState.AVAILABLE.value, JobState.RUNNING.value]},
        }
        return {str(row["_id"]) async for row in self._collection.find(query, {"_id": 1})}

    async def count_unfinished(self, organization_id: str, kind: JobKind) -> int:
        """Count an organization's waiting and running jobs of a kind; for kinds of few jobs."""
        return await self._collection.count_documents(
            {
                "organization_id": organization_id,
                "kind": kind.value,
                "state": {"$in": [JobState.AVAILABLE.value, JobState.RUNNING.value]},
            }
        )

    async def hold(self, job: Job, *, session: Session | None = None) -> None:
        """Check that a running job's lease is held; in a transaction, a concurrent loss makes the commit fail.

        Raises:
            LeaseLostError: another worker has it.
        """
        held: Row = {"_id": job.id, "lease_token": job.lease_token, "state": JobState.RUNNING.value}
        result = await self._by_primary.update_one(held, [{"$set": {"updated_at": "$$NOW"}}], session=session)
        if not result.matched_count:
            raise LeaseLostError(f"The lease of job {job.id!r} was lost. Another worker continues the job.")

    async def note_headway(self, job: Job, *, session: Session) -> None:
        """Hold the lease as `hold` does, and forget failed attempts: the job commits a part of its work.

        Raises:
            LeaseLostError: another worker has it.
        """
        held: Row = {"_id": job.id, "lease_token": job.lease_token, "state": JobState.RUNNING.value}
        changes: Row = {"updated_at": "$$NOW", "deaths": 0, "attempt": 1, "waiting_since": None}
        result = await self._by_primary.update_one(held, [{"$set": changes}], session=session)
        if not result.matched_count:
            raise LeaseLostError(f"The lease of job {job.id!r} was lost. Another worker continues the job.")

    async def dead_among(self, job_ids: Collection[str]) -> list[Job]:
        """Return the failed jobs among these."""
        query: Row = {"_id": {"$in": list(job_ids)}, "state": JobState.DEAD.value}
        return [decode(Job, row) async for row in self._collection.find(query)]

    async def of_document(self, organization_id: str, document_id: str) -> list[Job]:
        """Return all unfinished and failed jobs of a document."""
        cursor = self._collection.find({"subject.document_id": document_id, "organization_id": organization_id})
        return [decode(Job, row) async for row in cursor]

    async def of_documents(self, organization_id: str, document_ids: Collection[str]) -> list[Job]:
        """Return all unfinished and failed jobs of these documents."""
        query: Row = {"subject.document_id": {"$in": list(document_ids)}, "organization_id": organization_id}
        return [decode(Job, row) async for row in self._collection.find(query)]

    async def of_organizations(self, organization_ids: Collection[str], job_ids: Collection[str]) -> list[Job]:
        """Return the jobs of these organizations, each with its organization."""
        query: Row = {"_id": {"$in": list(job_ids)}, "organization_id": {"$in": list(organization_ids)}}
        return [decode(Job, row) async for row in self._collection.find(query)]

    async def documents_being_synced(self, organization_id: str, kb_id: str) -> list[str]:
        """Return the documents that a running sync adds to or removes from the knowledge base."""
        query: Row = {
            "subject.kb_id": kb_id,
            "organization_id": organization_id,
            "state": JobState.RUNNING.value,
            "kind": JobKind.SYNC.value,
        }
        return [str(row["subject"]["document_id"]) async for row in self._collection.find(query, {"subject": 1})]

    async def has_untried_sync(self, organization_id: str, kb_id: str, *, enqueued_until: datetime) -> bool:
        """Return True if a sync of the knowledge base, requested before the moment, has not been tried yet.

        A sync that failed or cost a worker was tried, though it waits or runs again.
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

    async def count_waiting(self, kind: JobKind) -> int:
        """Return the number of waiting jobs of a kind in all organizations, from an index; at most `MOST_WAITING`."""
        waiting = {"state": JobState.AVAILABLE.value, "kind": kind.value}
        return await self._collection.count_documents(waiting, limit=MOST_WAITING, hint=dict(KIND_INDEX))

    async def counts(self, organization_id: str | None = None) -> dict[tuple[str, str], int]:
        """Return the number of jobs by (kind, state); of an organization from an index, without reading a row."""
        group: Row = {"$group": {"_id": {"kind": "$kind", "state": "$state"}, "count": {"$sum": 1}}}
        if organization_id is None:
            cursor = await self._collection.aggregate([group])
        else:
            match = _matching(organization_id, JobQuery())
            # By itself the planner chooses an index that requires reading the rows.
            cursor = await self._collection.aggregate([{"$match": match}, group], hint=dict(LIST_INDEX))
        return {(str(row["_id"]["kind"]), str(row["_id"]["state"])): int(row["count"]) async for row in cursor}

    async def count_work(self) -> int:
        """Return the number of jobs that are running or due, by the server's clock: the work for workers now.

        Jobs that wait for their next attempt are left out: more workers would not end them sooner. At most
        `MOST_COUNTED` of each state are counted.
        """
        running = {"state": JobState.RUNNING.value}
        due = {"state": JobState.AVAILABLE.value, **DUE}
        return sum([await self._collection.count_documents(wanted, limit=MOST_COUNTED) for wanted in (running, due)])

    async def delete_dead_of_document(self, organization_id: str, document_id: str) -> None:
        """Delete the failed jobs of a deleted document: they can no longer be repaired."""
        await self._collection.delete_many(
            {
                "subject.document_id": document_id,
                "organization_id": organization_id,
                "state": JobState.DEAD.value,
            }
        )

    async def delete_of_kb(self, organization_id: str, kb_id: str, *, but: str) -> None:
        """Delete the jobs of a deleted knowledge base, except the job with id `but`."""
        await self._collection.delete_many(
            {"subject.kb_id": kb_id, "organization_id": organization_id, "_id": {"$ne": but}}
        )


def _matching(organization_id: str, query: JobQuery) -> Row:
    wanted: Row = {
        "organization_id": organization_id,
        "state": {"$in": [state.value for state in query.states or JobState]},
        "kind": {"$in": [kind.value for kind in query.kinds or JobKind]},
    }
    for field, value in (
        ("subject.kb_id", query.kb_id),
        ("subject.document_id", query.document_id),
        ("error.code", query.error_code),
    ):
        if value is not None:
            wanted[field] = value
    return wanted


def _enqueueing(request: JobRequest, request_id: str | None, trace_parent: str | None) -> UpdateOne:
    due = in_seconds(request.delay_seconds)
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
        # A request after a cancellation counts; while the job runs, the end of the attempt handles it.
        "is_cancel_wanted": {
            "$and": [{"$eq": [state, JobState.RUNNING.value]}, {"$ifNull": ["$is_cancel_wanted", False]}]
        },
        "request_id": {"$literal": request.request_id or request_id},
        "trace_parent": {"$literal": trace_parent},
        "waiting_since": {"$cond": [starts_afresh, None, {"$ifNull": ["$waiting_since", None]}]},
        "created_at": {"$cond": [starts_afresh, "$$NOW", "$created_at"]},
        "updated_at": "$$NOW",
    }
    return UpdateOne({"_id": request.deduplication_key}, [{"$set": fields}], upsert=True)
