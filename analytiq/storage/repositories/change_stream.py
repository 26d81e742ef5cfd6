"""The database's change stream: changes to documents, knowledge bases, jobs and credentials of all organizations."""

from collections.abc import AsyncGenerator, Iterator
from typing import Any

from bson import Timestamp

from analytiq.models.change import Change, ChangeKey, ChangeKind, ChangeMoment
from analytiq.models.job import JobKind
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row

_CREDENTIALS = ("access_tokens", "user_sessions", "members", "organizations")
_WAIT_MILLISECONDS = 10_000
"""Time for which the server holds a request without news."""

_UPDATED: Row = {"updateDescription.updatedFields.updated_at": {"$exists": True}}
_TOLD: Row = {
    "$or": [
        # Renewed leases and held rows are no news: they leave `updated_at` alone.
        {
            "ns.coll": {"$in": ["docs", "jobs"]},
            "$or": [{"operationType": {"$in": ["insert", "replace", "delete"]}}, _UPDATED],
        },
        {"ns.coll": "knowledge_bases", "operationType": {"$in": ["insert", "replace", "update", "delete"]}},
        # Mere notes, such as the last use, change no rights.
        {
            "ns.coll": "access_tokens",
            "$or": [
                {"operationType": "delete"},
                {"updateDescription.updatedFields.revoked_at": {"$exists": True}},
                {"updateDescription.updatedFields.made_by": {"$exists": True}},
            ],
        },
        {"ns.coll": "user_sessions", "operationType": "delete"},
        {"ns.coll": {"$in": ["members", "organizations"]}, "operationType": {"$in": ["update", "replace", "delete"]}},
    ]
}
_FIELDS: Row = {
    "ns.coll": 1,
    "documentKey": 1,
    "clusterTime": 1,
    "operationType": 1,
    "fullDocument.organization_id": 1,
}


class ChangeStreamRepository:
    """Reads change notices only; other repositories read the rows, with their organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._database = connection.database

    async def now(self) -> ChangeMoment:
        """Return the latest position in the change history."""
        hello: Row = await self._database.command("hello")
        latest: Timestamp = hello["operationTime"]
        return ChangeMoment(latest.time, latest.inc)

    async def watch(self, after: ChangeMoment) -> AsyncGenerator[list[Change]]:
        """Yield the changes after the given position, and an empty list after some quiet seconds.

        The server does not look rows up: a row that changes ten times in a second is read once.
        """
        stream = await self._database.watch(
            [{"$match": _TOLD}, {"$project": _FIELDS}],
            start_at_operation_time=Timestamp(after.seconds, after.increment),
            max_await_time_ms=_WAIT_MILLISECONDS,
        )
        async with stream:
            yield []  # the stream is open
            while True:
                row: Row | None = await stream.try_next()
                yield [] if row is None else list(_changes(row))


def _changes(row: Row) -> Iterator[Change]:
    time: Timestamp = row["clusterTime"]
    moment = ChangeMoment(time.time, time.inc)
    full: dict[str, Any] = row.get("fullDocument") or {}
    organization_id: str | None = full.get("organization_id")
    row_id = str(row["documentKey"]["_id"])
    match row["ns"]["coll"]:
        case "docs":
            yield Change(ChangeKey(ChangeKind.DOCUMENT, row_id), moment, organization_id)
        case "knowledge_bases":
            yield Change(ChangeKey(ChangeKind.KNOWLEDGE_BASE, row_id), moment, organization_id)
        case "jobs":
            yield Change(ChangeKey(ChangeKind.JOB, row_id), moment, organization_id)
            # The row of a deleted document does not name its organization; the job that cleans up after it does.
            kind, _, subject = row_id.partition(":")
            if kind in (JobKind.EXTRACT, JobKind.SYNC, JobKind.CLEAN_DOCUMENT):
                document_id = subject.rpartition(":")[2]
                yield Change(ChangeKey(ChangeKind.DOCUMENT, document_id), moment, organization_id)
            elif kind == JobKind.DROP_KB:
                yield Change(ChangeKey(ChangeKind.KNOWLEDGE_BASE, subject), moment, organization_id)
        case collection if collection in _CREDENTIALS:
            yield Change(ChangeKey(ChangeKind.CREDENTIAL, row_id), moment)
        case _:
            pass
