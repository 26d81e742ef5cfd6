"""Copies of another tool, whole or in part, are completed by the reconciler: only missing data is made anew.

mongodump cannot be installed here: its output is emulated by copying collections byte by byte (raw BSON) into a
fresh database, in which mongorestore would make the same rows and new UUIDs of collections.
"""

import uuid
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest
from bson.raw_bson import RawBSONDocument
from pydantic import SecretStr

from analytiq.composition import Services, compose
from analytiq.settings import EmbeddingSettings, QueueSettings, ReconcilerSettings, Settings
from analytiq.storage.client import MongoConnection
from analytiq.storage.migrations import migrate
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.backup.archiving import lose, seen_of
from tests.integration.tenant import Tenant, new_tenant, prose

QUESTIONS = ("Which sentence tells of whales?", "birds in the year 1003")
CHUNKS = 8 + 5
ROUNDS = 4


async def furnish(tenant: Tenant) -> str:
    kb = await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 8))
    await tenant.document("birds.txt", prose("birds", 5))
    for question in QUESTIONS:
        await tenant.search(kb.id, question)
    return kb.id


@pytest.fixture
async def other_database(mongo_connection: MongoConnection) -> AsyncIterator[MongoConnection]:
    """Return the connection of the copy's database."""
    view = mongo_connection.using(f"copy_{uuid.uuid4().hex}")
    await migrate(view)
    yield view
    await mongo_connection.client.drop_database(view.database)


async def copy(source: MongoConnection, target: MongoConnection, *, but: Collection[str]) -> None:
    """Every collection but those that begin so."""
    for name in await source.database.list_collection_names():
        if name == "schema_migrations" or any(name.startswith(prefix) for prefix in but):
            continue
        raw = source.client.get_database(
            source.database.name,
            codec_options=source.database.codec_options.with_options(document_class=RawBSONDocument),
        )
        rows = [row async for row in raw[name].find({})]
        for index in await (await source.database[name].list_indexes()).to_list():
            if name.startswith("kb_vectors_") and index["name"] != "_id_":
                await target.database[name].create_index(list(index["key"].items()), unique=index.get("unique", False))
        if rows:
            await target.database[name].insert_many(rows)


async def open_copy(target: MongoConnection, secret_key: SecretStr, tmp_path: Path, **sections: object) -> Services:
    settings = Settings.model_validate(
        {
            "data_dir": tmp_path,
            "secret_key": secret_key,
            "queue": QueueSettings(poll_seconds=0.05),
            "reconciler": ReconcilerSettings(orphan_grace_seconds=0),
            "embedding": EmbeddingSettings(allow_global_cache=True),
            **sections,
        }
    )
    return await compose(settings, target)


async def mend(services: Services) -> None:
    """Passes and workers until a pass finds nothing, at most ROUNDS."""
    for _ in range(ROUNDS):
        report = await services.operations.reconciler.run_pass()
        await services.jobs.new_runner().run_until_idle()
        await services.ingestion.life_cycle.settle_noted()
        if not report.counts():
            return


@pytest.mark.usefixtures("local_model")
@pytest.mark.parametrize(
    ("missing", "embedded"),
    [
        ((), 0),
        (("jobs", "job_history", "kb_changes", "workers", "idempotency_keys"), 0),
        (("embedding_cache",), 0),
        (("document_index",), 0),
        (("document_index", "generations"), 0),
        (("document_index", "generations", "kb_vectors_"), 0),
        (("embedding_cache", "document_index"), CHUNKS),
        (("kb_vectors_",), 0),
        (("kb_epochs", "kb_changes"), 0),
        (("kb_epochs",), 0),
        (("kb_changes",), 0),
        (("generations",), 0),
        (("spu_accounts", "spu_savings", "leases", "reconcile_reports"), 0),
        (("embedding_cache", "kb_vectors_"), CHUNKS),
    ],
    ids=lambda value: "+".join(value) or "nothing" if isinstance(value, tuple) else str(value),
)
async def test_copy_is_completed_by_the_reconciler(
    services: Services,
    tenant: Tenant,
    other_database: MongoConnection,
    embedding_server: EmbeddingServer,
    secret_key: SecretStr,
    tmp_path: Path,
    missing: tuple[str, ...],
    embedded: int,
) -> None:
    await furnish(tenant)
    before = await seen_of(services, tenant.id, QUESTIONS)
    await copy(services.connection, other_database, but=missing)
    restored = await open_copy(other_database, secret_key, tmp_path)
    texts = embedding_server.texts
    await mend(restored)
    assert embedding_server.texts - texts == embedded
    after = await seen_of(restored, tenant.id, QUESTIONS)
    assert after.originals == before.originals
    assert after.texts == before.texts
    assert after.answers == before.answers
    if not embedded and "embedding_cache" not in missing:
        assert after.usage == before.usage
    assert (await restored.operations.reconciler.run_pass()).counts() == {}


async def test_restored_archive_is_completed_where_a_part_of_it_was_lost_again(
    services: Services, tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    kb_id = await furnish(tenant)
    other = await new_tenant(services)
    await lose(services.connection, other.id)
    before = await seen_of(services, tenant.id, QUESTIONS)
    await services.connection.database["document_index"].delete_many({"kb_id": kb_id})
    texts = embedding_server.texts
    await mend(services)
    assert embedding_server.texts == texts
    assert (await seen_of(services, tenant.id, QUESTIONS)).answers == before.answers
