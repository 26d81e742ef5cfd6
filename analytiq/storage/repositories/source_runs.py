"""Collections `source_runs` and `source_run_entries`: runs of sources, and the outcome of each item."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pymongo import IndexModel, ReturnDocument

from analytiq import clock
from analytiq.models.document import Failure
from analytiq.models.source import (
    ItemOutcome,
    RunCounts,
    RunNote,
    RunState,
    RunTrigger,
    SourceRun,
    SourceRunEntry,
)
from analytiq.models.webhook import WebhookEvent, WebhookEventType
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.repositories.webhook_outbox import WebhookOutbox
from analytiq.storage.session import Session

KEPT_DAYS = 30
INDEXES = {
    "source_runs": [
        IndexModel([("organization_id", 1), ("source_id", 1), ("created_at", -1), ("_id", -1)]),
        IndexModel([("source_id", 1)], name="one_open_run", unique=True, partialFilterExpression={"is_open": True}),
        IndexModel([("ended_at", 1)], expireAfterSeconds=KEPT_DAYS * 86_400),
        IndexModel(
            [("source_id", 1), ("push_hour", 1)],
            name="one_log_an_hour",
            unique=True,
            partialFilterExpression={"push_hour": {"$type": "date"}},
        ),
    ],
    "source_run_entries": [
        IndexModel([("organization_id", 1), ("source_id", 1), ("run_id", 1), ("outcome", 1), ("_id", 1)]),
        IndexModel([("organization_id", 1), ("document_id", 1)]),
        IndexModel([("at", 1)], expireAfterSeconds=KEPT_DAYS * 86_400),
    ],
}
MOST_NOTES = 200
ADVANCING = (
    "phase", "cursor", "counts", "known_before", "is_whole", "withheld_removals", "started_at", "since", "next_since",
    "is_delta", "was_expired", "settings_id", "waiting_since", "waits", "is_slow", "silent_attempts",
)  # fmt: skip
"""The fields of a run that change with its batches."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run."""

    state: RunState
    error: Failure | None = None
    notes: tuple[RunNote, ...] = ()


