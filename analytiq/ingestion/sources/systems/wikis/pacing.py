"""A limit of calls by time, for services that name one."""

import asyncio

WINDOW_SECONDS = 5.0
"""Time whose calls may come at once."""


class Pace:
    """Lets a number of calls a second pass on average, and a burst after a rest."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._debt = 0.0
        self._at = 0.0

    async def turn(self) -> None:
        """Wait until the next call may be made."""
        now = asyncio.get_running_loop().time()
        self._debt = max(0.0, self._debt - (now - self._at) * self._per_second) + 1
        self._at = now
        beyond = self._debt - WINDOW_SECONDS * self._per_second
        if beyond > 0:
            await asyncio.sleep(beyond / self._per_second)
