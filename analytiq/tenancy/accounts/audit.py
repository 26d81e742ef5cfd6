"""The audit log: records and lists the actions of people and tokens."""

from datetime import datetime, timedelta

import structlog

from analytiq import clock
from analytiq.models.audit import Actor, AuditEntry
from analytiq.settings import AccountSettings
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.audit_log import AuditLogRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)


class AuditLog:
    """Actions in an organization, kept for `audit_days`."""

    def __init__(self, rows: AuditLogRepository, settings: AccountSettings) -> None:
        self._rows = rows
        self._settings = settings

    async def note(
        self,
        organization_id: str,
        action: str,
        actor: Actor,
        *,
        target: dict[str, str] | None = None,
        address: str | None = None,
        request_id: str | None = None,
        status: int = 200,
    ) -> None:
        """Add an entry. The action is complete by then, so a failure is logged with the entry and not raised."""
        entry = AuditEntry(
            id=new_id(),
            organization_id=organization_id,
            at=clock.now(),
            action=action,
            actor=actor,
            target=target or {},
            address=address,
            request_id=request_id,
            status=status,
        )
        try:
            await self._rows.add([entry])
        except DatabaseError:
            log.exception("accounts.audit_not_noted", entry=entry.model_dump(mode="json"))

    async def page(
        self,
        organization_id: str,
        *,
        action: str | None = None,
        actor_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        skip: int,
        limit: int,
    ) -> tuple[list[AuditEntry], int]:
        """Return a page of the organization's entries, latest first, and their count."""
        return await self._rows.page(
            organization_id, action=action, actor_id=actor_id, since=since, until=until, skip=skip, limit=limit
        )

    async def forget_old(self) -> int:
        """Delete entries older than `audit_days`; return their number."""
        return await self._rows.forget_before(clock.now() - timedelta(days=self._settings.audit_days))
