"""Bounds on how many things an organization makes."""

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.organization import Countable
from analytiq.settings import QuotaSettings
from analytiq.storage.repositories.organization_counts import OrganizationCountRepository


class OrganizationQuotas:
    """Refuses one more of what an organization has enough of.

    Calls that run at the same moment do not see each other: a bound may be exceeded by as many as run at once.
    """

    def __init__(self, counts: OrganizationCountRepository, settings: QuotaSettings) -> None:
        self._counts = counts
        self._settings = settings

    async def require_room(self, organization_id: str, what: Countable) -> None:
        """Refuse where the organization has as many as it may have.

        Raises:
            ConflictError: it has.
        """
        most: int = getattr(self._settings, what.value)
        if most and await self._counts.up_to(organization_id, what, most, clock.now()) >= most:
            name = what.value.replace("_", " ")
            raise ConflictError(
                f"The organization has {most:,} {name}, as many as it may have. Delete some, or ask the operator to"
                f" raise ANALYTIQ_QUOTAS__{what.value.upper()}.",
                code="quota_reached",
            )
