"""Answers about erasures, retention, backups and health."""

from datetime import datetime

from analytiq.client.answers import Answer, Failure


class Erasure(Answer):
    """An erasure: queued, running, done or failed; `counts` by collection, `left` what remains."""

    erasure_id: str
    kind: str
    state: str
    dry_run: bool
    requested_by: str
    reason: str | None
    documents: int
    holder_ids: list[str]
    counts: dict[str, int]
    left: dict[str, int] | None
    error: Failure | None
    requested_at: datetime
    finished_at: datetime | None


class ErasureDetail(Erasure):
    """An erasure with its documents."""

    document_ids: list[str]


class Retention(Answer):
    """Days after which documents are deleted; None: never."""

    document_days: int | None


class BackupRows(Answer):
    """Rows of one collection in a backup."""

    collection: str
    rows: int


class Backup(Answer):
    """A backup or restore of the organization, with its outcome."""

    backup_id: str
    kind: str
    command: str
    outcome: str
    has_secrets: bool
    started_at: datetime
    finished_at: datetime | None
    byte_size: int | None
    sha256: str | None
    contents: list[BackupRows]
    error_code: str | None
    error_detail: str | None


class Health(Answer):
    """The state of the API."""

    status: str = ""
