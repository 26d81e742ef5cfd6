"""Savings by the cache of questions, written behind the searches."""

import asyncio
from datetime import date

import structlog

from analytiq import clock
from analytiq.models.quota import SpuPurpose
from analytiq.storage.repositories.ledger import Saved, SavingsRepository
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)

DELAY_SECONDS = 1.0
"""Time for which savings are summed before they are written: a search costs no command of its own for a figure that is
never charged. A killed process loses the savings of this time. Much shorter than an erasure waits for running work."""


class DeferredSavings:
    """Sums of savings by purpose and day (UTC), written in one command at most once a second."""

    def __init__(self, savings: SavingsRepository, organizations: OrganizationRepository) -> None:
        self._savings = savings
        self._organizations = organizations
        self._sums: dict[tuple[SpuPurpose, date], Saved] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writes: set[asyncio.Task[None]] = set()

    def add(self, purpose: SpuPurpose, spus: int) -> None:
        """Add embeddings that came from the cache."""
        now = clock.now()
        key = purpose, now.date()
        known = self._sums.get(key)
        self._sums[key] = Saved(spus + (known.spus if known else 0), now)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._begin)

    async def write(self) -> None:
        """Write the present sums. A failure is only logged, since the searches are done.

        An organization may have been erased since its search: nothing is written of it.
        """
        sums, self._sums = self._sums, {}
        if not sums:
            return
        try:
            existing = await self._organizations.existing({purpose.organization_id for purpose, _ in sums})
            savings = [(one, saved) for (one, _), saved in sums.items() if one.organization_id in existing]
            if savings:
                await self._savings.add_all(savings)
        except DatabaseError:
            log.warning("metering.savings_not_noted", spus=sum(saved.spus for saved in sums.values()), exc_info=True)

    async def close(self) -> None:
        """Write what is left."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await asyncio.gather(*self._writes)
        await self.write()

    def _begin(self) -> None:
        self._timer = None
        write = asyncio.create_task(self.write())
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)
