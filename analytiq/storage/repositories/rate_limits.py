"""Collection `rate_limits`: one row for each set of limits, updated by the server's clock.

The arithmetic is `analytiq.tenancy.rate_limits.gcra`, written as a pipeline: a take reads, decides and writes in one
update of one row, so that two takes never share the last unit, in any processes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymongo import IndexModel, ReturnDocument
from pymongo.errors import DuplicateKeyError
from pymongo.write_concern import WriteConcern

from analytiq.models.rate_limit import Bucket, Charge, TakenTimes, TakeOutcome
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row

FORGOTTEN_SECONDS = 3600
"""Seconds after which the server deletes a row with full buckets: a missing row means full buckets."""

INDEXES = {
    "rate_limits": [
        IndexModel([("idle_at", 1)], expireAfterSeconds=FORGOTTEN_SECONDS),
        IndexModel([("organization_id", 1)]),
    ]
}

_NOW: Row = {"$toDouble": "$$NOW"}
_BLOCKED_UNTIL: Row = {"$ifNull": ["$blocked_until_ms", 0.0]}
_HELD_UNTIL: Row = {"$ifNull": ["$held_until_ms", 0.0]}
_FAILING_SINCE: Row = {"$ifNull": ["$failing_since_ms", None]}


@dataclass(frozen=True, slots=True)
class TroubledRow:
    """A row of a provider that is blocked or failing."""

    organization_id: str
    key: str


class RateLimitRepository:
    """The buckets; `key` names a row, `organization_id` its owner."""

    def __init__(self, connection: MongoConnection) -> None:
        # A failover that loses the last milliseconds' takes lets as many through again; no write waits for a majority.
        self._collection = connection.database["rate_limits"].with_options(write_concern=WriteConcern(w=1))

    async def take(
        self,
        organization_id: str,
        key: str,
        charges: Sequence[Charge],
        *,
        patience_ms: float,
        probe_ms: float = 0.0,
        ignores_block: bool = False,
    ) -> TakeOutcome:
        """Take from every bucket of the row or from none; see `gcra.take`.

        Args:
            organization_id: the row's owner.
            key: the row.
            charges: the amounts to take.
            patience_ms: the longest acceptable wait.
            probe_ms: the time for which a granted probe of a blocked row keeps others waiting.
            ignores_block: for a person who tests the provider now.
        """
        row = await self._update(
            organization_id, key, _taking(charges, patience_ms, probe_ms, ignores_block=ignores_block)
        )
        outcome: Row = row["outcome"]
        return TakeOutcome(
            is_granted=bool(outcome["is_granted"]),
            wait_ms=float(outcome["wait_ms"]),
            now_ms=float(outcome["now_ms"]),
            is_troubled=bool(outcome["is_troubled"]),
        )

    async def take_up_to(self, organization_id: str, key: str, charge: Charge, count: int) -> TakenTimes:
        """Take the charge as often as its bucket allows at once, at most `count` times; see `gcra.take_up_to`."""
        row = await self._update(organization_id, key, _taking_up_to(charge, count))
        outcome: Row = row["outcome"]
        return TakenTimes(int(outcome["granted"]), float(outcome["wait_ms"]), float(outcome["now_ms"]))

    async def give_back(self, organization_id: str, key: str, charges: Sequence[Charge]) -> None:
        """Return the unused amounts."""
        returned: Row = {
            _full_at(charge.name): {"$subtract": [_full_at_ms(charge.name), charge.cost * charge.bucket.interval_ms]}
            for charge in charges
        }
        await self._collection.update_one({"_id": key, "organization_id": organization_id}, [{"$set": returned}])

    async def block(
        self, organization_id: str, key: str, buckets: Mapping[str, Bucket], *, wait_ms: float, probe_ms: float
    ) -> None:
        """Block the row for a time, except for one probe each `probe_ms` (see `gcra.block`)."""
        until: Row = {"$add": [_NOW, min(wait_ms, probe_ms)]}
        emptied: Row = {
            _full_at(name): {"$max": [_full_at_ms(name), {"$add": [until, (bucket.burst - 1) * bucket.interval_ms]}]}
            for name, bucket in buckets.items()
        }
        blocked: Row = {
            "blocked_until_ms": {"$max": [_BLOCKED_UNTIL, until]},
            "held_until_ms": {"$max": [_HELD_UNTIL, {"$add": [_NOW, wait_ms]}]} if wait_ms > probe_ms else _HELD_UNTIL,
            **emptied,
        }
        await self._update(organization_id, key, [{"$set": blocked}, {"$set": {"idle_at": _idle_at(list(buckets))}}])

    async def note_failure(self, organization_id: str, key: str) -> float:
        """Record a failure of the provider; return the seconds for which it has been failing."""
        since: Row = {"failing_since_ms": {"$ifNull": ["$failing_since_ms", _NOW]}, "failed_at_ms": _NOW}
        row = await self._update(organization_id, key, [{"$set": since}, {"$set": {"idle_at": _idle_at([])}}])
        return max(0.0, float(row["failed_at_ms"]) - float(row["failing_since_ms"])) / 1000

    async def lift(self, organization_id: str, key: str, buckets: Mapping[str, Bucket]) -> bool:
        """End the row's block and failure; return False if it had neither. See `gcra.lift`."""
        emptied: Row = {
            _full_at(name): {"$min": [_full_at_ms(name), {"$add": [_NOW, bucket.burst * bucket.interval_ms]}]}
            for name, bucket in buckets.items()
        }
        result = await self._collection.update_one(
            {"_id": key, "organization_id": organization_id, **_TROUBLED},
            [
                *([{"$set": emptied}] if emptied else []),
                {"$unset": ["blocked_until_ms", "held_until_ms", "failing_since_ms"]},
            ],
        )
        return result.modified_count == 1

    async def troubled(self, organization_id: str | None) -> list[TroubledRow]:
        """Return the rows of one organization, or of all, that are blocked or failing."""
        query: Row = _TROUBLED if organization_id is None else {"organization_id": organization_id, **_TROUBLED}
        cursor = self._collection.find(query, {"organization_id": 1})
        return [TroubledRow(str(row["organization_id"]), str(row["_id"])) async for row in cursor]

    async def blocked_seconds(self, organization_id: str, key: str) -> float:
        """Return the remaining seconds of the row's block."""
        cursor = await self._collection.aggregate(
            [
                {"$match": {"_id": key, "organization_id": organization_id}},
                {"$project": {"wait_ms": {"$subtract": [_BLOCKED_UNTIL, _NOW]}}},
            ]
        )
        rows: list[Row] = [row async for row in cursor]
        return max(0.0, float(rows[0]["wait_ms"]) / 1000) if rows else 0.0

    async def delete(self, organization_id: str, key: str) -> None:
        """Delete the row, which fills its buckets."""
        await self._collection.delete_one({"_id": key, "organization_id": organization_id})

    async def _update(self, organization_id: str, key: str, stages: Sequence[Mapping[str, Any]]) -> Row:
        owner: Row = {"$set": {"organization_id": organization_id}}
        pipeline: list[Mapping[str, Any]] = [owner, *stages]
        try:
            return await self._upsert(key, pipeline)
        except DuplicateKeyError:
            # Another process has just created the row.
            return await self._upsert(key, pipeline)

    async def _upsert(self, key: str, pipeline: Sequence[Mapping[str, Any]]) -> Row:
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": key}, pipeline, upsert=True, return_document=ReturnDocument.AFTER
        )
        if row is None:
            raise RuntimeError("an upsert that returns the row afterwards returned none")
        return row


