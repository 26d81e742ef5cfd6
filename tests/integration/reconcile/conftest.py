"""A tenant at rest, and how drift is made and mended."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from bson import ObjectId

from analytiq import clock
from analytiq.composition import Services
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth
from analytiq.operations.reconcile.report import Report
from analytiq.settings import IndexingSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.tenant import Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]
LONG_AGO = timedelta(days=2)


@pytest.fixture
async def tenant(compose_services: Compose) -> Tenant:
    """As elsewhere, and superseded vectors are swept at once: a healthy system has none waiting."""
    return await new_tenant(await compose_services(indexing=IndexingSettings(sweep_delay_seconds=0)))


@pytest.fixture
async def kb(tenant: Tenant) -> KnowledgeBase:
    """Two documents of five chunks each, all at rest."""
    kb = await tenant.knowledge_base()
    for name, subject in (("a.txt", "whales"), ("b.txt", "birds")):
        await tenant.document(name, prose(subject, 5))
    return await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)


class Patient:
    """A tenant whose state is damaged, looked at and mended."""

    def __init__(
        self, tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection, embedding_server: EmbeddingServer
    ) -> None:
        self.tenant = tenant
        self.kb = kb
        self.database: Any = migrated.database
        self._provider = embedding_server
        self._texts = embedding_server.texts

    @property
    def vectors(self) -> Any:
        return self.database[f"kb_vectors_{self.kb.id}"]

    @property
    def embedded(self) -> int:
        """Texts that the provider has embedded since the tenant was at rest."""
        return self._provider.texts - self._texts

    async def entry(self, name: str = "a.txt") -> dict[str, Any]:
        document = await self.database["docs"].find_one({"document_name": name})
        entry: dict[str, Any] | None = await self.database["document_index"].find_one(
            {"document_id": str(document["_id"])}
        )
        assert entry is not None
        return entry

    async def look(self, *, depth: Depth = Depth.QUICK, is_dry: bool = False) -> Report:
        return await self.tenant.services.operations.reconciler.run_pass(is_dry=is_dry, depth=depth)

    async def mend(self, *, depth: Depth = Depth.QUICK) -> Report:
        """A pass, and all the work that it asks for."""
        report = await self.look(depth=depth)
        await self.tenant.drain()
        return report

    async def make_old(self, collection: str, identifier: str, field: str = "updated_at") -> None:
        await self.database[collection].update_one(
            {"_id": object_id(identifier)}, {"$set": {field: clock.now() - LONG_AGO}}
        )

    async def age_files(self) -> None:
        """Let files and texts be of two days ago, so that no grace spares them: their ids say when they were made."""
        old = clock.now() - LONG_AGO
        for document in [row async for row in self.database["docs"].find()]:
            file_id, text_id = (ObjectId.from_datetime(old + timedelta(seconds=number)) for number in (1, 2))
            old += timedelta(minutes=1)
            await self._rename("fs.files", object_id(document["file_id"]), file_id)
            await self.database["fs.chunks"].update_many(
                {"files_id": object_id(document["file_id"])}, {"$set": {"files_id": file_id}}
            )
            await self._rename("document_texts", object_id(document["text_id"]), text_id)
            await self.database["document_texts"].update_one({"_id": text_id}, {"$set": {"created_at": old}})
            await self.database["docs"].update_one(
                {"_id": document["_id"]}, {"$set": {"file_id": str(file_id), "text_id": str(text_id)}}
            )

    async def _rename(self, collection: str, before: ObjectId, after: ObjectId) -> None:
        row = await self.database[collection].find_one_and_delete({"_id": before})
        await self.database[collection].insert_one({**row, "_id": after})

    async def is_well(self) -> None:
        """Nothing to find at any depth, both documents searchable with just their own vectors, nothing embedded."""
        assert (await self.look(depth=Depth.FULL)).counts() == {}
        found = await self.tenant.search(self.kb.id, "year", top_k=100)
        assert len({result.document_id for result in found.results}) == 2
        assert len(found.results) == 10
        assert await self.vectors.count_documents({}) == 10
        assert self.embedded == 0

    async def fingerprint(self) -> str:
        return await self.fingerprint_but()

    async def fingerprint_but(self, *collections: str) -> str:
        hashes = await self.database.command("dbHash")
        return str(sorted((name, digest) for name, digest in hashes["collections"].items() if name not in collections))


@pytest.fixture
async def patient(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> Patient:
    """Healthy so far; the question of `is_well` is cached."""
    await tenant.search(kb.id, "year")
    return Patient(tenant, kb, migrated, embedding_server)
