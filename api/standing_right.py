"""The right to read a stream, checked again during the stream."""

import asyncio

from starlette.requests import Request

from analytiq import clock
from analytiq.composition import Services
from analytiq.errors import AnalytiqError
from api.access import Caller, identify

CHECK_SECONDS = 1.0


class StandingRight:
    """A caller's right to a stream, checked at most once a second and at its expiry."""

    def __init__(self, request: Request, services: Services, caller: Caller) -> None:
        self._request = request
        self._services = services
        self._organization_id = caller.organization.id
        self._ends_at = caller.ends_at
        self._checked_at = asyncio.get_running_loop().time()

    async def refusal(self) -> AnalytiqError | None:
        """Return the reason to end the stream; None while the caller may read."""
        now = asyncio.get_running_loop().time()
        has_expired = self._ends_at is not None and self._ends_at <= clock.now()
        if now - self._checked_at < CHECK_SECONDS and not has_expired:
            return None
        try:
            caller = await identify(self._request, self._services, self._organization_id)
        except AnalytiqError as error:
            return error
        self._ends_at, self._checked_at = caller.ends_at, now
        return None
