"""Memory of all parsers of a process: concurrent grants stay within one budget, fairly by organization."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.budgets import SMALL_GRANT_BYTES

LEAST_SHARED_BYTES = 4 * SMALL_GRANT_BYTES
"""The smallest budget of which a part is kept for organizations without a small grant."""


@dataclass(slots=True, eq=False)
class _Waiter:
    organization_id: str
    wanted: int
    granted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def is_small(self) -> bool:
        return self.wanted <= SMALL_GRANT_BYTES


class MemoryBudget:
    """Grants memory to parsers.

    Small grants never wait behind large ones: a part of the budget is theirs alone. The organization that holds least
    is served first, and the last room for a small grant goes to an organization that holds none.
    """

    def __init__(self, total_bytes: int) -> None:
        self._total = total_bytes
        self._reserve = min(SMALL_GRANT_BYTES, total_bytes // 2)
        self._kept_for_newcomers = SMALL_GRANT_BYTES if total_bytes >= LEAST_SHARED_BYTES else 0
        self._small = 0
        self._large = 0
        self._held: Counter[str] = Counter()
        self._with_small: Counter[str] = Counter()
        """Small grants by organization."""
        self._waiting_small: list[_Waiter] = []
        self._waiting_large: list[_Waiter] = []

    @property
    def most(self) -> int:
        """The largest grant: everything except the part reserved for small ones."""
        return self._total - self._reserve

    @property
    def granted_bytes(self) -> int:
        """The sum of current grants."""
        return self._small + self._large

    @asynccontextmanager
    async def grant(self, wanted: int, organization_id: str) -> AsyncGenerator[int]:
        """Wait for memory and hold it within the block; yield the granted amount, which may be less than requested."""
        waiter = _Waiter(organization_id, min(wanted, self.most))
        queue = self._waiting_small if waiter.is_small else self._waiting_large
        queue.append(waiter)
        self._grant_waiting()
        try:
            await waiter.granted
            yield waiter.wanted
        finally:
            if waiter in queue:
                queue.remove(waiter)
            else:
                self._take(waiter, -waiter.wanted)
            self._grant_waiting()

    def _grant_waiting(self) -> None:
        for queue in (self._waiting_large, self._waiting_small):
            while queue:
                first = min(queue, key=lambda waiter: self._held[waiter.organization_id])
                if not self._fits(first):
                    break
                queue.remove(first)
                self._take(first, first.wanted)
                if not first.granted.done():  # a cancelled caller returns its grant at once
                    first.granted.set_result(None)

    def _fits(self, waiter: _Waiter) -> bool:
        if self.granted_bytes + waiter.wanted > self._total:
            return False
        if not waiter.is_small:
            return self._large + waiter.wanted <= self.most
        # While a large grant waits, small ones keep to their part, so that its turn comes.
        if self._waiting_large and self._small + waiter.wanted > self._reserve:
            return False
        left = self._total - self.granted_bytes - waiter.wanted
        return waiter.organization_id not in self._with_small or left >= self._kept_for_newcomers

    def _take(self, waiter: _Waiter, amount: int) -> None:
        if waiter.is_small:
            self._small += amount
            self._with_small[waiter.organization_id] += 1 if amount > 0 else -1
            if not self._with_small[waiter.organization_id]:
                del self._with_small[waiter.organization_id]
        else:
            self._large += amount
        self._held[waiter.organization_id] += amount
        if not self._held[waiter.organization_id]:
            del self._held[waiter.organization_id]
