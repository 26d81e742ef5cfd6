"""A backup, a restore or an erasure that is killed (SIGKILL) anywhere loses nothing and shows nothing half done."""

import asyncio
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError
from analytiq.models.erasure import ErasureState
from analytiq.operations.backup.files import PART_SUFFIX, restore_file, verify_file, write_file
from analytiq.operations.backup.restoring import RestoreOptions
from analytiq.settings import child_environment
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.backup import killed_process
from tests.integration.backup.archiving import archive_of, lose, seen_of
from tests.integration.tenant import Tenant, prose

QUESTIONS = ("Which sentence tells of whales?",)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


async def furnish(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 6))
    await tenant.document("long.txt", prose("snails", 2000))
    await tenant.search(kb.id, QUESTIONS[0])


async def killed(
    uri: SecretStr, services: Services, what: str, file: Path, organization_id: str, place: str, nth: int
) -> None:
    """Run a process until it is killed there."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, killed_process.__file__, what, services.connection.database.name, str(file)),
        *(organization_id, place, str(nth)),
        env=child_environment({"MONGODB_URI": uri.get_secret_value()}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode == -signal.SIGKILL, printed.decode()[-3000:]


@pytest.mark.parametrize(
    ("place", "nth"),
    [
        ("restore.begun", 1),
        ("restore.batch_inserted", 1),
        ("restore.batch_inserted", 9),
        ("restore.section_restored", 2),
        ("restore.section_restored", 6),
        ("restore.section_restored", 11),
        ("restore.activated", 1),
    ],
)
@pytest.mark.parametrize("what", ["restore", "restore-as-new"])
async def test_restore_killed_anywhere_is_gone_on_with(
    services: Services,
    tenant: Tenant,
    embedding_server: EmbeddingServer,
    mongo_uri: SecretStr,
    tmp_path: Path,
    what: str,
    place: str,
    nth: int,
) -> None:
    await furnish(tenant)
    before = await seen_of(services, tenant.id, QUESTIONS)
    ledger = services.connection.database["spu_ledger"]
    charges = await ledger.count_documents({"organization_id": tenant.id})
    path = tmp_path / "archive"
    await write_file(services.connection, path, [tenant.id])
    if what == "restore":
        await lose(services.connection, tenant.id)
    calls = embedding_server.calls
    database = services.connection.database
    await killed(mongo_uri, services, what, path, tenant.id, place, nth)
    options = RestoreOptions(is_fresh=what == "restore-as-new")
    if place == "restore.activated":
        found = [str(row["_id"]) async for row in database["organizations"].find({"_id": {"$exists": True}})]
        restored_id = max(found, key=lambda item: item != tenant.id) if options.is_fresh else tenant.id
    else:
        if what == "restore":
            with pytest.raises(NotFoundError):
                await services.tenancy.organizations.get(tenant.id)
        assert (await services.operations.reconciler.run_pass()).counts() == {}, "what is half done is nobody's to mend"
        with pytest.raises(ConflictError, match="right now"):
            await restore_file(services.connection, path, options)
        await database["restores"].update_many({}, {"$set": {"lease_expires_at": LONG_AGO}})
        ((restored),) = await restore_file(services.connection, path, options)
        restored_id = restored.organization_id
    assert await seen_of(services, restored_id, QUESTIONS) == before
    assert await database["restores"].count_documents({}) == 0
    assert await ledger.count_documents({"organization_id": restored_id}) == charges
    assert (await services.operations.reconciler.run_pass()).counts() == {}
    assert embedding_server.calls == calls


async def test_half_done_restore_can_be_erased_instead(
    services: Services, tenant: Tenant, mongo_uri: SecretStr, tmp_path: Path
) -> None:
    await furnish(tenant)
    path = tmp_path / "archive"
    await write_file(services.connection, path, [tenant.id])
    await lose(services.connection, tenant.id)
    database = services.connection.database
    await killed(mongo_uri, services, "restore", path, tenant.id, "restore.section_restored", 7)
    await database["backup_holds"].delete_many({})  # it has run out
    await killed(mongo_uri, services, "erase", path, tenant.id, "erasure.proved", 1)
    for name in ("docs", "fs.files", "fs.chunks", "knowledge_bases", "restores", "embedding_cache", "spu_ledger"):
        assert await database[name].count_documents({}) == 0, name


@pytest.mark.parametrize(("place", "nth"), [("backup.held", 1), ("backup.batch_written", 6)])
async def test_killed_backup_leaves_no_archive_and_holds_nothing_for_good(
    services: Services, tenant: Tenant, mongo_uri: SecretStr, tmp_path: Path, place: str, nth: int
) -> None:
    await furnish(tenant)
    path = tmp_path / "archive"
    await killed(mongo_uri, services, "backup", path, tenant.id, place, nth)
    assert not path.exists()
    with pytest.raises(InvalidInputError):
        await verify_file(path.with_name(path.name + PART_SUFFIX))
    database = services.connection.database
    assert await database["backup_holds"].count_documents({}) == 1
    await database["backup_holds"].update_many({}, {"$set": {"expires_at": LONG_AGO}})
    (whales,) = await services.repositories.documents.named(tenant.id, "whales.txt")
    await services.ingestion.documents.delete(tenant.id, whales.id)
    await tenant.drain()
    assert not await database["fs.files"].count_documents({"metadata.document_id": whales.id})
    await write_file(services.connection, path, [tenant.id])
    await verify_file(path)


@pytest.mark.parametrize(
    ("place", "nth"),
    [("erasure.tombstoned", 1), ("erasure.collection_erased", 7), ("erasure.erased", 1), ("erasure.proved", 1)],
)
async def test_killed_erasure_is_brought_to_its_end_by_the_reconciler_and_a_worker(
    services: Services, tenant: Tenant, mongo_uri: SecretStr, tmp_path: Path, place: str, nth: int
) -> None:
    await furnish(tenant)
    database = services.connection.database
    await killed(mongo_uri, services, "erase", tmp_path, tenant.id, place, nth)
    await database["erasures"].update_many({}, {"$set": {"lease_expires_at": LONG_AGO}})
    await database["erasures"].update_many({"tombstoned_at": {"$ne": None}}, {"$set": {"tombstoned_at": LONG_AGO}})
    await services.operations.erasures.keep_up()
    await services.jobs.new_runner().run_until_idle()
    ((report,), _) = await services.operations.erasures.page(tenant.id, skip=0, limit=10)
    assert (report.state, report.left) == (ErasureState.DONE, {})
    for name in ("docs", "fs.files", "fs.chunks", "knowledge_bases", "organizations", "embedding_cache"):
        assert await database[name].count_documents({}) == 0, name


async def test_archive_made_meanwhile_is_not_mixed_up_with_a_killed_restore(
    services: Services, tenant: Tenant, mongo_uri: SecretStr, tmp_path: Path
) -> None:
    await furnish(tenant)
    path, other = tmp_path / "archive", tmp_path / "other"
    await write_file(services.connection, path, [tenant.id])
    await write_file(services.connection, other, [tenant.id])
    await lose(services.connection, tenant.id)
    await killed(mongo_uri, services, "restore", path, tenant.id, "restore.section_restored", 3)
    await services.connection.database["restores"].update_many({}, {"$set": {"lease_expires_at": LONG_AGO}})
    with pytest.raises(ConflictError, match="only in part") as refused:
        await restore_file(services.connection, other, RestoreOptions())
    assert refused.value.code == "restore_unfinished"
    await restore_file(services.connection, path, RestoreOptions())
    archive, _ = await archive_of(services.connection, [tenant.id])
    assert archive
