"""Fences: rights to write that are checked within each transaction.

A process may be stopped at any moment and wake up much later. Each batch of a task is therefore a transaction that also
writes to the row of its lease or job. The transaction fails once another process has taken over.
"""

from typing import Protocol

from analytiq.models.job import Job
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.leases import LeaseRepository
from analytiq.storage.session import Session


class Fence(Protocol):
    """The right to write."""

    async def hold(self, *, session: Session | None = None) -> None:
        """Check the right, within the transaction if one is given.

        Raises:
            LeaseLostError: another process has it; write nothing.
        """
        ...


class NoFence:
    """An unlimited right, for work that a person or a test starts and that is harmless if repeated."""

    async def hold(self, *, session: Session | None = None) -> None:
        """See Fence."""


class LeaseFence:
    """The right of the leader."""

    def __init__(self, leases: LeaseRepository, name: str, token: str) -> None:
        self._leases = leases
        self._name = name
        self._token = token

    async def hold(self, *, session: Session | None = None) -> None:
        """See Fence."""
        await self._leases.hold(self._name, self._token, session=session)


class JobFence:
    """The right of the worker that holds a job."""

    def __init__(self, jobs: JobRepository, job: Job) -> None:
        self._jobs = jobs
        self._job = job

    async def hold(self, *, session: Session | None = None) -> None:
        """See Fence."""
        await self._jobs.hold(self._job, session=session)
