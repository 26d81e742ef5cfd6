"""Registration of a worker process, which also sets its number of concurrent jobs."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence

import structlog

from analytiq import clock
from analytiq.jobs.queue.runner import QueueRunner
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)

ANNOUNCE_SECONDS = 5.0
SILENT_SECONDS = 3 * ANNOUNCE_SECONDS
"""Seconds without a heartbeat after which a process counts as gone or hanging."""
OBEY_SECONDS = 3.0
"""Seconds until a new concurrency takes effect. Polled: another change stream would cost more."""
MOST_JOBS_AT_ONCE = 256


class WorkerRegistry:
    """The entry of one process."""

    def __init__(
        self,
        rows: Repositories,
        runner: QueueRunner,
        *,
        installed_languages: Callable[[], tuple[str, ...]],
        problems: Sequence[str] = (),
    ) -> None:
        self._problems = tuple(problems)
        self._installed_languages = installed_languages
        self._workers = rows.workers
        self._settings = rows.runtime_settings
        self._runner = runner
        self._own_concurrency = runner.concurrency
        self._started_at = clock.now()
        self._ignored: object = None

    async def keep(self) -> None:
        """Announce and obey until cancelled; a failure is repeated at the next round."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._announce_continuously())
            group.create_task(self._obey_continuously())

    async def announce(self) -> None:
        """Record the present state of the process."""
        runner = self._runner
        await self._workers.announce(
            runner.worker,
            host=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
            concurrency=runner.concurrency,
            running=runner.running_jobs,
            ocr_languages=self._installed_languages(),
            problems=self._problems,
        )

    async def obey(self) -> None:
        """Set the wanted concurrency: the value stored for all workers, else this process's setting."""
        stored = await self._settings.worker_concurrency()
        wanted = _concurrency_of(stored)
        if wanted is None and stored is not None and stored != self._ignored:
            log.warning("queue.concurrency_ignored", value=stored, most=MOST_JOBS_AT_ONCE)
            self._ignored = stored
        concurrency = self._own_concurrency if wanted is None else wanted
        if concurrency != self._runner.concurrency:
            self._runner.resize(concurrency)
            await self.announce()

    async def withdraw(self) -> None:
        """Remove the row of the ending process; if the database is unreachable, the row expires."""
        try:
            await self._workers.withdraw(self._runner.worker)
        except DatabaseError:
            log.warning("queue.worker_not_withdrawn", exc_info=True)

    async def _announce_continuously(self) -> None:
        while True:
            try:
                await self.announce()
            except DatabaseError:
                log.warning("queue.announcing_failed", exc_info=True)
            await asyncio.sleep(ANNOUNCE_SECONDS)

    async def _obey_continuously(self) -> None:
        while True:
            try:
                await self.obey()
            except DatabaseError:
                log.warning("queue.obeying_failed", exc_info=True)
            await asyncio.sleep(OBEY_SECONDS)


def _concurrency_of(stored: object) -> int | None:
    """Return the stored number if it is valid: a typing error must neither stop nor overload a worker."""
    if isinstance(stored, bool) or not isinstance(stored, int):
        return None
    return stored if 1 <= stored <= MOST_JOBS_AT_ONCE else None
