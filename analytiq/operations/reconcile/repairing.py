"""Writer of repairs, under the fence of their pass: a process that slept through its lease repairs nothing."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import structlog
from pydantic import JsonValue

from analytiq.errors import AnalytiqError
from analytiq.jobs.scheduling.fences import Fence
from analytiq.models.job import JobRequest
from analytiq.models.webhook import WebhookEvent, WebhookEventType
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
            kept = [pair for pair in requested if prepare is None or await prepare(session, pair[0])]
            await self._tell(session, [item for item, _ in kept])
            await self._repositories.jobs.enqueue([request for _, request in kept], session=session)
            return len(kept)

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
        await self._hold_and_tell(item)
        try:
            await act(item)
        except (AnalytiqError, DatabaseError) as error:
            log.warning("reconcile.repair_failed", kind=item.kind.value, kb_id=item.kb_id, error=str(error))
            return False
        return True

    async def _hold_and_tell(self, item: Drift) -> None:
        """Check the fence; record the repair before it is made, since it may be no transaction."""
        if not await self._repositories.webhook_outbox.listening(item.organization_id):
            await self.fence.hold()
            return

        async def commit(session: Session) -> None:
            await self.fence.hold(session=session)
            await self._tell(session, [item])

        await run_in_transaction(self._repositories.connection, commit)

    async def _tell(self, session: Session, drift: Sequence[Drift]) -> None:
        """Record an event for each kind of drift in each knowledge base."""
        numbers = Counter((item.organization_id, item.kb_id, item.kind) for item in drift if item.organization_id)
        for (organization_id, kb_id, kind), number in numbers.items():
            subject = f"knowledge_base:{kb_id}" if kb_id else f"organization:{organization_id}"
            data: dict[str, JsonValue] = {"knowledge_base_id": kb_id, "kind": kind.value, "count": number}
            event = WebhookEvent(WebhookEventType.DRIFT_REPAIRED, subject, data)
            await self._repositories.webhook_outbox.record(session, organization_id, [event])

    async def _is_held(self, organization_id: str) -> bool:
        if not organization_id:
            return await self._repositories.holds.is_anything_held()
        return await self._repositories.holds.reason(organization_id) is not None
