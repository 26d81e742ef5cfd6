"""What is remembered of each backup and each restore of an organization."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class BackupKind(StrEnum):
    """Which way the data went."""

    BACKUP = "backup"
    RESTORE = "restore"


class BackupOutcome(StrEnum):
    """How it ended. Interrupted: its process has given no sign of life for longer than it could have."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class RecordedRows(Stored):
    """How many rows of a collection of this organization are in the archive; all `kb_vectors_…` count as one."""

    collection: str
    rows: int


class BackupRecord(Stored):
    """One backup of an organization, or one restore into it.

    Attributes:
        command: what was called, without the names of files.
        is_whole: the archive is of everything, with access tokens and encrypted keys.
        byte_size: of the archive, where it holds no other organization.
        sha256: the chained digest that stands for the whole archive, hex digits.
        error_code, error_detail: why it failed.
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
