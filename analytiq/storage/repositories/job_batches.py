"""Collection `jobs`: state changes of many jobs of one claim, each in a constant number of commands."""

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pymongo.errors import OperationFailure, PyMongoError

from analytiq.errors import LeaseLostError
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobState
from analytiq.storage.repositories.job_expressions import (
    DUE,
    MAX_TIME_EXPIRED,
    WRITE_CONFLICT,
    claimed_by,
    due_of,
    finished_again,
    given_back,
    in_seconds,
    retried,
)
from analytiq.storage.repositories.job_leases import CANDIDATES, CLAIM_MILLISECONDS, Held, JobLeases
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.session import Session

BATCH_CLAIM_ROUNDS = 2
"""Rounds of a claim of which an open transaction holds a job: the second leaves that job out."""

_UNTRIED: Row = {
    "attempt": 0,
    "deaths": {"$in": [0, None]},
    "is_cancel_wanted": {"$ne": True},
    "is_alone": {"$ne": True},
}
"""Jobs that have neither failed nor cost a worker: the others run alone, so that none harms its companions."""
_DECIDING = {"priority": 1, "attempt": 1, "deaths": 1, "is_cancel_wanted": 1, "is_alone": 1}
_SKIPPED = (MAX_TIME_EXPIRED, WRITE_CONFLICT)


