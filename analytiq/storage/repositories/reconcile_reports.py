"""Collection `reconcile_reports`: runs of the reconciler with their findings and progress."""

from pymongo import IndexModel

from analytiq.models.reconciliation import Depth, ReconciliationRun, RunState
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "reconcile_reports": [
        IndexModel([("organization_id", 1), ("created_at", -1), ("_id", -1)]),
        IndexModel([("expires_at", 1)], expireAfterSeconds=0),
    ],
}

UNFINISHED = (RunState.QUEUED.value, RunState.RUNNING.value)


class ReconcileReportRepository:
    """Runs by id, of one organization or over all."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["reconcile_reports"]

    async def insert(self, run: ReconciliationRun, *, session: Session | None = None) -> None:
        """Store a run."""
        await self._collection.insert_one(encode(run), session=session)

    async def get(self, organization_id: str | None, run_id: str) -> ReconciliationRun | None:
        """Return the organization's run with this id; organization None: a run over all."""
        ids = object_ids([run_id])
        if not ids:
            return None
        row: Row | None = await self._collection.find_one({"_id": ids[0], "organization_id": organization_id})
        return decode(ReconciliationRun, row) if row else None

    async def page(
        self, organization_id: str | None, *, kb_id: str | None, skip: int, limit: int
    ) -> tuple[list[ReconciliationRun], int]:
        """Return a page of runs, newest first, without examples; organization None: of runs over all."""
        query: Row = {"organization_id": organization_id}
        if kb_id is not None:
            query["kb_id"] = kb_id
        cursor = self._collection.find(query, {"examples": 0}).sort([("created_at", -1), ("_id", -1)])
        found = [decode(ReconciliationRun, row) async for row in cursor.skip(skip).limit(limit)]
        return found, await self._collection.count_documents(query)

    async def update(self, run: ReconciliationRun) -> bool:
        """Store the progress or the outcome of a run; return False if the run has expired."""
        row = encode(run)
        result = await self._collection.update_one({"_id": row.pop("_id")}, {"$set": row})
        return result.matched_count == 1

    async def unfinished_over_everything(self, depth: Depth) -> ReconciliationRun | None:
        """Return the latest unfinished pass of a leader whose process has ended."""
        row: Row | None = await self._collection.find_one(
            {
                "organization_id": None,
                "depth": depth.value,
                "state": {"$in": list(UNFINISHED)},
                "is_asked": {"$ne": True},
            },
            sort=[("created_at", -1)],
        )
        return decode(ReconciliationRun, row) if row else None
