"""The restore of one organization's archived rows, invisible until the end.

A restore is invisible before `activate`: the organization has no row, so that no token opens it, and its
knowledge bases are `restoring`: hidden, and not touched by jobs. Inserting a batch is idempotent, so
that a killed restore can be resumed.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bson import Int64, ObjectId
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from analytiq import clock
from analytiq.errors import ConflictError, InvalidInputError
from analytiq.models.archive import EmbeddingIdentity
from analytiq.models.document import Failure
from analytiq.models.job import JobRequest
from analytiq.models.knowledge_base import LOCAL_BACKEND, KnowledgeBaseStatus, distinct_names
from analytiq.models.prompt_run import UNFINISHED, RunStatus
from analytiq.storage import catalog
from analytiq.storage.catalog import VECTORS_PREFIX
from analytiq.storage.client import MongoConnection, Row
from analytiq.storage.ids import new_id, object_ids
from analytiq.storage.repositories.archives import decode_rows
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.restores import RestoreRepository, RestoreRun
from analytiq.storage.repositories.vectors import VectorRepository, collection_name
from analytiq.storage.repositories.webhook_endpoints import WebhookEndpointRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

DUPLICATE_KEY = 11000
EPOCH_STEP = 2
"""Distance of a restored epoch from the archived one.

