"""Records of an organization's backups and restores."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class BackupKind(StrEnum):
    """The direction of the data."""

    BACKUP = "backup"
    RESTORE = "restore"


class BackupOutcome(StrEnum):
    """The outcome. Interrupted: the process ended without reporting an outcome."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class RecordedRows(Stored):
    """The number of rows of one collection in the archive; all `kb_vectors_…` count as one."""

    collection: str
    rows: int


class BackupRecord(Stored):
    """One backup of an organization, or one restore into it.

    Attributes:
        command: the command, without file names.
        is_whole: whether the archive includes access tokens and encrypted keys.
        byte_size: the archive's size, if it holds no other organization.
        sha256: the chained digest of the whole archive, in hex digits.
        error_code, error_detail: the reason for a failure.
    """

    id: str
    organization_id: str
    kind: BackupKind
    command: str
    is_whole: bool
    outcome: BackupOutcome
    started_at: datetime
    finished_at: datetime | None = None
    byte_size: int | None = None
    sha256: str | None = None
    rows: tuple[RecordedRows, ...] = ()
    error_code: str | None = None
    error_detail: str | None = None
