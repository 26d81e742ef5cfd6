"""Declarations of periodic tasks."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from analytiq.jobs.scheduling.fences import Fence
from analytiq.models.organization import Organization


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicTask:
    """A task that one process runs for the whole platform.

    The leader runs its tasks one after another. It logs a task's error and tries again after the interval. A task that
    must not run twice at once calls `await fence.hold()` before each batch, or `fence.hold(session=session)` in its
    transaction, and lets LeaseLostError pass.

    Attributes:
        name: key of the last run, which is stored: neither a restart nor a new leader repeats the task.
        interval_seconds: shortest time between the end of a run and the next one.
        run: the work; its result is ignored.
    """

    name: str
    interval_seconds: float
    run: Callable[[Fence], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantTask:
    """A task that the leader runs for each organization, at an interval of the organization's own.

    A failure is logged and holds up no other organization. Enqueue a job from `run` if the work takes long.

    Attributes:
        name: key of the last runs, which are stored by organization.
        interval_of: the interval in seconds; None where the organization does not want the task.
        run: the work for one organization; its result is ignored.
        look_seconds: time between two looks for organizations that are due.
    """

    name: str
    interval_of: Callable[[Organization], float | None]
    run: Callable[[Organization, Fence], Awaitable[object]]
    look_seconds: float = 60.0
