"""Finder and eraser of all rows of an organization, in every collection of `analytiq.storage.catalog`."""

from collections.abc import AsyncGenerator, Sequence
from collections.abc import Collection as Ids
from typing import Any

from bson import ObjectId

from analytiq.models.erasure import CacheFate, ErasureOptions, LedgerFate
from analytiq.models.index_entry import Generation, GenerationState
from analytiq.storage import catalog
from analytiq.storage.catalog import VECTORS_PREFIX, Keeping
from analytiq.storage.client import MongoConnection, Row
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import decode
from analytiq.storage.repositories.vectors import collection_name
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

FILES_AT_ONCE = 100
ORDER = (
    # Credentials first, then rows that lead to work, then rows written by work; rows needed for finding others last.
    "organizations", "access_tokens", "invitations", "members", "idempotency_keys", "kb_epochs", "jobs", "docs",
    "document_index", "generations", VECTORS_PREFIX, "kb_changes", "document_text_segments", "document_texts",
    "uploads", "fs.chunks", "fs.files", "embedding_cache", "spu_ledger", "llm_usage", "job_history", "tags",
    "llm_providers", "knowledge_bases",
)  # fmt: skip
"""The order in which an organization is erased; other collections follow."""


class TenantRows:
    """All rows of an organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection
        self._database = connection.database
        self._majority = connection.majority

    async def kb_ids(self, organization_id: str) -> list[str]:
        """Return its knowledge bases in any state, and orphaned collections of vectors."""
        found = {str(row["_id"]) async for row in self._rows("knowledge_bases", organization_id)}
        prefix: Row = {"name": {"$regex": f"^{VECTORS_PREFIX}[0-9a-f]{{24}}$"}}
        names = await self._database.list_collection_names(filter=prefix)
        present = {name.removeprefix(VECTORS_PREFIX) for name in names}
        known = self._majority["knowledge_bases"].find({"_id": {"$in": object_ids(present)}}, {"_id": 1})
        orphaned = present - {str(row["_id"]) async for row in known}
        for kb_id in orphaned - found:
            row: Row | None = await self._majority[collection_name(kb_id)].find_one({}, {"organization_id": 1})
            if row is not None and row.get("organization_id") == organization_id:
                found.add(kb_id)
        return sorted(found)

    async def collections(self) -> list[str]:
        """Return the collections to process, in order; all collections of vectors count as one."""
        names = await self._database.list_collection_names()
        present = {VECTORS_PREFIX if name.startswith(VECTORS_PREFIX) else name for name in names}
        kept = {collection.name for collection in catalog.COLLECTIONS if collection.keeping is Keeping.KEPT}
        first = [name for name in ORDER if name in present]
        others = sorted(name for name in present - set(ORDER) - kept if not name.startswith("system."))
        return [*first, *others]

    async def erase(
        self,
        organization_id: str,
        name: str,
        *,
        kb_ids: Sequence[str],
        options: ErasureOptions,
        is_last: bool = True,
    ) -> int:
        """Delete its rows of one collection; return their number. Idempotent.

        Without `is_last`, rows of uploads stay: a writer still at work finds by them which chunks to remove.
        """
        match name:
            case catalog.VECTORS_PREFIX:
                return await self._drop_vectors(kb_ids)
            case "kb_epochs":
                return await self._delete(name, {"_id": {"$in": object_ids(list(kb_ids))}})
            case "kb_changes":
                return await self._delete(name, {"kb_id": {"$in": list(kb_ids)}})
            case "fs.chunks":
                return await self._delete_chunks(organization_id)
            case "uploads":
                return await self._end_uploads(organization_id, is_last=is_last)
            case "embedding_cache":
                return await self._erase_cache(organization_id, options.cache)
            case "spu_ledger" | "llm_usage":
                return await self._erase_charges(name, organization_id, options.ledger)
            case "access_tokens" if options.keeps_tokens:
                return 0
            case "members":
                return await self._let_members_go(organization_id)
            case _:
                return await self._delete(name, _owned(name, organization_id))

    async def close(self, organization_id: str, session: Session) -> None:
        """Delete the organization's row, without which no token works."""
        await self._database["organizations"].delete_one({"_id": object_id(organization_id)}, session=session)

    async def delete_cache(self, scope: str, *, payer: str | None = None) -> int:
        """Delete the embeddings of a scope, or those of it that one organization has paid for."""
        query: Row = {"scope": scope} if payer is None else {"scope": scope, "payer_organization_id": payer}
        return await self._delete("embedding_cache", query)

    async def count_cache(self, scope: str, *, payer: str | None = None) -> int:
        """Count the rows that `delete_cache` would delete."""
        query: Row = {"scope": scope} if payer is None else {"scope": scope, "payer_organization_id": payer}
        return await self._majority["embedding_cache"].count_documents(query)

    async def count(self, organization_id: str, *, kb_ids: Sequence[str], options: ErasureOptions) -> dict[str, int]:
        """Count the organization's rows by collection, except for rows kept by `options`."""
        found: dict[str, int] = {}
        for name in await self.collections():
            count = await self._count(organization_id, name, kb_ids, options)
            if count:
                found[name] = count
        return found

    async def _count(self, organization_id: str, name: str, kb_ids: Sequence[str], options: ErasureOptions) -> int:
        match name:
            case catalog.VECTORS_PREFIX:
                return await self._count_vectors(kb_ids)
            case "kb_epochs":
                query: Row = {"_id": {"$in": object_ids(list(kb_ids))}}
            case "kb_changes":
                query = {"kb_id": {"$in": list(kb_ids)}}
            case "fs.chunks":
                return await self._count_chunks(organization_id)
            case "embedding_cache":
                query = {"$or": [{"scope": organization_id}, {"payer_organization_id": organization_id}]}
            case "spu_ledger" | "llm_usage" if options.ledger is LedgerFate.KEEP:
                return 0
            case "access_tokens" if options.keeps_tokens:
                return 0
            case "members":
                return await self._let_members_go(organization_id)
            case _:
                query = _owned(name, organization_id)
        return await self._majority[name].count_documents(query)

    async def document_leftovers(self, organization_id: str, document_ids: Sequence[str]) -> dict[str, int]:
        """Return the number of rows that still refer to one of the documents, by collection, job histories included."""
        texts = list(document_ids)
        own: Row = {"organization_id": organization_id}
        queries: dict[str, Row] = {
            "docs": {**own, "_id": {"$in": object_ids(texts)}},
            "fs.files": {"metadata.organization_id": organization_id, "metadata.document_id": {"$in": texts}},
            "document_texts": {**own, "document_id": {"$in": texts}},
            "document_text_segments": {**own, "document_id": {"$in": texts}},
            "document_index": {**own, "document_id": {"$in": texts}},
            "generations": {**own, "document_id": {"$in": texts}},
            "job_history": {**own, "subject.document_id": {"$in": texts}},
            "prompt_results": {**own, "document_id": {"$in": texts}},
            "prompt_runs": {
                **own,
                "$or": [{"document_id": {"$in": texts}}, {"steps.passages.document_id": {"$in": texts}}],
            },
            "chat_messages": {**own, "document_ids": {"$in": texts}},
        }
        found = {name: await self._majority[name].count_documents(query) for name, query in queries.items()}
        rows = self._rows("knowledge_bases", organization_id)
        kb_ids = [str(row["_id"]) async for row in rows]
        found[VECTORS_PREFIX] = sum(
            [
                await self._majority[collection_name(kb)].count_documents({"document_id": {"$in": texts}})
                for kb in kb_ids
            ]
        )
        return {name: count for name, count in found.items() if count}

    async def superseded_of(self, organization_id: str, document_ids: Sequence[str]) -> list[Generation]:
        """Return the documents' superseded generations, whose vectors wait for the sweep."""
        query: Row = {
            "organization_id": organization_id,
            "document_id": {"$in": list(document_ids)},
            "state": GenerationState.SUPERSEDED.value,
        }
        return [decode(Generation, row) async for row in self._majority["generations"].find(query)]

    async def _let_members_go(self, organization_id: str) -> int:
        """Delete the memberships, and people without any other organization with their credentials."""
        gone = 0
        async for member in self._majority["members"].find(_owned("members", organization_id)):
            user_id: str = member["user_id"]

            async def let_go(session: Session, member: Row = member, user_id: str = user_id) -> None:
                elsewhere: Row = {"user_id": user_id, "organization_id": {"$ne": organization_id}}
                if await self._database["members"].find_one(elsewhere, session=session) is None:
                    await self._database["users"].delete_one({"_id": object_id(user_id)}, session=session)
                    for name in ("user_sessions", "one_time_links"):
                        await self._database[name].delete_many({"user_id": user_id}, session=session)
                await self._database["members"].delete_one({"_id": member["_id"]}, session=session)

            await run_in_transaction(self._connection, let_go)
            gone += 1
        return gone

    def _rows(self, name: str, organization_id: str) -> Any:
        return self._majority[name].find(_owned(name, organization_id), {"_id": 1})

    async def _delete(self, name: str, query: Row) -> int:
        return (await self._database[name].delete_many(query)).deleted_count

    async def _drop_vectors(self, kb_ids: Sequence[str]) -> int:
        dropped = 0
        for kb_id in kb_ids:
            dropped += await self._majority[collection_name(kb_id)].count_documents({})
            await self._database.drop_collection(collection_name(kb_id))
        return dropped

    async def _count_vectors(self, kb_ids: Sequence[str]) -> int:
        return sum([await self._majority[collection_name(kb_id)].count_documents({}) for kb_id in kb_ids])

    async def _files(self, organization_id: str) -> AsyncGenerator[list[ObjectId], None]:
        """Yield its files in batches, since there may be millions."""
        batch: list[ObjectId] = []
        async for row in self._rows("fs.files", organization_id):
            batch.append(row["_id"])
            if len(batch) == FILES_AT_ONCE:
                yield batch
                batch = []
        if batch:
            yield batch

    async def _delete_chunks(self, organization_id: str) -> int:
        deleted = 0
        async for files in self._files(organization_id):
            deleted += await self._delete("fs.chunks", {"files_id": {"$in": files}})
        return deleted

    async def _count_chunks(self, organization_id: str) -> int:
        count = 0
        async for files in self._files(organization_id):
            count += await self._majority["fs.chunks"].count_documents({"files_id": {"$in": files}})
        return count

    async def _end_uploads(self, organization_id: str, *, is_last: bool) -> int:
        """Abandon every unfinished upload and delete its chunks."""
        given_up: Row = {"is_given_up": True, "lease_expires_at": "$$NOW"}
        await self._database["uploads"].update_many({"organization_id": organization_id}, [{"$set": given_up}])
        rows: list[Row] = await self._database["uploads"].find({"organization_id": organization_id}).to_list()
        unfinished = await self._unfinished([object_id(row["file_id"]) for row in rows])
        await self._delete("fs.chunks", {"files_id": {"$in": unfinished}})
        if not is_last:
            return 0
        return await self._delete("uploads", {"organization_id": organization_id})

    async def _unfinished(self, file_ids: Ids[ObjectId]) -> list[ObjectId]:
        """Return the files without a row; a finished file is deleted by its row."""
        cursor = self._majority["fs.files"].find({"_id": {"$in": list(file_ids)}}, {"_id": 1})
        finished = {row["_id"] async for row in cursor}
        return [file_id for file_id in file_ids if file_id not in finished]

    async def _erase_cache(self, organization_id: str, fate: CacheFate) -> int:
        erased = await self._delete("embedding_cache", {"scope": organization_id})
        paid: Row = {"payer_organization_id": organization_id}
        if fate is CacheFate.DELETE:
            return erased + await self._delete("embedding_cache", paid)
        changed = await self._database["embedding_cache"].update_many(paid, {"$set": {"payer_organization_id": None}})
        return erased + changed.modified_count

    async def _erase_charges(self, name: str, organization_id: str, fate: LedgerFate) -> int:
        own: Row = {"organization_id": organization_id}
        match fate:
            case LedgerFate.KEEP:
                return 0
            case LedgerFate.DELETE:
                return await self._delete(name, own)
            case LedgerFate.ANONYMIZE:
                nobodys: Row = {"organization_id": "", "kb_id": None}
                if name == "llm_usage":
                    nobodys["run_id"] = None
                result = await self._database[name].update_many(own, {"$set": nobodys})
                return result.modified_count


def _owned(name: str, organization_id: str) -> Row:
    """Return the query for the organization's rows; an undeclared collection is searched in both usual ways."""
    described = catalog.find(name)
    if described is None:
        return {"$or": [{"organization_id": organization_id}, {"metadata.organization_id": organization_id}]}
    if described.owner is None:
        raise ValueError(f"the rows of {name!r} are found by their parents")
    if described.owner == "_id":
        return {"_id": object_id(organization_id)}
    return {described.owner: organization_id}
