"""Memory of all parsers of a process: concurrent grants stay within one budget."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.budgets import SMALL_GRANT_BYTES


@dataclass(slots=True, eq=False)
class _Waiter:
    wanted: int
    granted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class MemoryBudget:
    """Grants memory to parsers. Small grants never wait behind large ones: a part of the budget is theirs alone."""

    def __init__(self, total_bytes: int) -> None:
        self._total = total_bytes
        self._reserve = min(SMALL_GRANT_BYTES, total_bytes // 2)
        self._small = 0
        self._large = 0
        self._waiting_small: deque[_Waiter] = deque()
        self._waiting_large: deque[_Waiter] = deque()

    @property
    def most(self) -> int:
        """The largest grant: everything except the part reserved for small ones."""
        return self._total - self._reserve

    @property
    def granted_bytes(self) -> int:
        """The sum of current grants."""
        return self._small + self._large

    @asynccontextmanager
    async def grant(self, wanted: int) -> AsyncGenerator[int]:
        """Wait for memory and hold it within the block; yield the granted amount, which may be less than requested."""
        amount = min(wanted, self.most)
        is_small = amount <= SMALL_GRANT_BYTES
        queue = self._waiting_small if is_small else self._waiting_large
        waiter = _Waiter(amount)
        queue.append(waiter)
        self._grant_waiting()
        try:
            await waiter.granted
            yield amount
        finally:
            if waiter in queue:
                queue.remove(waiter)
            else:
                self._take(-amount, is_small=is_small)
            self._grant_waiting()

    def _grant_waiting(self) -> None:
        while self._waiting_large and self._fits(self._waiting_large[0].wanted, is_small=False):
            self._grant(self._waiting_large.popleft(), is_small=False)
        while self._waiting_small and self._fits(self._waiting_small[0].wanted, is_small=True):
            self._grant(self._waiting_small.popleft(), is_small=True)

    def _fits(self, wanted: int, *, is_small: bool) -> bool:
        if self.granted_bytes + wanted > self._total:
            return False
        if not is_small:
            return self._large + wanted <= self.most
        # While a large grant waits, small ones keep to their part, so that its turn comes.
        return not self._waiting_large or self._small + wanted <= self._reserve

    def _grant(self, waiter: _Waiter, *, is_small: bool) -> None:
        self._take(waiter.wanted, is_small=is_small)
        if not waiter.granted.done():  # a cancelled caller returns its grant at once
            waiter.granted.set_result(None)

    def _take(self, amount: int, *, is_small: bool) -> None:
        if is_small:
            self._small += amount
        else:
            self._large += amount