_TROUBLED: Row = {"$or": [{name: {"$gt": 0}} for name in ("blocked_until_ms", "held_until_ms", "failing_since_ms")]}


def _taking(charges: Sequence[Charge], patience_ms: float, probe_ms: float, *, ignores_block: bool) -> list[Row]:
    now, wait, is_granted = "$outcome.now_ms", "$outcome.wait_ms", "$outcome.is_granted"
    waits: list[Any] = [0.0] if ignores_block else [0.0, {"$subtract": [_BLOCKED_UNTIL, now]}]
    is_held: Row = {"$gt": [_HELD_UNTIL, now]}
    patience: Any = patience_ms if ignores_block else {"$cond": [is_held, 0.0, patience_ms]}
    # A block has emptied the buckets for its whole length; whoever ignores it finds them empty now.
    refilled = {
        _full_at(charge.name): {
            "$min": [_full_at_ms(charge.name), {"$add": [now, charge.bucket.burst * charge.bucket.interval_ms]}]
        }
        for charge in charges
        if ignores_block
    }
    taken: Row = {}
    for charge in charges:
        interval, burst = charge.bucket.interval_ms, charge.bucket.burst
        room_ms = (burst - min(charge.cost, burst)) * interval
        full_at = _full_at_ms(charge.name)
        waits.append({"$subtract": [{"$max": [full_at, now]}, {"$add": [now, room_ms]}]})
        moved_on: Row = {"$add": [{"$max": [full_at, {"$add": [now, wait]}]}, charge.cost * interval]}
        taken[_full_at(charge.name)] = {"$cond": [is_granted, moved_on, full_at]}
    probing: Row = {"$and": [is_granted, is_held]}
    probed: Row = {"blocked_until_ms": {"$cond": [probing, {"$add": [now, probe_ms]}, _BLOCKED_UNTIL]}}
    is_troubled: Row = {"$or": [is_held, {"$ne": [_FAILING_SINCE, None]}]}
    return [
        {"$set": {"outcome": {"now_ms": _NOW}}},
        *([{"$set": refilled}] if refilled else []),
        {"$set": {"outcome.wait_ms": {"$max": waits}, "outcome.is_troubled": is_troubled}},
        {"$set": {"outcome.is_granted": {"$lte": [wait, patience]}}},
        {"$set": {**taken, **probed}},
        {"$set": {"idle_at": _idle_at([charge.name for charge in charges])}},
    ]


def _taking_up_to(charge: Charge, count: int) -> list[Row]:
    name, step_ms = charge.name, charge.cost * charge.bucket.interval_ms
    now: Row = {"$max": [_full_at_ms(name), "$outcome.now_ms"]}
    room_ms: Row = {"$subtract": [{"$add": ["$outcome.now_ms", charge.bucket.burst * charge.bucket.interval_ms]}, now]}
    granted: Row = {"$max": [0, {"$min": [count, {"$floor": {"$divide": [room_ms, step_ms]}}]}]}
    return [
        {"$set": {"outcome": {"now_ms": _NOW}}},
        {"$set": {"outcome.granted": granted, "outcome.wait_ms": {"$max": [0.0, {"$subtract": [step_ms, room_ms]}]}}},
        {"$set": {_full_at(name): {"$add": [now, {"$multiply": ["$outcome.granted", step_ms]}]}}},
        {"$set": {"idle_at": _idle_at([name])}},
    ]


def _full_at(name: str) -> str:
    return f"full_at_ms.{name}"


def _full_at_ms(name: str) -> Row:
    return {"$ifNull": [f"$full_at_ms.{name}", 0.0]}


def _idle_at(names: Sequence[str]) -> Row:
    """Return the time from which the row may be deleted: every bucket is full, and nothing is blocked."""
    return {"$toDate": {"$max": [_NOW, _BLOCKED_UNTIL, *(_full_at_ms(name) for name in names)]}}
