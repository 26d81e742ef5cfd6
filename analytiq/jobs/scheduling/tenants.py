"""Runs of tenant tasks: selects the due organizations, and records each run."""

import structlog

from analytiq.errors import LeaseLostError
from analytiq.jobs.scheduling.fences import Fence
from analytiq.jobs.scheduling.tasks import PeriodicTask, TenantTask
from analytiq.models.organization import Organization
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

NEVER = float("inf")


class TenantTasks:
    """Tenant tasks as periodic tasks of the leader."""

    def __init__(self, repositories: Repositories) -> None:
        self._connection = repositories.connection
        self._organizations = repositories.organizations
        self._runs = repositories.tenant_tasks

    def schedule(self, task: TenantTask) -> PeriodicTask:
        """Return a periodic task that runs `task` for each organization that is due."""

        async def run(fence: Fence) -> None:
            for organization in await self._due(task):
                await self._run(task, organization, fence)

        return PeriodicTask(name=task.name, interval_seconds=task.look_seconds, run=run)

    async def _due(self, task: TenantTask) -> list[Organization]:
        """Return the organizations that are due, longest wait first."""
        wanted = [
            (organization, interval)
            for organization in await self._organizations.all()
            if (interval := task.interval_of(organization)) is not None
        ]
        waits = await self._runs.seconds_since(task.name, [organization.id for organization, _ in wanted])
        due = [
            (waits.get(organization.id, NEVER), organization)
            for organization, interval in wanted
            if waits.get(organization.id, NEVER) >= interval
        ]
        return [organization for _, organization in sorted(due, key=lambda item: item[0], reverse=True)]

    async def _run(self, task: TenantTask, organization: Organization, fence: Fence) -> None:
        await fence.hold()
        try:
            await task.run(organization, fence)
        except LeaseLostError:
            raise
        except Exception:
            # Whatever the error, other organizations do not wait for this one.
            log.exception("scheduling.tenant_task_failed", task=task.name, organization_id=organization.id)

        async def note(session: Session) -> None:
            await fence.hold(session=session)
            # A run of an organization that was erased meanwhile leaves no row.
            if await self._organizations.get(organization.id, session=session) is not None:
                await self._runs.note_run(session, organization.id, task.name)

        await run_in_transaction(self._connection, note)
