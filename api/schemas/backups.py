"""Wire shapes of backups and restores."""

from pydantic import Field

from analytiq.models.backup_record import BackupKind, BackupOutcome, BackupRecord
from api.schemas.wire import Moment, ResponseBody


class BackupRows(ResponseBody):
    """Rows of a collection of this organization in the archive; `kb_vectors_` are all chunks with their vectors."""

    collection: str
    rows: int


class BackupResponse(ResponseBody):
    """One backup of the organization, or one restore into it."""

    backup_id: str
    kind: BackupKind
    command: str = Field(description="What an operator called")
    outcome: BackupOutcome = Field(description="interrupted: its process was killed, and left no archive")
    has_secrets: bool = Field(description="The archive is of everything, with access tokens and encrypted keys")
    started_at: Moment
    finished_at: Moment | None
    byte_size: int | None = Field(description="Of the archive; None where it holds other organizations too")
    sha256: str | None = Field(description="The chained digest that `analytiq backup --check` goes by")
    contents: list[BackupRows]
    error_code: str | None
    error_detail: str | None

    @classmethod
    def of(cls, record: BackupRecord) -> "BackupResponse":
        """From the stored shape."""
        return cls(
            backup_id=record.id,
            kind=record.kind,
            command=record.command,
            outcome=record.outcome,
            has_secrets=record.is_whole,
            started_at=record.started_at,
            finished_at=record.finished_at,
            byte_size=record.byte_size,
            sha256=record.sha256,
            contents=[BackupRows(collection=item.collection, rows=item.rows) for item in record.rows],
            error_code=record.error_code,
            error_detail=record.error_detail,
        )


class BackupList(ResponseBody):
    """A page of backups and restores, latest first."""

    backups: list[BackupResponse]
    total_count: int
    skip: int