class SourceRunRepository:
    """Runs of an organization's sources."""

    def __init__(self, connection: MongoConnection) -> None:
        self._runs = connection.database["source_runs"]
        self._entries = connection.database["source_run_entries"]
        self._outbox = WebhookOutbox(connection)

    async def open_run(
        self, organization_id: str, source_id: str, *, session: Session | None = None
    ) -> SourceRun | None:
        """Return the source's unfinished run."""
        query: Row = {**_of(organization_id, source_id), "is_open": True}
        row: Row | None = await self._runs.find_one(query, session=session)
        return decode(SourceRun, row) if row else None

    async def all_open(self, limit: int) -> list[SourceRun]:
        """Return unfinished runs of all organizations."""
        # The bound of the id lets the server use the index of open runs.
        query: Row = {"is_open": True, "source_id": {"$gt": ""}}
        return [decode(SourceRun, row) async for row in self._runs.find(query, {"cursor": 0}).limit(limit)]

    async def insert(self, session: Session, run: SourceRun) -> None:
        """Store a new run; the index of open runs decides between concurrent requests."""
        row = encode(run)
        key: Row = {"source_id": row.pop("source_id"), "is_open": row.pop("is_open")}
        await self._runs.update_one({"_id": row.pop("_id"), **key}, {"$setOnInsert": row}, upsert=True, session=session)

    async def get(self, organization_id: str, source_id: str, run_id: str) -> SourceRun | None:
        """Return the source's run with this id."""
        ids = object_ids([run_id])
        if not ids:
            return None
        row: Row | None = await self._runs.find_one({"_id": ids[0], **_of(organization_id, source_id)})
        return decode(SourceRun, row) if row else None

    async def page(self, organization_id: str, source_id: str, *, skip: int, limit: int) -> tuple[list[SourceRun], int]:
        """Return a page of a source's runs, latest first, and the total count."""
        query = _of(organization_id, source_id)
        cursor = self._runs.find(query).sort([("created_at", -1), ("_id", -1)]).skip(skip).limit(limit)
        return [decode(SourceRun, row) async for row in cursor], await self._runs.count_documents(query)

    async def latest_of(self, organization_id: str, source_ids: Collection[str]) -> dict[str, SourceRun]:
        """Return the latest run by source id; sources without runs are left out."""
        found: dict[str, SourceRun] = {}
        for source_id in source_ids:
            # Without the log of pushes: it would hide a run that failed.
            query: Row = {**_of(organization_id, source_id), "push_hour": None}
            cursor = self._runs.find(query).sort([("created_at", -1), ("_id", -1)]).limit(1)
            async for row in cursor:
                found[source_id] = decode(SourceRun, row)
        return found

    async def advance(
        self, session: Session, run: SourceRun, *, state: RunState, notes: Sequence[RunNote] = ()
    ) -> SourceRun | None:
        """Store the run's progress; return None if it was ended by somebody else.

        Stores the fields of `run` in `ADVANCING`.
        """
        values = encode(run)
        row: Row | None = await self._runs.find_one_and_update(
            {"_id": object_id(run.id), **_of(run.organization_id, run.source_id), "is_open": True},
            {"$set": {**{name: values[name] for name in ADVANCING}, "state": state.value}, **_pushing(notes)},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return decode(SourceRun, row) if row else None

    async def finish(self, run: SourceRun, end: RunEnd, *, session: Session | None = None) -> bool:
        """End an open run; return False if it has ended."""
        query: Row = {"_id": object_id(run.id), **_of(run.organization_id, run.source_id), "is_open": True}
        change: Row = {
            "$set": {
                "state": end.state.value,
                "is_open": False,
                # They may have megabytes.
                "cursor": None,
                "since": None,
                "next_since": None,
                "error": end.error.model_dump() if end.error else None,
                "ended_at": clock.now(),
            },
            **_pushing(end.notes),
        }

        async def write(own: Session | None) -> bool:
            return (await self._runs.update_one(query, change, session=own)).matched_count == 1

        return await self._outbox.changing(session, run.organization_id, _finished_event(run, end), write)

    async def add_entries(self, session: Session, entries: Sequence[SourceRunEntry]) -> None:
        """Record outcomes of items."""
        if entries:
            await self._entries.insert_many([encode(entry) for entry in entries], ordered=False, session=session)

    async def note_pushes(self, session: Session, organization_id: str, source_id: str, counts: RunCounts) -> str:
        """Add outcomes of pushed items to the source's log of this hour; return the id of its row."""
        now = clock.now()
        hour = now.replace(minute=0, second=0, microsecond=0)
        log = SourceRun(
            id=new_id(),
            organization_id=organization_id,
            source_id=source_id,
            state=RunState.SUCCEEDED,
            is_open=False,
            trigger=RunTrigger.PUSH,
            push_hour=hour,
            created_at=now,
            started_at=now,
        )
        row = encode(log)
        del row["counts"], row["ended_at"]
        added = {f"counts.{name}": getattr(counts, name) for name in type(counts).model_fields}
        key: Row = {name: row.pop(name) for name in ("organization_id", "source_id", "push_hour")}
        stored: Row | None = await self._runs.find_one_and_update(
            key,
            {"$setOnInsert": row, "$inc": added, "$set": {"ended_at": now}},
            upsert=True,
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return decode(SourceRun, stored or {}).id

    async def forget_unchanged(self, organization_id: str, source_id: str) -> None:
        """Remove the entries of unchanged items of all runs: they are kept for the latest run only."""
        query: Row = {**_of(organization_id, source_id), "outcome": ItemOutcome.UNCHANGED.value}
        await self._entries.delete_many(query)

    async def entries(
        self,
        organization_id: str,
        run: SourceRun,
        outcomes: Sequence[ItemOutcome],
        *,
        skip: int,
        limit: int,
    ) -> tuple[list[SourceRunEntry], int]:
        """Return a page of the outcomes of a run in the order of the run, and the count; no outcomes: all."""
        query: Row = {**_of(organization_id, run.source_id), "run_id": run.id}
        if outcomes:
            query["outcome"] = {"$in": [outcome.value for outcome in outcomes]}
        cursor = self._entries.find(query).sort("_id", 1).skip(skip).limit(limit)
        found = [decode(SourceRunEntry, row) async for row in cursor]
        return found, await self._entries.count_documents(query)

    async def delete_of_source(self, organization_id: str, source_id: str) -> None:
        """Remove the runs of a deleted source."""
        await self._entries.delete_many(_of(organization_id, source_id))
        await self._runs.delete_many(_of(organization_id, source_id))

    async def delete_of_document(self, organization_id: str, document_id: str) -> None:
        """Remove the outcomes that name an erased document."""
        await self._entries.delete_many({"organization_id": organization_id, "document_id": document_id})


def _of(organization_id: str, source_id: str) -> Row:
    return {"organization_id": organization_id, "source_id": source_id}


def _pushing(notes: Sequence[RunNote]) -> Row:
    if not notes:
        return {}
    added = [note.model_dump() for note in notes]
    return {"$push": {"notes": {"$each": added, "$slice": -MOST_NOTES}}}


def _finished_event(run: SourceRun, end: RunEnd) -> WebhookEvent:
    return WebhookEvent(
        WebhookEventType.SOURCE_RUN_FINISHED,
        f"source:{run.source_id}",
        {
            "run_id": run.id,
            "source_id": run.source_id,
            "state": end.state.value,
            "code": end.error.code if end.error else None,
            "is_dry_run": run.is_dry_run,
            "counts": run.counts.model_dump(),
        },
    )
