"""Wire shapes of backups and restores."""

from pydantic import Field

from analytiq.models.backup_record import BackupKind, BackupOutcome
from api.schemas.wire import Moment, ResponseBody


class BackupRows(ResponseBody):
    """Rows of a collection of this organization in the archive; `kb_vectors_` are all chunks with their vectors."""

    collection: str
    rows: int


class BackupResponse(ResponseBody):
    """One backup of the organization, or one restore into it."""

    backup_id: str = Field(validation_alias="id")
    kind: BackupKind
    command: str = Field(description="What an operator called")
    outcome: BackupOutcome = Field(description="interrupted: its process was killed, and left no archive")
    has_secrets: bool = Field(
        validation_alias="is_whole", description="The archive is of everything, with access tokens and encrypted keys"
    )
    started_at: Moment
    finished_at: Moment | None
    byte_size: int | None = Field(description="Of the archive; None where it holds other organizations too")
    sha256: str | None = Field(description="The chained digest that `analytiq backup --check` goes by")
    contents: list[BackupRows] = Field(validation_alias="rows")
    error_code: str | None
    error_detail: str | None


class BackupList(ResponseBody):
    """A page of backups and restores, latest first."""

    backups: list[BackupResponse]
    total_count: int
    skip: int
