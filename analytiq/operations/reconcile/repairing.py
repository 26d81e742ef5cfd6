"""Writer of repairs, under the fence of their pass: a process that slept through its lease repairs nothing."""

from collections.abc import Awaitable, Callable, Sequence

import structlog

from analytiq.errors import AnalytiqError
from analytiq.jobs.scheduling.fences import Fence
from analytiq.models.job import JobRequest
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import DatabaseError, Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

REQUESTS_AT_ONCE = 200
"""Jobs requested in one transaction: about 30 ms, so that few others meet it."""

Requested = tuple[Drift, JobRequest]


class RepairWriter:
    """Writes the repairs of a pass."""

    def __init__(self, repositories: Repositories, fence: Fence) -> None:
        self.fence = fence
        self._repositories = repositories

    async def enqueue(
        self, requested: Sequence[Requested], *, prepare: Callable[[Session, Drift], Awaitable[bool]] | None = None
    ) -> int:
        """Enqueue the jobs, in transactions of bounded size; return their number.

        Args:
            requested: each drift with its job.
            prepare: an additional change in the transaction; False omits the job.
        """
        count = 0
        for start in range(0, len(requested), REQUESTS_AT_ONCE):
            count += await self._enqueue(requested[start : start + REQUESTS_AT_ONCE], prepare)
        return count

    async def _enqueue(
        self, requested: Sequence[Requested], prepare: Callable[[Session, Drift], Awaitable[bool]] | None
    ) -> int:
        await checkpoint("reconcile.batch_found")

        async def commit(session: Session) -> int:
            await self.fence.hold(session=session)
            wanted = [request for item, request in requested if prepare is None or await prepare(session, item)]
            await self._repositories.jobs.enqueue(wanted, session=session)
            return len(wanted)

        count = await run_in_transaction(self._repositories.connection, commit)
        await checkpoint("reconcile.batch_repaired")
        return count

    async def apply(self, drift: Sequence[Drift], act: Callable[[Drift], Awaitable[object]]) -> int:
        """Make a repair that is not a job for each drift; failures are left to the next pass. Return the number."""
        return sum([await self._apply(item, act) for item in drift])

    async def delete(self, drift: Sequence[Drift], act: Callable[[Drift], Awaitable[object]]) -> int:
        """Apply repairs that delete: these wait while a backup or restore holds the organization."""
        return sum([not await self._is_held(item.organization_id) and await self._apply(item, act) for item in drift])

    async def _apply(self, item: Drift, act: Callable[[Drift], Awaitable[object]]) -> bool:
        await self.fence.hold()
        try:
            await act(item)
        except (AnalytiqError, DatabaseError) as error:
            log.warning("reconcile.repair_failed", kind=item.kind.value, kb_id=item.kb_id, error=str(error))
            return False
        return True

    async def _is_held(self, organization_id: str) -> bool:
        if not organization_id:
            return await self._repositories.holds.is_anything_held()
        return await self._repositories.holds.reason(organization_id) is not None