A replica of the knowledge base's earlier life must not continue with the restored one. It continues if it sees no
gap, and it sees a gap if the first change has neither its own epoch nor the one after it.
"""

Rekey = Callable[[EmbeddingIdentity, str], str | None]
"""Return the new key of a cached embedding in its new scope; None if it cannot be computed."""


class RestoreTarget:
    """Writes one organization's archived rows into this database."""

    def __init__(self, connection: MongoConnection, run: RestoreRun, rekey: Rekey) -> None:
        self._connection = connection
        self._database = connection.database
        self._vectors = VectorRepository(connection)
        self._run = run
        self._rekey = rekey
        self._ids = run.ids

    async def insert(self, name: str, kb_id: str | None, rows: bytes) -> int:
        """Insert a batch; existing rows stay unchanged. Return the number of rows of the batch.

        Raises:
            InvalidInputError: a row belongs to another organization than its section.
            ConflictError: an id is taken by another row.
        """
        decoded = decode_rows(rows)
        match name:
            case "embedding_cache":
                await self._insert_embeddings(decoded)
            case "knowledge_bases":
                for row in decoded:
                    await self._insert_knowledge_base(self._own(name, row))
            case _:
                await self._insert_rows(name, kb_id, [self._own(name, row) for row in decoded])
        return len(decoded)

    async def activate(
        self,
        organization: bytes,
        epochs: bytes,
        *,
        restores: RestoreRepository,
        jobs: JobRepository,
        requests_of: Callable[[str, Sequence[str], Sequence[str]], Sequence[JobRequest]],
        name: str | None,
    ) -> None:
        """Make everything visible, in one transaction.

        Args:
            organization: its archived row.
            epochs: the archived rows of its knowledge bases' epochs.
            restores: the repository that forgets the run.
            jobs: the queue for the requests.
            requests_of: (organization id, knowledge bases whose first indexing had not begun, or that a search
                server serves, prompts with unfinished runs) → the work to enqueue.
            name: another name for the organization.

        Raises:
            ConflictError: the restore's lease was lost.
        """
        row = self._own("organizations", decode_rows(organization)[0])
        if name is not None:
            row["name"] = name
        archived = [self._rewritten("kb_epochs", item) for item in decode_rows(epochs)] if epochs else []
        hidden = await self._hidden()
        prompt_ids = await self._prompts_under_way()

        async def commit(session: Session) -> None:
            if not await restores.end(self._run, session=session):
                raise ConflictError("Another process continues this restore. Wait for its end.")
            await self._begin_histories(archived, session)
            await self._show(hidden, session)
            await self._database["erasures"].update_many(
                {"organization_id": self._run.organization_id}, {"$set": {"is_watched": False}}, session=session
            )
            key = {"_id": row["_id"]}
            await self._database["organizations"].replace_one(key, row, upsert=True, session=session)
            wanting = [str(item["_id"]) for item in hidden if _wants_work(item)]
            await self._resume_sources(session)
            endpoints = WebhookEndpointRepository(self._connection)
            await endpoints.announce_restored(self._run.organization_id, session=session)
            await jobs.enqueue(requests_of(self._run.organization_id, wanting, prompt_ids), session=session)

        await run_in_transaction(self._connection, commit, deadline_seconds=60)

    async def _hidden(self) -> list[Row]:
        query: Row = {"organization_id": self._run.organization_id, "status": KnowledgeBaseStatus.RESTORING.value}
        return await self._database["knowledge_bases"].find(query).to_list()

    async def _prompts_under_way(self) -> list[str]:
        query: Row = {"organization_id": self._run.organization_id, "status": {"$in": [*UNFINISHED]}}
        found: list[Any] = await self._database["prompt_runs"].distinct("prompt_id", query)
        return sorted(map(str, found))

    async def _begin_histories(self, archived: Sequence[Row], session: Session) -> None:
        for epoch in archived:
            number, commit_id = int(epoch["epoch"]) + EPOCH_STEP, new_id()
            await self._database["kb_epochs"].update_one(
                {"_id": epoch["_id"]},
                {"$set": {"epoch": Int64(number), "commit_id": commit_id}},
                upsert=True,
                session=session,
            )
            # The change that made the epoch: without it, a replica loaded now would be loaded twice.
            await self._database["kb_changes"].update_one(
                {"kb_id": str(epoch["_id"]), "epoch": Int64(number)},
                {"$set": {"commit_id": commit_id, "added": None, "removed": None, "at": clock.now()}},
                upsert=True,
                session=session,
            )

    async def _resume_sources(self, session: Session) -> None:
        """Let scheduled sources, and those of which a service has named items, run."""
        noted: Row = {"$gt": [{"$size": {"$ifNull": ["$pending_ids", []]}}, 0]}
        fields: Row = {
            "next_run_at": {"$cond": [{"$gt": ["$interval_seconds", None]}, "$$NOW", None]},
            "is_pending": {"$or": [noted, {"$ifNull": ["$is_pending_whole", False]}]},
        }
        await self._database["sources"].update_many(
            {"organization_id": self._run.organization_id, "is_deleted": False}, [{"$set": fields}], session=session
        )

    async def _show(self, hidden: Sequence[Row], session: Session) -> None:
        # An archive from before names were unique may hold duplicates.
        ordered = sorted(hidden, key=lambda row: (row["created_at"], row["_id"]))
        names = distinct_names([str(row["name"]) for row in ordered])
        updates = [
            UpdateOne(
                {"_id": row["_id"], "organization_id": self._run.organization_id},
                {"$set": {"status": row["restored_status"], "name": name}, "$unset": {"restored_status": ""}},
            )
            for row, name in zip(ordered, names, strict=True)
        ]
        if updates:
            await self._database["knowledge_bases"].bulk_write(updates, session=session)

    def _own(self, name: str, row: Row) -> Row:
        """Return the row with its new ids.

        Raises:
            InvalidInputError: the row belongs to another organization than the restored one.
        """
        owner = catalog.describe(name).owner
        if owner is not None and _at(row, owner) != self._run.source_organization_id:
            raise InvalidInputError(
                f"The archive has a row in {name!r} that is not of the organization it is said to be of: it was not"
                " written by `analytiq backup`.",
                code="archive_foreign",
            )
        return self._rewritten(name, row)

    def _rewritten(self, name: str, row: Row) -> Row:
        self._ids.rewrite(row, catalog.describe(name).ids)
        if name in ("spu_ledger", "llm_usage") and self._ids.is_fresh:
            row["restored_from"] = self._run.source_organization_id
        if name == "prompt_runs" and self._ids.is_fresh and row["status"] in UNFINISHED:
            # The original continues it: a second run must not be paid for.
            detail = "it was running when the archive was made; run the prompt again"
            failure = Failure(code="not_copied", detail=detail, at=clock.now())
            row |= {"status": RunStatus.CANCELLED.value, "error": failure.model_dump(), "ended_at": failure.at}
        if name == "generations":
            row["lease_token"] = ""
        if name == "sources":
            # No run may look for documents that are not restored yet.
            row |= {"next_run_at": None, "is_pending": False}
            if self._ids.is_fresh:
                # The original goes on reading there, and a service renews each token once.
                row |= {"credentials": None, "interval_seconds": None, "pending_ids": [], "is_pending_whole": False}
        return row

    async def _insert_knowledge_base(self, row: Row) -> None:
        kb_id = str(row["_id"])
        row["vectors_uuid"] = await self._vectors.create_collection(kb_id)
        row["restored_status"] = row["status"]
        row["status"] = KnowledgeBaseStatus.RESTORING.value
        await self._insert_rows("knowledge_bases", None, [row])

    async def _insert_rows(self, name: str, kb_id: str | None, rows: Sequence[Row]) -> None:
        if name == "fs.chunks":
            await self._require_own_files(rows)
        if kb_id is not None:
            name = collection_name(self._ids.new(kb_id))
            await self._require_own_kb(self._ids.new(kb_id))
        try:
            await self._database[name].insert_many(rows, ordered=False)
        except BulkWriteError as error:
            failures: list[Row] = error.details.get("writeErrors", [])
            if not failures or any(failure.get("code") != DUPLICATE_KEY for failure in failures):
                raise
            await self._require_same(name, [rows[int(failure["index"])] for failure in failures], error)

    async def _require_same(self, name: str, rows: Sequence[Row], error: BulkWriteError) -> None:
        """Require that existing rows were inserted by this restore before it was killed."""
        described = catalog.describe(name)
        field = described.owner or (described.parent[0] if described.parent else "_id")
        cursor = self._database[name].find({"_id": {"$in": [row["_id"] for row in rows]}})
        there = {row["_id"]: _at(row, field) async for row in cursor}
        for row in rows:
            if there.get(row["_id"]) != _at(row, field):
                raise ConflictError(
                    f"The id {row['_id']} of {name!r} is taken in this database by something else. Restore into"
                    " another database, or under fresh ids with --as-new.",
                    code="id_taken",
                ) from error

    async def _require_own_files(self, chunks: Sequence[Row]) -> None:
        wanted = {chunk["files_id"] for chunk in chunks}
        query: Row = {"_id": {"$in": list(wanted)}, "metadata.organization_id": self._run.organization_id}
        if await self._database["fs.files"].count_documents(query) != len(wanted):
            raise _stray("fs.chunks")

    async def _require_own_kb(self, kb_id: str) -> None:
        query: Row = {"_id": {"$in": object_ids([kb_id])}, "organization_id": self._run.organization_id}
        if await self._database["knowledge_bases"].find_one(query, {"_id": 1}) is None:
            raise _stray(VECTORS_PREFIX)

    async def _insert_embeddings(self, rows: Sequence[Row]) -> None:
        """Insert the embeddings missing from the cache; give one that lost its payer in an erasure the payer back."""
        source, target = self._run.source_organization_id, self._run.organization_id
        updates: list[UpdateOne] = []
        for row in rows:
            scope = str(row["scope"])
            if scope not in ("global", source) or row["payer_organization_id"] not in (None, source):
                raise _stray("embedding_cache")
            payer = target if row["payer_organization_id"] == source else None
            key: str | None = str(row.pop("_id"))
            if scope != "global" and self._ids.is_fresh:
                key = self._rekey(_identity(key, row), target)
                row["scope"] = target
            if key is None:
                continue
            row["payer_organization_id"] = {"$ifNull": ["$payer_organization_id", payer]}
            kept: Row = {
                name: value if name == "payer_organization_id" else {"$ifNull": [f"${name}", {"$literal": value}]}
                for name, value in row.items()
            }
            updates.append(UpdateOne({"_id": key}, [{"$set": kept}], upsert=True))
        if updates:
            await self._database["embedding_cache"].bulk_write(updates, ordered=False)


