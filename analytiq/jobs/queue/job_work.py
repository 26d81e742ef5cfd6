"""The work of a runner."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from analytiq.jobs.queue.handling import OnDead, OnSettled
from analytiq.jobs.queue.history import History
from analytiq.jobs.queue.running_batch import BatchHandler
from analytiq.jobs.queue.running_job import Handler
from analytiq.jobs.queue.stops import FindStopped
from analytiq.models.job import JobKind


@dataclass(frozen=True, slots=True)
class JobWork:
    """The work of a runner: the handlers by kind, the callbacks, and the record of attempts."""

    handlers: Mapping[JobKind, Handler]
    on_settled: OnSettled
    on_dead: OnDead
    find_stopped: FindStopped
    history: History
    batch_handlers: Mapping[JobKind, BatchHandler] = field(default_factory=dict[JobKind, BatchHandler])
