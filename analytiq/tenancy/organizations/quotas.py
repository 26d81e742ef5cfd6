"""Bounds on the number of an organization's resources."""

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.organization import Countable
from analytiq.settings import QuotaSettings
from analytiq.storage.repositories.organization_counts import OrganizationCountRepository


class OrganizationQuotas:
    """Refuses further resources of an organization at its bound.

    Concurrent calls do not see each other: they may exceed a bound by their number.
    """

    def __init__(self, counts: OrganizationCountRepository, settings: QuotaSettings) -> None:
        self._counts = counts
        self._settings = settings

    async def require_room(self, organization_id: str, what: Countable) -> None:
        """Refuse if the organization has reached its bound.

        Raises:
            ConflictError: the bound is reached.
        """
        most: int = getattr(self._settings, what.value)
        if most and await self._counts.up_to(organization_id, what, most, clock.now()) >= most:
            name = what.value.replace("_", " ")
            raise ConflictError(
                f"The organization has {most:,} {name}, the most it may have. Delete some, or ask the"
                f" operator to raise ANALYTIQ_QUOTAS__{what.value.upper()}.",
                code="quota_reached",
            )
