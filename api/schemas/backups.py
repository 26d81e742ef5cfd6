"""Response bodies of backups and restores."""

from pydantic import Field

from analytiq.models.backup_record import BackupKind, BackupOutcome
from api.schemas.wire import Moment, ResponseBody


class BackupRows(ResponseBody):
    """Rows of a collection of this organization in the archive; `kb_vectors_` are all chunks with their vectors."""

    collection: str
    rows: int


class BackupResponse(ResponseBody):
    """A backup of the organization, or a restore into it."""

    backup_id: str = Field(validation_alias="id")
    kind: BackupKind
    command: str = Field(description="The operator's command")
    outcome: BackupOutcome = Field(description="interrupted: the process was killed and left no archive")
    has_secrets: bool = Field(
        validation_alias="is_whole",
        description="The archive contains all organizations, with access tokens and encrypted keys",
    )
    started_at: Moment
    finished_at: Moment | None
    byte_size: int | None = Field(description="Size of the archive; null if it contains other organizations too")
    sha256: str | None = Field(description="The chained digest for `analytiq backup --check`")
    contents: list[BackupRows] = Field(validation_alias="rows")
    error_code: str | None
    error_detail: str | None


class BackupList(ResponseBody):
    """A page of backups and restores, latest first."""

    backups: list[BackupResponse]
    total_count: int
    skip: int
