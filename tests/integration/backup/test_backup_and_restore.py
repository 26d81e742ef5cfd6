"""Backups come back whole: bytes, texts, answers, charges; beside a running system, and without a provider."""

import inspect
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from analytiq.composition import Services
from analytiq.errors import AnalytiqError, ConflictError, InvalidInputError, NotFoundError
from analytiq.models.document import ExternalIdentity
from analytiq.models.organization import CacheScope
from analytiq.operations.backup.making import Backup
from analytiq.operations.backup.restoring import AT_ACTIVATION, ORDER, Restore, RestoreOptions, verified
from analytiq.storage import catalog
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.migrations import declared_indexes
from analytiq.storage.repositories import archives
from analytiq.storage.repositories.knowledge_bases import INDEXES, NAMES_INDEX
from analytiq.telemetry import checkpoints
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.backup.archiving import archive_of, lose, original_of, restore_from, seen_of
from tests.integration.tenant import Tenant, new_tenant, prose

MOTHS = {"source": "wiki", "external_id": "4711", "version": "7"}
QUESTIONS = ("Which sentence tells of whales?", "birds in the year 1003")


async def furnish(tenant: Tenant) -> list[str]:
    """Two knowledge bases, a file of several chunks, a long text, a replaced document; returns the KBs' ids."""
    kb = await tenant.knowledge_base()
    other = await tenant.knowledge_base(chunk_size=64)
    await tenant.document("whales.txt", prose("whales", 8), metadata={"year": 1003, "ids": [tenant.id]})
    await tenant.document("birds.txt", prose("birds", 5))
    await tenant.document("long.txt", prose("snails", 2400))  # in segments, and in more than one GridFS chunk
    await tenant.document("untagged.txt", prose("moths", 2), tags=[], item=ExternalIdentity(**MOTHS))
    await tenant.replace("birds.txt", prose("birds", 6))
    await tenant.drain()
    for kb_id in (kb.id, other.id):
        for question in QUESTIONS:
            await tenant.search(kb_id, question)
    return [kb.id, other.id]


async def rows_of(connection: MongoConnection, *, but: Sequence[str] = ()) -> dict[str, list[str]]:
    """Every row of every collection that names none of these ids; but what the cache saved, which a search changes."""
    found: dict[str, list[str]] = {}
    for name in sorted({*await connection.database.list_collection_names()} - {"spu_savings"}):
        rows = [repr(row) async for row in connection.database[name].find({}).sort("_id", 1)]
        found[name] = [row for row in rows if not any(id_ in row for id_ in but)]
    return {name: rows for name, rows in found.items() if rows}


