"""Records of backups and restores, for the people of their organizations."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from analytiq import clock
from analytiq.errors import AnalytiqError, NotFoundError
from analytiq.models.archive import ArchiveHeader
from analytiq.models.backup_record import BackupKind, BackupOutcome, BackupRecord
from analytiq.operations.backup.verification import Contents
from analytiq.storage.catalog import VECTORS_PREFIX
from analytiq.storage.client import MongoConnection, translate
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.backup_records import SIGN_OF_LIFE_SECONDS, BackupRecordRepository, recorded
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Recording:
    """The results of a running backup, recorded once it is complete."""

    byte_size: int | None = None
    sha256: str | None = None
    rows: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Organization → collection → rows."""


@asynccontextmanager
async def recording(
    connection: MongoConnection, header: ArchiveHeader, *, command: str, path: Path
) -> AsyncGenerator[Recording]:
    """Record a backup of the header's organizations: its beginning, and the outcome of the block.

    Each organization sees its own rows only, and the archive's size only if the archive contains no other.
    """
    rows = BackupRecordRepository(connection)
    records = [
        BackupRecord(
            id=new_id(),
            organization_id=organization.id,
            kind=BackupKind.BACKUP,
            command=command,
            is_whole=header.is_whole,
            outcome=BackupOutcome.RUNNING,
            started_at=clock.now(),
        )
        for organization in header.organizations
    ]
    for record in records:
        await rows.insert(record)
    told = Recording()
    living = asyncio.create_task(_keep_alive(rows, records))
    try:
        yield told
    except BaseException as error:
        code, detail = _failure(error, path)
        failed = {"outcome": BackupOutcome.FAILED, "error_code": code, "error_detail": detail}
        ended = [record.model_copy(update={**failed, "finished_at": clock.now()}) for record in records]
        await asyncio.shield(_end(rows, ended, is_forgotten=isinstance(error, NotFoundError)))
        raise
    else:
        await _end(rows, [_done(record, told, is_only=len(records) == 1) for record in records])
    finally:
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)


class RestoreRecording:
    """The record of a restore of one organization of an archive.

    A success is recorded with the restored organization. A failure is recorded with the archive's organization if it
    exists: records of a missing organization are visible to no one.
    """

    def __init__(
        self, connection: MongoConnection, contents: Contents, source_organization_id: str, *, is_fresh: bool
    ) -> None:
        self._connection = connection
        self._contents = contents
        self._source_organization_id = source_organization_id
        self._command = "analytiq restore --as-new" if is_fresh else "analytiq restore"
        self._started_at = clock.now()

    async def done(self, organization_id: str) -> None:
        """Record the success for the organization's people."""
        await self._keep(organization_id, BackupOutcome.DONE)

    async def failed(self, error: BaseException) -> None:
        """Record the failure."""
        try:
            is_there = await OrganizationRepository(self._connection).get(self._source_organization_id) is not None
        except DatabaseError:
            return
        if is_there:
            await self._keep(self._source_organization_id, BackupOutcome.FAILED, *_failure(error))

    async def _keep(
        self, organization_id: str, outcome: BackupOutcome, code: str | None = None, detail: str | None = None
    ) -> None:
        rows: dict[str, int] = {}
        for section in self._contents.sections:
            if section.key.organization_id == self._source_organization_id:
                name = VECTORS_PREFIX if section.key.kb_id is not None else section.key.collection
                rows[name] = rows.get(name, 0) + section.rows
        record = BackupRecord(
            id=new_id(),
            organization_id=organization_id,
            kind=BackupKind.RESTORE,
            command=self._command,
            is_whole=self._contents.header.is_whole,
            outcome=outcome,
            started_at=self._started_at,
            finished_at=clock.now(),
            sha256=self._contents.sha256,
            byte_size=self._contents.byte_size if len(self._contents.header.organizations) == 1 else None,
            rows=recorded(rows),
            error_code=code,
            error_detail=detail,
        )
        try:
            await BackupRecordRepository(self._connection).insert(record)
        except DatabaseError:
            log.warning("backup.not_recorded", organization_id=organization_id, exc_info=True)


def _done(record: BackupRecord, told: Recording, *, is_only: bool) -> BackupRecord:
    return record.model_copy(
        update={
            "outcome": BackupOutcome.DONE,
            "finished_at": clock.now(),
            "byte_size": told.byte_size if is_only else None,
            "sha256": told.sha256,
            "rows": recorded(told.rows.get(record.organization_id, {})),
        }
    )


async def _end(rows: BackupRecordRepository, records: Sequence[BackupRecord], *, is_forgotten: bool = False) -> None:
    try:
        for record in records:
            # An organization erased in between leaves no record behind.
            await (rows.forget(record) if is_forgotten else rows.end(record))
    except DatabaseError:
        log.warning("backup.not_recorded", exc_info=True)


async def _keep_alive(rows: BackupRecordRepository, records: Sequence[BackupRecord]) -> None:
    while True:
        await asyncio.sleep(SIGN_OF_LIFE_SECONDS)
        try:
            for record in records:
                await rows.keep_alive(record)
        except DatabaseError:
            log.warning("backup.sign_of_life_failed", exc_info=True)


def _failure(error: BaseException, path: Path = Path()) -> tuple[str, str]:
    """Return the code and reason for the organization's people, without the operator's archive paths."""
    known = translate(error) if isinstance(error, DatabaseError) else error
    if isinstance(known, AnalytiqError):
        return known.code, known.detail.replace(f"{path.parent}/", "") if path.name else known.detail
    if isinstance(error, Exception):
        return "internal_error", "It broke off; what its command printed says why."
    return "stopped", "It was stopped before its end."