class JobBatches(JobLeases):
    """Claims jobs together and records their outcomes. The jobs of a batch are of one claim and share its token."""

    async def claim_many(
        self,
        kinds: Collection[JobKind],
        *,
        worker: str,
        lease_token: str,
        lease_seconds: float,
        lane: str,
        limit: int,
    ) -> list[Job]:
        """Claim due jobs of a partition, all of its most urgent priority; in two to five commands.

        Up to `limit` jobs that were never tried, or one of any kind, if the oldest was tried or is to run alone. An
        empty list may also mean that other workers were faster: see `has_due`.
        """
        due = due_of(kinds, lane)
        # Twice as many as are wanted, so that workers of one partition do not all compete for the same.
        cursor = self._collection.find(due, _DECIDING).sort([("priority", 1), ("run_at", 1)]).limit(2 * limit)
        rows: list[Row] = [row async for row in cursor]
        lease = claimed_by(worker, lease_token, lease_seconds)
        if rows and _is_untried(rows[0]):
            names = [str(row["_id"]) for row in rows if _is_untried(row) and row["priority"] == rows[0]["priority"]]
            if len(names) > 1:
                random.shuffle(names)
                return await self._claim_together(sorted(names[:limit]), lease_token, lease)
        rows.sort(key=lambda row: (row["priority"], random.random()))  # noqa: S311  # spreads rivals out
        for row in rows[:CANDIDATES]:
            job = await self._take(row["_id"], worker, lease_token, lease_seconds)
            if job is not None:
                return [job]
        return []

    async def _claim_together(self, left: list[str], lease_token: str, lease: Row) -> list[Job]:
        claimed: list[Job] = []
        for _ in range(BATCH_CLAIM_ROUNDS):
            error = await self._lease(left, lease)
            # Read after an error as well: the jobs before a locked one carry the token, and would wait for the lease.
            taken = await self._with_token(left, lease_token)
            claimed += taken
            if error is None:
                break
            if getattr(error, "code", None) not in _SKIPPED:
                if claimed:
                    break
                raise error
            # Rows are changed in the order of their ids, so the locked one comes after the last that was taken.
            left = left[left.index(taken[-1].id) + 2 :] if taken else left[1:]
            if not left:
                break
        return claimed

    async def _lease(self, job_ids: Sequence[str], lease: Row) -> PyMongoError | None:
        """Put the lease on the jobs that are still due; return the error that stopped it half way."""
        update: Row = {
            "q": {"_id": {"$in": list(job_ids)}, "state": JobState.AVAILABLE.value, **DUE, **_UNTRIED},
            "u": [{"$set": lease}],
            "multi": True,
            "hint": {"_id": 1},
        }
        command: Row = {
            "update": self._collection.name,
            "updates": [update],
            "maxTimeMS": CLAIM_MILLISECONDS,
            "writeConcern": {"w": 1},
        }
        try:
            # The driver's `update_many` takes no time limit.
            answer: Mapping[str, Any] = await self._collection.database.command(command)
        except PyMongoError as error:
            return error
        errors = answer.get("writeErrors", [])
        return OperationFailure(str(errors[0].get("errmsg")), errors[0].get("code")) if errors else None

    async def _with_token(self, job_ids: Sequence[str], lease_token: str) -> list[Job]:
        query: Row = {"_id": {"$in": list(job_ids)}, "lease_token": lease_token, "state": JobState.RUNNING.value}
        found = {str(row["_id"]): decode(Job, row) async for row in self._collection.find(query)}
        return [found[job_id] for job_id in job_ids if job_id in found]

    async def held_among(self, jobs: Sequence[Job], *, session: Session | None = None) -> set[str]:
        """Return the ids of those of the jobs whose lease is held; in a transaction, as its snapshot has them."""
        if not jobs:
            return set()
        query = {**_held(jobs), "state": JobState.RUNNING.value}
        return {str(row["_id"]) async for row in self._collection.find(query, {"_id": 1}, session=session)}

    async def heartbeat_many(self, jobs: Sequence[Job], *, lease_seconds: float) -> dict[str, Held]:
        """Renew the leases; return the state of those that are held, by job id."""
        lease: Row = {"lease_expires_at": in_seconds(lease_seconds)}
        await self._by_primary.update_many(_held(jobs), [{"$set": lease}])
        cursor = self._collection.find(_held(jobs), {"is_cancel_wanted": 1})
        return {str(row["_id"]): Held(is_cancel_wanted=bool(row.get("is_cancel_wanted"))) async for row in cursor}

    async def finish_many(self, jobs: Sequence[Job], *, session: Session | None = None) -> None:
        """Complete the jobs: delete their rows, or make those available again that were requested meanwhile.

        Raises:
            LeaseLostError: another worker has one of them; in a transaction this aborts the stale worker's writes.
        """
        if not jobs:
            return
        held = _held(jobs)
        # Within a transaction the commit determines the write concern.
        served: Row = {**held, "$expr": {"$eq": ["$wanted", "$served"]}}
        ended = (await self._by_primary.delete_many(served, session=session)).deleted_count
        if ended < len(jobs):
            again = finished_again()
            ended += (await self._by_primary.update_many(held, [{"$set": again}], session=session)).matched_count
        if ended < len(jobs):
            lost = len(jobs) - ended
            raise LeaseLostError(f"The leases of {lost} of {len(jobs)} jobs were lost. Another worker continues them.")

    async def retry_many(
        self,
        jobs: Sequence[Job],
        failure: Failure,
        delay_seconds: float,
        *,
        is_counted: bool = True,
        are_alone: bool = False,
    ) -> set[str]:
        """Make the jobs available again later; return the ids of those whose lease was held.

        `are_alone`: each is to run by itself from now on.
        """
        changes = retried(failure, delay_seconds=delay_seconds, is_counted=is_counted)
        return await self._set_held(jobs, changes | ({"is_alone": True} if are_alone else {}))

    async def give_back_many(self, jobs: Sequence[Job], *, are_alone: bool = False) -> set[str]:
        """Return unfinished jobs, attempts uncounted; return the ids of those whose lease was held.

        `are_alone`: each is to run by itself from now on.
        """
        return await self._set_held(jobs, given_back() | ({"is_alone": True} if are_alone else {}))

    async def due_lane(self, kinds: Collection[JobKind]) -> str | None:
        """Return the partition of the most urgent due job; None without one."""
        row: Row | None = await self._collection.find_one(
            due_of(kinds, None), {"lane": 1}, sort=[("priority", 1), ("run_at", 1)]
        )
        return None if row is None else str(row["lane"])

    async def _set_held(self, jobs: Sequence[Job], changes: Row) -> set[str]:
        if not jobs:
            return set()
        held = await self.held_among(jobs)
        await self._by_primary.update_many(_held(jobs), [{"$set": {**changes, "updated_at": "$$NOW"}}])
        return held


def _held(jobs: Sequence[Job]) -> Row:
    tokens = {job.lease_token for job in jobs}
    if len(tokens) > 1 or None in tokens:
        raise ValueError(f"Jobs of one claim share its lease token; these have {len(tokens)}. Pass them by claim.")
    return {"_id": {"$in": [job.id for job in jobs]}, "lease_token": tokens.pop()}


def _is_untried(row: Row) -> bool:
    return not (row["attempt"] or row.get("deaths") or row.get("is_cancel_wanted") or row.get("is_alone"))
