"""Retention hold on an organization during a block: none of its data is deleted physically."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog

from analytiq.errors import TransientError
from analytiq.storage.repositories.backup_holds import RENEW_SECONDS, BackupHoldRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)


class Hold:
    """A hold that is renewed in the background; `require` raises after its loss."""

    def __init__(self) -> None:
        self._is_lost = False

    def lose(self) -> None:
        """Mark the hold as expired."""
        self._is_lost = True

    def require(self) -> None:
        """Continue only while the hold has never expired.

        Raises:
            TransientError: the hold has expired: this process, or the database, did nothing for two minutes.
        """
        if self._is_lost:
            raise TransientError(
                "The hold on the organization has run out, because this process or the database paused for minutes;"
                " what was read since may be incomplete. Run it again.",
                code="hold_lost",
            )


@asynccontextmanager
async def holding(holds: BackupHoldRepository, organization_id: str, *, reason: str) -> AsyncGenerator[Hold]:
    """Hold the organization; call `require` before relying on rows read or written."""
    hold_id = await holds.take(organization_id, reason=reason)
    hold = Hold()
    renewal = asyncio.create_task(_renew(holds, organization_id, hold_id, hold))
    try:
        yield hold
        # A paused process wakes with its hold expired before the renewal's turn has come.
        if not await holds.renew(organization_id, hold_id):
            hold.lose()
        hold.require()
    finally:
        renewal.cancel()
        await asyncio.gather(renewal, return_exceptions=True)
        await holds.release(organization_id, hold_id)


async def _renew(holds: BackupHoldRepository, organization_id: str, hold_id: str, hold: Hold) -> None:
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            if not await holds.renew(organization_id, hold_id):
                hold.lose()
                return
        except DatabaseError:
            # The next renewal may succeed; if none does in time, the expiry is detected.
            log.warning("backup.hold_not_renewed", organization_id=organization_id, exc_info=True)
