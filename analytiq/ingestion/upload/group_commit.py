"""Group commit: small files that arrive while a commit is on its way go into the next one.

No timer delays a file: one that arrives alone is committed at once. Four clients that send one file each are enough
to fill batches. Groups are of one organization and one process.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, field

import structlog

from analytiq.errors import AnalytiqError, TransactionTooLargeError
from analytiq.ingestion.upload.batch import Placed, WantedPlacement
from analytiq.storage.session import DatabaseError

MOST_FILES = 64
"""Most files of one transaction. Processor time of client and mongod for a file of 1 kB, by files a transaction: 6.9 ms
for 1, 2.2 for 4, 0.86 for 16, 0.52 for 64 (`python -m benchmarks.uploads`, two shared cores, busy)."""
MOST_BYTES = 8 * 1024 * 1024
"""Most bytes of one transaction: about 20 MB do not fit into the embedded server's cache of 0.25 GB (error 388)."""
UNKNOWN_OUTCOME = "commit_outcome_unknown"

PlaceBatch = Callable[[str, Sequence[WantedPlacement]], Awaitable[list[Placed | None]]]
Result = Placed | AnalytiqError | None
"""The document and outcome of a file, its own error, or None if the file must be placed alone."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Waiting:
    wanted: WantedPlacement
    result: asyncio.Future[Result]


@dataclass(slots=True)
class _Line:
    """The files of an organization that wait for the commit on its way; single uploads go first."""

    is_busy: bool = False
    single: deque[_Waiting] = field(default_factory=deque[_Waiting])
    bulk: deque[_Waiting] = field(default_factory=deque[_Waiting])

    def add(self, waiting: _Waiting) -> None:
        (self.bulk if waiting.wanted.placement.is_bulk else self.single).append(waiting)

    def take(self) -> list[_Waiting]:
        """Return the next batch, without files whose callers have gone."""
        taken: list[_Waiting] = []
        byte_size = 0
        for line in (self.single, self.bulk):
            while line and len(taken) < MOST_FILES:
                if line[0].result.done():
                    line.popleft()
                    continue
                byte_size += line[0].wanted.byte_size
                if taken and byte_size > MOST_BYTES:
                    return taken
                taken.append(line.popleft())
        return taken


class GroupCommit:
    """Commits the small files of each organization in groups."""

    def __init__(self, place: PlaceBatch) -> None:
        self._place = place
        self._lines: dict[str, _Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def place(self, organization_id: str, files: Sequence[WantedPlacement]) -> list[Result]:
        """Place the files, together with those of other callers; return a result for each, in order."""
        line = self._lines.setdefault(organization_id, _Line())
        if len(files) == 1 and not line.is_busy:
            return [await self._place_at_once(organization_id, line, files[0])]
        loop = asyncio.get_running_loop()
        waiting = [_Waiting(wanted, loop.create_future()) for wanted in files]
        for each in waiting:
            line.add(each)
        if not line.is_busy:
            self._go_on(organization_id, line)
        try:
            return [await each.result for each in waiting]
        finally:
            for each in waiting:  # the caller may have been cancelled
                each.result.cancel()

    async def _place_at_once(self, organization_id: str, line: _Line, wanted: WantedPlacement) -> Result:
        line.is_busy = True
        try:
            return (await self._place(organization_id, [wanted]))[0]
        except AnalytiqError as error:
            return error
        finally:
            self._go_on(organization_id, line)

    def _go_on(self, organization_id: str, line: _Line) -> None:
        """Commit what waits by now, in a task of its own: its files may be of several callers."""
        line.is_busy = bool(line.single or line.bulk)
        if not line.is_busy:
            self._lines.pop(organization_id, None)
            return
        # An empty context: the batch belongs to no caller's request or trace.
        task = asyncio.get_running_loop().create_task(self._commit_all(organization_id, line), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _commit_all(self, organization_id: str, line: _Line) -> None:
        try:
            while batch := line.take():
                try:
                    await self._commit(organization_id, batch)
                finally:
                    for each in batch:
                        _settle(each, None)  # of a batch that was interrupted
        finally:
            self._go_on(organization_id, line)

    async def _commit(self, organization_id: str, batch: Sequence[_Waiting]) -> None:
        try:
            results = await self._place(organization_id, [each.wanted for each in batch])
        except TransactionTooLargeError:
            if len(batch) > 1:
                middle = len(batch) // 2
                await self._commit(organization_id, batch[:middle])
                await self._commit(organization_id, batch[middle:])
            return
        except (AnalytiqError, DatabaseError) as error:
            if isinstance(error, AnalytiqError) and error.code == UNKNOWN_OUTCOME:
                for each in batch:
                    _settle(each, error)
            # Otherwise nothing was changed: each file is placed alone, and fails by its own fault only.
            log.info("uploads.batch_left", files=len(batch), error=str(error))
            return
        for each, result in zip(batch, results, strict=True):
            _settle(each, result)
        log.info("uploads.done", files=len(batch), bytes=sum(each.wanted.byte_size for each in batch))


def _settle(waiting: _Waiting, result: Result) -> None:
    if not waiting.result.done():
        waiting.result.set_result(result)