async def test_lost_organization_comes_back_as_it_was_without_a_call_to_a_provider(
    services: Services, compose_services: Any, tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    await furnish(tenant)
    before = await seen_of(services, tenant.id, QUESTIONS)
    assert MOTHS in [document["external_identity"] for document in before.documents]
    archive, made = await archive_of(services.connection, [tenant.id])
    assert made.trailer.warnings == ()
    await lose(services.connection, tenant.id)
    with pytest.raises(NotFoundError):
        await services.tenancy.organizations.get(tenant.id)
    calls = embedding_server.calls
    (restored,) = await restore_from(services.connection, archive)
    assert restored.organization_id == tenant.id
    for process in (services, await compose_services()):  # one mirrors the life before, one is new
        assert await seen_of(process, tenant.id, QUESTIONS) == before
    report = await services.operations.reconciler.run_pass()
    assert report.counts() == {}
    assert await tenant.drain() == 0
    assert embedding_server.calls == calls
    assert await services.connection.database["restores"].count_documents({}) == 0
    assert await services.connection.database["backup_holds"].count_documents({}) == 0


async def test_restored_knowledge_base_takes_new_documents_and_shows_them(services: Services, tenant: Tenant) -> None:
    kb_id, _ = await furnish(tenant)
    archive, _ = await archive_of(services.connection, [tenant.id])
    await lose(services.connection, tenant.id)
    await restore_from(services.connection, archive)
    whales = (await services.repositories.documents.named(tenant.id, "whales.txt"))[0]
    await tenant.replace("whales.txt", prose("otters", 3))
    await tenant.drain()
    fresh = await tenant.document("fresh.txt", prose("lynxes", 3))
    assert fresh.id in await tenant.found(kb_id, "lynxes")
    assert all("whales" not in item.content for item in (await tenant.search(kb_id, "whales")).results)
    await services.ingestion.documents.delete(tenant.id, whales.id)
    assert whales.id not in await tenant.found(kb_id, "otters")


async def test_copy_under_fresh_ids_is_a_second_organization_that_shares_nothing(
    services: Services, tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    await furnish(tenant)
    before = await seen_of(services, tenant.id, QUESTIONS)
    archive, _ = await archive_of(services.connection, [tenant.id])
    untouched = await rows_of(services.connection)
    calls = embedding_server.calls
    (restored,) = await restore_from(services.connection, archive, is_fresh=True, name="Copy")
    assert restored.organization_id != tenant.id
    copy = await services.tenancy.organizations.get(restored.organization_id)
    assert copy.name == "Copy"
    assert await seen_of(services, restored.organization_id, QUESTIONS) == before
    assert await seen_of(services, tenant.id, QUESTIONS) == before
    assert (await services.operations.reconciler.run_pass()).counts() == {}
    assert embedding_server.calls == calls
    await lose(services.connection, restored.organization_id)
    assert await rows_of(services.connection) == untouched
    assert await seen_of(services, tenant.id, QUESTIONS) == before


async def test_copy_holds_no_id_of_the_original(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    archive, _ = await archive_of(services.connection, [tenant.id])
    (restored,) = await restore_from(services.connection, archive, is_fresh=True)
    database = services.connection.database
    old_ids = {str(row["_id"]) async for row in database["docs"].find({"organization_id": tenant.id})}
    for name in ("tags", "knowledge_bases", "generations", "document_texts"):
        old_ids |= {str(row["_id"]) async for row in database[name].find({"organization_id": tenant.id})}
    old_ids.add(tenant.id)
    copies = 0
    for name in await database.list_collection_names():
        async for row in database[name].find({"organization_id": restored.organization_id}):
            copies += 1
            row.pop("metadata", None)  # what people wrote stays as they wrote it
            row.get("metadata_snapshot", {}).pop("metadata", None)
            row.pop("restored_from", None)
            assert not [old for old in old_ids if old in repr(row)], (name, row)
    assert copies > 20


async def test_embeddings_of_an_own_scope_are_found_again_by_the_copy(
    services: Services, tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    organization = tenant.organization.model_copy(update={"cache_scope": CacheScope.ORGANIZATION})
    key = {"name": organization.name}
    await services.connection.database["organizations"].update_one(key, {"$set": {"cache_scope": "organization"}})
    own = Tenant(services, organization, tenant.tag)
    kb = await own.knowledge_base()
    await own.document("whales.txt", prose("whales", 4))
    await own.search(kb.id, QUESTIONS[0])
    archive, _ = await archive_of(services.connection, [tenant.id])
    (restored,) = await restore_from(services.connection, archive, is_fresh=True)
    calls = embedding_server.calls
    copy = Tenant(services, await services.tenancy.organizations.get(restored.organization_id), tenant.tag)
    ((copied,), _) = await services.ingestion.knowledge_bases.page(copy.id, skip=0, limit=10, name_search=None)
    await copy.search(copied.id, QUESTIONS[0])
    assert embedding_server.calls == calls
    cache = services.connection.database["embedding_cache"]
    assert await cache.count_documents({"scope": copy.id}) == await cache.count_documents({"scope": tenant.id}) == 5


async def test_archive_holds_the_embeddings_that_others_paid_for_but_not_who(
    services: Services, tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    payer = await new_tenant(services)
    await payer.knowledge_base()
    await payer.document("whales.txt", prose("whales", 4))
    await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 4))
    archive, _ = await archive_of(services.connection, [tenant.id])
    await lose(services.connection, tenant.id)
    await lose(services.connection, payer.id)
    cache = services.connection.database["embedding_cache"]
    assert await cache.count_documents({}) == 0
    await restore_from(services.connection, archive)
    assert await cache.count_documents({"payer_organization_id": None, "scope": "global"}) == 4
    calls = embedding_server.calls
    await tenant.knowledge_base()
    await tenant.drain()
    assert embedding_server.calls == calls + 1  # the probe of the new knowledge base's dimensions


async def test_everything_comes_back_into_an_empty_database(
    services: Services, tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    second = await new_tenant(services)
    await furnish(tenant)
    await furnish(second)
    issued = await services.tenancy.organizations.issue_token(second.id, name="kept")
    before = [await seen_of(services, item.id, QUESTIONS) for item in (tenant, second)]
    archive, made = await archive_of(services.connection, None)
    assert made.header.is_whole
    for name in await services.connection.database.list_collection_names():
        if name.startswith("kb_vectors_"):
            await services.connection.database.drop_collection(name)
        elif name != "schema_migrations":  # its indexes stay: other tests need them
            await services.connection.database[name].delete_many({})
    calls = embedding_server.calls
    restored = await restore_from(services.connection, archive)
    assert [item.organization_id for item in restored] == [tenant.id, second.id]
    assert [await seen_of(services, item.id, QUESTIONS) for item in (tenant, second)] == before
    assert embedding_server.calls == calls
    opened = await services.tenancy.organizations.open_with(issued.secret.get_secret_value())
    assert opened.id == second.id


async def test_one_organization_is_restored_out_of_everything_and_the_others_stay_as_they_are(
    services: Services, tenant: Tenant
) -> None:
    second = await new_tenant(services)
    await furnish(tenant)
    own = [second.id, *await furnish(second)]
    files = services.connection.database["fs.files"].find({"metadata.organization_id": second.id})
    own += [str(row["_id"]) async for row in files]
    before = await seen_of(services, second.id, QUESTIONS)
    archive, _ = await archive_of(services.connection, None)
    await lose(services.connection, second.id)
    untouched = await rows_of(services.connection, but=own)
    await restore_from(services.connection, archive, organization_ids=(second.id,))
    assert await seen_of(services, second.id, QUESTIONS) == before
    assert await rows_of(services.connection, but=own) == untouched


async def test_archive_of_an_organization_holds_no_token_no_key_and_nothing_of_others(
    services: Services, tenant: Tenant
) -> None:
    await furnish(tenant)
    other = await new_tenant(services)
    await other.document("secret.txt", prose("armadillos", 3))
    await services.tenancy.organizations.issue_token(tenant.id, name="token")
    archive, _ = await archive_of(services.connection, [tenant.id])
    contents = await verified(io.BytesIO(archive))
    assert {section.key.organization_id for section in contents.sections} == {tenant.id}
    collections = {section.key.collection for section in contents.sections}
    assert collections.isdisjoint({"access_tokens", "llm_providers", "jobs", "idempotency_keys"})


async def test_existing_organization_is_refused_and_stays_as_it_is(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    archive, _ = await archive_of(services.connection, [tenant.id])
    await tenant.document("later.txt", prose("voles", 2))
    untouched = await rows_of(services.connection)
    with pytest.raises(ConflictError, match="--as-new") as refused:
        await restore_from(services.connection, archive)
    assert refused.value.code == "organization_exists"
    assert await rows_of(services.connection) == untouched


async def test_organization_that_the_archive_does_not_hold_is_refused(services: Services, tenant: Tenant) -> None:
    archive, _ = await archive_of(services.connection, [tenant.id])
    with pytest.raises(InvalidInputError, match=tenant.id):
        await restore_from(services.connection, archive, organization_ids=(new_id(),))


async def test_id_that_is_taken_undoes_the_restore_and_leaves_the_taker_alone(
    services: Services, tenant: Tenant
) -> None:
    await furnish(tenant)
    other = await new_tenant(services)
    archive, _ = await archive_of(services.connection, [tenant.id])
    database = services.connection.database
    document = await database["docs"].find_one({"organization_id": tenant.id})
    assert document is not None
    await lose(services.connection, tenant.id)
    await database["docs"].insert_one({**document, "organization_id": other.id})
    untouched = await rows_of(services.connection)
    with pytest.raises(ConflictError) as refused:
        await restore_from(services.connection, archive)
    assert refused.value.code == "id_taken"
    assert await rows_of(services.connection) == untouched


async def test_nothing_can_be_seen_of_a_restore_before_its_end(services: Services, tenant: Tenant) -> None:
    (kb_id, _), seen = await furnish(tenant), 0
    archive, _ = await archive_of(services.connection, [tenant.id])
    await lose(services.connection, tenant.id)

    async def look(name: str) -> None:
        nonlocal seen
        if name in ("restore.batch_inserted", "restore.section_restored"):
            seen += 1
            with pytest.raises(NotFoundError):
                await services.tenancy.organizations.get(tenant.id)
            with pytest.raises(AnalytiqError):
                await tenant.search(kb_id, QUESTIONS[0])
            report = await services.operations.reconciler.run_pass()
            assert not report.counts().keys() - {"stuck_document"}
            await services.jobs.new_runner().run_until_idle()

    checkpoints.install(look)
    try:
        await restore_from(services.connection, archive)
    finally:
        checkpoints.install(None)
    assert seen > 12
    assert await tenant.found(kb_id, QUESTIONS[0])


async def test_documents_replaced_and_deleted_while_a_backup_runs_are_in_it_as_they_were(
    services: Services, tenant: Tenant
) -> None:
    kb_id, other_id = await furnish(tenant)
    before = await seen_of(services, tenant.id, QUESTIONS)
    changed = False

    async def change(name: str) -> None:
        nonlocal changed
        if name == "backup.batch_written" and not changed:
            changed = True
            # The first batch is written: the snapshot is taken, no file or vector is read.
            await tenant.replace("whales.txt", prose("otters", 3))
            birds = (await services.repositories.documents.named(tenant.id, "birds.txt"))[0]
            await services.ingestion.documents.delete(tenant.id, birds.id)
            await services.ingestion.knowledge_bases.delete(tenant.id, other_id)
            await run_what_is_not_held(services)

    checkpoints.install(change)
    try:
        archive, made = await archive_of(services.connection, [tenant.id])
    finally:
        checkpoints.install(None)
    assert changed
    assert made.trailer.warnings == ()
    held = services.connection.database["jobs"].find({"error.code": "held_by_backup"})
    assert {row["kind"] async for row in held} >= {"clean_document", "drop_kb", "sweep"}
    (restored,) = await restore_from(services.connection, archive, is_fresh=True)
    assert await seen_of(services, restored.organization_id, QUESTIONS) == before
    assert "otters" in (await tenant.search(kb_id, "otters")).results[0].content


async def run_what_is_not_held(services: Services) -> None:
    """Every due job; those that a hold sends back are due again only later."""
    database = services.connection.database
    await database["jobs"].update_many({}, {"$set": {"run_at": long_ago()}})
    await services.jobs.new_runner().run_until_idle()
    await database["jobs"].update_many({"kind": "sweep"}, {"$set": {"run_at": long_ago()}})
    await services.jobs.new_runner().run_until_idle()


def long_ago() -> datetime:
    return datetime(2000, 1, 1, tzinfo=UTC)


async def test_held_deletions_are_done_after_the_backup(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    database = services.connection.database
    birds = (await services.repositories.documents.named(tenant.id, "birds.txt"))[0]

    async def delete(name: str) -> None:
        if name == "backup.held":
            await services.ingestion.documents.delete(tenant.id, birds.id)
            await run_what_is_not_held(services)

    checkpoints.install(delete)
    try:
        await archive_of(services.connection, [tenant.id])
    finally:
        checkpoints.install(None)
    assert await database["fs.files"].count_documents({"metadata.document_id": birds.id})
    await run_what_is_not_held(services)
    assert not await database["fs.files"].count_documents({"metadata.document_id": birds.id})
    assert not await database["generations"].count_documents({"document_id": birds.id})


async def test_vectors_that_were_missing_before_are_named_in_the_warnings(services: Services, tenant: Tenant) -> None:
    kb_id, _ = await furnish(tenant)
    await services.connection.database[f"kb_vectors_{kb_id}"].delete_one({})
    _, made = await archive_of(services.connection, [tenant.id])
    (warning,) = made.trailer.warnings
    assert kb_id in warning


async def test_archive_is_made_without_a_known_organization_of_nothing(services: Services) -> None:
    with pytest.raises(NotFoundError):
        await Backup(services.connection).make(io.BytesIO(), [new_id()])
    with pytest.raises(InvalidInputError):
        await Backup(services.connection).make(io.BytesIO(), None)


async def test_check_tells_what_would_be_restored_and_touches_nothing(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    archive, _ = await archive_of(services.connection, [tenant.id])
    await lose(services.connection, tenant.id)
    untouched = await rows_of(services.connection)
    contents = await verified(io.BytesIO(archive))
    chosen = await Restore(services.connection).check(contents, RestoreOptions())
    assert [item.id for item in chosen] == [tenant.id]
    assert await rows_of(services.connection) == untouched


async def test_original_bytes_of_every_size_come_back(services: Services, tenant: Tenant) -> None:
    sizes = {f"{size}.txt": b"a" * size for size in (1, 255 * 1024, 255 * 1024 + 1, 4 * 1024 * 1024 + 3)}
    for name, content in sizes.items():
        await tenant.upload(name, content, tags=[])
    page = {name: (await services.repositories.documents.named(tenant.id, name))[0].id for name in sizes}
    before = {name: await original_of(services, tenant.id, document_id) for name, document_id in page.items()}
    archive, _ = await archive_of(services.connection, [tenant.id])
    await lose(services.connection, tenant.id)
    await restore_from(services.connection, archive)
    after = {name: await original_of(services, tenant.id, document_id) for name, document_id in page.items()}
    assert after == before


async def test_document_that_was_being_read_is_read_after_the_restore(services: Services, tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.upload("whales.txt", prose("whales", 4))  # its job is in no archive
    archive, _ = await archive_of(services.connection, [tenant.id])
    await lose(services.connection, tenant.id)
    await restore_from(services.connection, archive)
    document = (await services.repositories.documents.named(tenant.id, "whales.txt"))[0]
    await services.connection.database["docs"].update_one({}, {"$set": {"updated_at": long_ago()}})
    await services.operations.reconciler.run_pass()
    await tenant.drain()
    assert await tenant.found(kb.id, "whales") == [document.id]
    assert (await services.ingestion.knowledge_bases.get(tenant.id, kb.id)).status.value == "active"


def test_every_collection_is_known_to_backup_and_erasure() -> None:
    unknown = [name for name in declared_indexes() if catalog.find(name) is None]
    assert unknown == [], "say in analytiq/storage/catalog.py whose rows they hold"


def test_archives_take_and_restores_order_what_the_catalog_says() -> None:
    taken = {each.name for each in catalog.COLLECTIONS if each.taken is not catalog.Taken.NEVER}
    assert taken == {*ORDER, *AT_ACTIVATION}
    source = inspect.getsource(archives)
    assert [name for name in sorted(taken - {catalog.VECTORS_PREFIX}) if f'"{name}"' not in source] == []


async def test_names_of_an_archive_from_before_they_were_unique_are_set_apart(
    services: Services, tenant: Tenant
) -> None:
    kbs = [await tenant.knowledge_base() for _ in range(2)]
    rows = services.connection.database["knowledge_bases"]
    index = next(item for item in INDEXES["knowledge_bases"] if item.document["name"] == NAMES_INDEX)
    await rows.drop_index(NAMES_INDEX)
    try:
        await rows.update_many({"organization_id": tenant.id}, {"$set": {"name": "Big"}})
        archive, _ = await archive_of(services.connection, [tenant.id])
        await lose(services.connection, tenant.id)
    finally:
        await rows.create_indexes([index])
    await restore_from(services.connection, archive)
    names = await services.ingestion.knowledge_bases.names(tenant.id, [kb.id for kb in kbs])
    assert [names[kb.id] for kb in kbs] == ["Big", "Big (2)"]
