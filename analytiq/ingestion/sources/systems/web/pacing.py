"""Waiting between the requests to one host."""

import asyncio


class HostPace:
    """The pace of requests to a host: in order, with a delay, and not before a time that the host names."""

    def __init__(self, delay_seconds: float) -> None:
        self._delay = delay_seconds
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next request's time."""
        while True:
            now = asyncio.get_running_loop().time()
            if now >= self._next:
                self._next = now + self._delay
                return
            if self._delay:
                # A place in the line: the one behind waits for a later time.
                due, self._next = self._next, self._next + self._delay
                await asyncio.sleep(due - now)
                return
            await asyncio.sleep(self._next - now)

    def hold(self, seconds: float) -> None:
        """Let no request begin for some seconds."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)

    def slow_down(self, delay_seconds: float) -> None:
        """Use at least this delay from now on."""
        self._delay = max(self._delay, delay_seconds)
