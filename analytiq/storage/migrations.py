"""Versioned migrations: safe to run from every process at every start.

One process takes the lease and applies the missing migrations; the others wait for it. Migrations are idempotent,
since a process can die between a migration and its record.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from analytiq.errors import TransientError
from analytiq.storage import files
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories import (
    audit_log,
    backup_holds,
    backup_records,
    chats,
    documents,
    embedding_cache,
    embedding_claims,
    epochs,
    erasures,
    generations,
    idempotency,
    inbound,
    index_entries,
    job_history,
    jobs,
    knowledge_bases,
    leases,
    ledger,
    llm_usage,
    organizations,
    picture_readings,
    prompt_results,
    prompt_runs,
    prompts,
    providers,
    quotas,
    rate_limits,
    reconcile_reports,
    restores,
    sessions,
    source_items,
    source_runs,
    sources,
    storage_accounts,
    tags,
    tenant_tasks,
    texts,
    uploads,
    users,
    webhook_deliveries,
    webhook_endpoints,
    workers,
)
from analytiq.storage.repositories.rows import Row

LEASE_SECONDS = 60
WAIT_SECONDS = 300
_POLL_SECONDS = 0.2
_STATE_ID = "migrations"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step; `version` counts up by one.

    The declared indexes exist before `apply`; without it, they are all that the step needs.
    """

    version: int
    name: str
    apply: Callable[[MongoConnection], Awaitable[None]] | None = None


def declared_indexes() -> dict[str, list[IndexModel]]:
    """Return the indexes of each collection, declared beside the repositories."""
    declared: dict[str, list[IndexModel]] = {}
    modules = (
        organizations, tags, documents, texts, uploads, jobs, knowledge_bases, epochs, index_entries, generations,
        embedding_cache, ledger, quotas, llm_usage, providers, rate_limits, idempotency, job_history, workers, files,
        backup_holds, restores, erasures, leases, reconcile_reports, embedding_claims, prompts, prompt_runs,
        prompt_results, chats, users, sessions, audit_log, storage_accounts,
        backup_records, tenant_tasks, picture_readings, sources, source_items, source_runs,
        inbound, webhook_endpoints, webhook_deliveries,
    )  # fmt: skip
    for module in modules:
        declared.update(module.INDEXES)
    return declared


async def _create_indexes(connection: MongoConnection) -> None:
    # The index of their names refuses duplicates, which older releases allowed.
    await knowledge_bases.KnowledgeBaseRepository(connection).set_names_apart()
    for collection, indexes in declared_indexes().items():
        if indexes:
            await connection.database[collection].create_indexes(indexes)
    # Collections without an index must exist before a transaction writes to them.
    existing = set(await connection.database.list_collection_names())
    for collection in ("kb_epochs", "organizations", "leases"):
        if collection not in existing:
            await connection.database.create_collection(collection, check_exists=False)


async def _open_spu_accounts(connection: MongoConnection) -> None:
    used_of = await ledger.LedgerRepository(connection).used()
    await quotas.QuotaRepository(connection).open_accounts(used_of)


async def _order_lists_of_jobs(connection: MongoConnection) -> None:
    present = await connection.database["jobs"].index_information()
    if jobs.UNSORTED_INDEX in present:
        await connection.database["jobs"].drop_index(jobs.UNSORTED_INDEX)


MIGRATIONS = (
    Migration(1, "indexes"),
    Migration(2, "indexes of lanes and of the jobs' history"),
    Migration(3, "indexes of workers"),
    Migration(4, "index of the history of knowledge bases"),
    Migration(5, "index of staged texts"),
    Migration(6, "indexes of rate limits"),
    Migration(7, "indexes of the usage of chat models"),
    Migration(8, "index of jobs by kind", _order_lists_of_jobs),
    Migration(9, "indexes that find the rows of an organization"),
    Migration(10, "accounts of SPUs, with what the ledger says was used", _open_spu_accounts),
    Migration(11, "leases and reports of the reconciler"),
    Migration(12, "claims on embeddings under way, and what the cache has let go"),
    Migration(13, "indexes of prompts, runs and results"),
    Migration(14, "indexes of chats"),
    Migration(15, "indexes of people and of the audit log"),
    Migration(16, "accounts of storage, and the index that documents are counted by"),
    Migration(17, "index of chats by their owner"),
    Migration(18, "index of dead jobs by error, and indexes of records of backups"),
    Migration(19, "index of documents by the type of their file"),
    Migration(20, "indexes of documents by their last change and by their state"),
    Migration(21, "unique names of knowledge bases"),
    Migration(22, "indexes that count a knowledge base's failed and empty documents"),
    Migration(23, "last runs of organizations' periodic tasks"),
    Migration(24, "unique external identities of documents"),
    Migration(25, "indexes of the parts of documents"),
    Migration(26, "readings of pictures by vision models"),
    Migration(27, "sources, and their inbound addresses"),
    Migration(28, "webhook endpoints and deliveries"),
)


async def migrate(connection: MongoConnection) -> list[str]:
    """Bring the database to this release's version; return the names of the steps applied by this call.

    Raises:
        TransientError: another process has been migrating for longer than WAIT_SECONDS.
    """
    token = new_id()
    applied: list[str] = []
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while await _version(connection) < MIGRATIONS[-1].version:
        if await _take_lease(connection, token):
            try:
                applied += await _apply_missing(connection, token)
            finally:
                await connection.database["schema_migrations"].update_one(
                    {"_id": _STATE_ID, "token": token}, {"$set": {"token": None}}
                )
        elif asyncio.get_running_loop().time() > deadline:
            raise TransientError("Another process has been migrating the database for too long. Read its log.")
        else:
            await asyncio.sleep(_POLL_SECONDS)
    return applied


async def _version(connection: MongoConnection) -> int:
    row: Row | None = await connection.majority["schema_migrations"].find_one({"_id": _STATE_ID})
    return int(row["version"]) if row else 0


async def _apply_missing(connection: MongoConnection, token: str) -> list[str]:
    """Create the declared indexes once, then apply and record each missing step."""
    present = await _version(connection)
    missing = [migration for migration in MIGRATIONS if migration.version > present]
    if missing:
        await _create_indexes(connection)
    applied: list[str] = []
    for position, migration in enumerate(missing, start=1):
        if migration.apply is not None:
            await migration.apply(connection)
        # Steps without work of their own are recorded with the next that has some.
        if migration.apply is not None or position == len(missing):
            await _record(connection, token, migration.version)
        applied.append(migration.name)
    return applied


async def _record(connection: MongoConnection, token: str, version: int) -> None:
    await connection.database["schema_migrations"].update_one(
        {"_id": _STATE_ID, "token": token},
        [
            {
                "$set": {
                    "version": {"$max": ["$version", version]},
                    "lease_expires_at": {"$add": ["$$NOW", LEASE_SECONDS * 1000]},
                }
            }
        ],
    )


async def _take_lease(connection: MongoConnection, token: str) -> bool:
    state = connection.database["schema_migrations"]
    with contextlib.suppress(DuplicateKeyError):  # another process has just created the row
        await state.update_one({"_id": _STATE_ID}, {"$setOnInsert": {"version": 0, "token": None}}, upsert=True)
    result = await state.update_one(
        {"_id": _STATE_ID, "$or": [{"token": None}, {"$expr": {"$lt": ["$lease_expires_at", "$$NOW"]}}]},
        [{"$set": {"token": token, "lease_expires_at": {"$add": ["$$NOW", LEASE_SECONDS * 1000]}}}],
    )
    return result.modified_count == 1