class InstallationTarget:
    """Writes the missing rows that belong to no organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._database = connection.database

    async def insert(self, name: str, rows: bytes) -> int:
        """Insert a batch; return its number of rows."""
        decoded = decode_rows(rows)
        match name:
            case "llm_providers":
                updates = [_provider(row) for row in decoded]
            case "embedding_cache":
                if any(row["scope"] != "global" for row in decoded):
                    raise _stray(name)
                nobodys = [{**row, "payer_organization_id": None} for row in decoded]
                updates = [UpdateOne({"_id": row.pop("_id")}, {"$setOnInsert": row}, upsert=True) for row in nobodys]
            case _:
                raise _stray(name)
        await self._database[name].bulk_write(updates, ordered=False)
        return len(decoded)


def _provider(row: Row) -> UpdateOne:
    if row["organization_id"] is not None:
        raise _stray("llm_providers")
    key = {"organization_id": None, "litellm_provider": row["litellm_provider"]}
    return UpdateOne(
        key, {"$setOnInsert": {name: value for name, value in row.items() if name not in key}}, upsert=True
    )


def _identity(key: str, row: Row) -> EmbeddingIdentity:
    return EmbeddingIdentity(
        key=key,
        chunk_hash=row["chunk_hash"],
        embedding_model=row["embedding_model"],
        dimensions=(len(row["embedding"]) - 2) // 4,
        operation=row["operation"],
        scope=row["scope"],
    )


def _at(row: Row, path: str) -> object:
    """Return the value at a path; an ObjectId as its hex digits."""
    place: Any = row
    for name in path.split("."):
        place = place.get(name) if isinstance(place, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return str(place) if isinstance(place, ObjectId) else place  # pyright: ignore[reportUnknownVariableType]


def _stray(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"The archive has a row in {name!r} that belongs to nothing in it: it was not written by `analytiq backup`.",
        code="archive_foreign",
    )


def _wants_work(knowledge_base: Row) -> bool:
    is_unbegun = knowledge_base.get("first_membership_at") is None
    return is_unbegun or knowledge_base.get("vector_store", LOCAL_BACKEND) != LOCAL_BACKEND
