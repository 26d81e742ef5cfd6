"""What a pass writes counts only while the pass is the one that may write (design 2.9).

A process can be stopped at any moment and wake up much later. Each batch of repairs is therefore a transaction that
also writes to the row which says who may: where another has taken that over, the transaction fails.
"""

from typing import Protocol

from analytiq.models.job import Job
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.leases import LeaseRepository
from analytiq.storage.session import Session


class Fence(Protocol):
    """The right to write."""

    async def hold(self, *, session: Session | None = None) -> None:
        """Make sure of it, for the transaction where one is given.

        Raises:
            LeaseLostError: another has it: write nothing.
        """
        ...


class NoFence:
    """For a pass that a person runs by hand, or a test: its repairs are harmless if done twice."""

    async def hold(self, *, session: Session | None = None) -> None:
        """Nothing can be lost."""


class LeaseFence:
    """The right of the leading reconciler."""

    def __init__(self, leases: LeaseRepository, name: str, token: str) -> None:
        self._leases = leases
        self._name = name
        self._token = token

    async def hold(self, *, session: Session | None = None) -> None:
        """See Fence."""
        await self._leases.hold(self._name, self._token, session=session)


class JobFence:
    """The right of the worker that has a run's job."""

    def __init__(self, jobs: JobRepository, job: Job) -> None:
        self._jobs = jobs
        self._job = job

    async def hold(self, *, session: Session | None = None) -> None:
        """See Fence."""
        await self._jobs.hold(self._job, session=session)
