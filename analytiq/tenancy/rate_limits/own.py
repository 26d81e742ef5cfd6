"""Organizations' own limits, cached for a few seconds."""

import asyncio
from dataclasses import dataclass

from analytiq.models.own_limits import OwnRateLimits
from analytiq.storage.repositories.organizations import OrganizationRepository

REMEMBERED_SECONDS = 5.0
"""Seconds until a change counts in every process; an uncached read would precede every search."""
MOST_REMEMBERED = 10_000

UNLIMITED = OwnRateLimits()


@dataclass(frozen=True, slots=True)
class _Remembered:
    limits: OwnRateLimits
    until: float


class OwnLimits:
    """Reads organizations' own limits."""

    def __init__(
        self, organizations: OrganizationRepository, *, remembered_seconds: float = REMEMBERED_SECONDS
    ) -> None:
        self._organizations = organizations
        self._seconds = remembered_seconds
        self._remembered: dict[str, _Remembered] = {}

    async def of(self, organization_id: str) -> OwnRateLimits:
        """Return the organization's limits, at most a few seconds old; none if it is gone."""
        now = asyncio.get_running_loop().time()
        known = self._remembered.get(organization_id)
        if known is not None and now < known.until:
            return known.limits
        organization = await self._organizations.get(organization_id)
        limits = UNLIMITED if organization is None else organization.rate_limits
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[organization_id] = _Remembered(limits, now + self._seconds)
        return limits

    def forget(self, organization_id: str) -> None:
        """Drop the cached limits after a change in this process."""
        self._remembered.pop(organization_id, None)
