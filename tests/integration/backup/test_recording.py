"""Records of an organization's backups and the restores into it, failed ones included."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analytiq.composition import Services
from analytiq.errors import ConflictError
from analytiq.models.backup_record import BackupKind, BackupOutcome, BackupRecord
from analytiq.operations.backup.files import restore_file, verify_file, write_file
from analytiq.operations.backup.restoring import RestoreOptions
from analytiq.telemetry import checkpoints
from tests.integration.backup.archiving import lose
from tests.integration.tenant import Tenant, new_tenant

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@contextmanager
def at_checkpoints(hook: checkpoints.Hook) -> Generator[None]:
    checkpoints.install(hook)
    try:
        yield
    finally:
        checkpoints.install(None)


async def records_of(services: Services, organization_id: str) -> list[BackupRecord]:
    found, total = await services.repositories.backup_records.page(organization_id, skip=0, limit=100)
    assert len(found) == total
    return found


async def test_backup_is_remembered_with_what_is_in_it(services: Services, tenant: Tenant, tmp_path: Path) -> None:
    await tenant.document("whales.txt", "whales")
    path = tmp_path / "archive"
    await write_file(services.connection, path, [tenant.id])
    contents = await verify_file(path)
    (record,) = await records_of(services, tenant.id)
    assert (record.kind, record.outcome, record.command) == (BackupKind.BACKUP, BackupOutcome.DONE, "analytiq backup")
    assert (record.byte_size, record.sha256) == (path.stat().st_size, contents.sha256)
    assert {item.collection: item.rows for item in record.rows} == {
        total.collection: total.rows for total in contents.trailer.totals
    }
    assert record.finished_at is not None


async def test_backup_of_everything_tells_each_organization_of_its_own_only(
    services: Services, tenant: Tenant, tmp_path: Path
) -> None:
    other = await new_tenant(services)
    for number in range(3):
        await tenant.document(f"d{number}.txt", f"text {number}")
    await other.document("theirs.txt", "theirs")
    await write_file(services.connection, tmp_path / "archive", None)
    for organization, documents in ((tenant, 3), (other, 1)):
        (record,) = await records_of(services, organization.id)
        assert (record.is_whole, record.byte_size) == (True, None)
        assert {item.collection: item.rows for item in record.rows}["docs"] == documents


async def test_backup_that_fails_says_why_without_telling_where_archives_are(
    services: Services, tenant: Tenant, tmp_path: Path
) -> None:
    path = tmp_path / "archive"
    path.write_text("there already")
    with pytest.raises(ConflictError):
        await write_file(services.connection, path, [tenant.id])
    (record,) = await records_of(services, tenant.id)
    assert (record.outcome, record.error_code) == (BackupOutcome.FAILED, "conflict")
    assert "The file 'archive' exists" in (record.error_detail or "")
    assert str(tmp_path) not in (record.error_detail or "")


async def test_backup_whose_process_was_killed_is_interrupted_once_it_gives_no_sign_of_life(
    services: Services, tenant: Tenant, tmp_path: Path
) -> None:
    seen: list[BackupOutcome] = []

    async def look(name: str) -> None:
        if name != "backup.held":
            return
        seen.extend(record.outcome for record in await records_of(services, tenant.id))
        await services.connection.database["backup_records"].update_many({}, {"$set": {"seen_at": LONG_AGO}})
        seen.extend(record.outcome for record in await records_of(services, tenant.id))

    with at_checkpoints(look):
        await write_file(services.connection, tmp_path / "archive", [tenant.id])
    assert seen == [BackupOutcome.RUNNING, BackupOutcome.INTERRUPTED]
    assert [record.outcome for record in await records_of(services, tenant.id)] == [BackupOutcome.DONE]


async def test_restore_is_remembered_and_archives_carry_no_records(
    services: Services, tenant: Tenant, tmp_path: Path
) -> None:
    await tenant.document("whales.txt", "whales")
    first, path = tmp_path / "first", tmp_path / "second"
    await write_file(services.connection, first, [tenant.id])
    await write_file(services.connection, path, [tenant.id])
    await lose(services.connection, tenant.id)
    assert await records_of(services, tenant.id) == []
    await restore_file(services.connection, path, RestoreOptions())
    (record,) = await records_of(services, tenant.id)
    assert (record.kind, record.outcome, record.command) == (BackupKind.RESTORE, BackupOutcome.DONE, "analytiq restore")
    assert record.sha256 == (await verify_file(path)).sha256
    (copy,) = await restore_file(services.connection, path, RestoreOptions(is_fresh=True))
    (of_copy,) = await records_of(services, copy.organization_id)
    assert of_copy.command == "analytiq restore --as-new"
    assert len(await records_of(services, tenant.id)) == 1


async def test_copy_that_fails_is_told_to_the_organization_that_it_would_have_been_of(
    services: Services, tenant: Tenant, tmp_path: Path
) -> None:
    path = tmp_path / "archive"
    await write_file(services.connection, path, [tenant.id])

    async def fail(name: str) -> None:
        assert name == "restore.begun"
        raise ConflictError("an id is taken")

    with at_checkpoints(fail), pytest.raises(ConflictError):
        await restore_file(services.connection, path, RestoreOptions(is_fresh=True))
    latest = (await records_of(services, tenant.id))[0]
    assert (latest.kind, latest.outcome, latest.error_detail) == (
        BackupKind.RESTORE,
        BackupOutcome.FAILED,
        "an id is taken",
    )


async def test_records_of_another_organization_are_not_shown(
    services: Services, tenant: Tenant, tmp_path: Path
) -> None:
    await write_file(services.connection, tmp_path / "archive", [tenant.id])
    assert await records_of(services, (await new_tenant(services)).id) == []
