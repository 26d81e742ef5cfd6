"""Handlers as their services declare them."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from analytiq.jobs.queue.handling import follows, handlers_of, job
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.job import JobKind

RUNNING = cast("RunningJob", cast("Any", SimpleNamespace()))


class Worker:
    def __init__(self) -> None:
        self.done: list[str] = []

    @job(JobKind.SYNC)
    async def sync(self, running: RunningJob) -> None:
        self.done.append("sync")

    @job(JobKind.SWEEP)
    async def sweep(self, running: RunningJob) -> None:
        raise RuntimeError


class Follower:
    def __init__(self, done: list[str]) -> None:
        self._done = done

    @follows(JobKind.SYNC)
    async def after_sync(self, running: RunningJob) -> None:
        self._done.append("followed")

    @follows(JobKind.SWEEP)
    async def after_sweep(self, running: RunningJob) -> None:
        self._done.append("swept")


async def test_followers_come_after_the_handler_and_not_after_its_failure() -> None:
    worker = Worker()
    handlers = handlers_of([Follower(worker.done), worker])
    await handlers[JobKind.SYNC](RUNNING)
    assert worker.done == ["sync", "followed"]
    with pytest.raises(RuntimeError):
        await handlers[JobKind.SWEEP](RUNNING)
    assert worker.done == ["sync", "followed"]


def test_two_handlers_of_a_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="sync"):
        handlers_of([Worker(), Worker()])
