"""Waits of runs: for a source that asks for a wait, and for one that does not answer.

A waiting run holds no slot and burns no attempt of its job. A source that did not answer goes on in a slow partition:
however many sources are silent, they hold one slot of each worker.
"""

from collections.abc import Mapping
from typing import NoReturn

from analytiq import clock
from analytiq.errors import PermanentError, PostponedError, TransientError
from analytiq.ingestion.sources.base import SourceSilentError
from analytiq.ingestion.sources.jobs import run_request
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.source import RunNote, RunState, Source, SourceRun
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

LONGEST_WAIT_SECONDS = 24 * 3600.0
"""Time for which a run waits for its source, without taking in anything meanwhile."""
LEAST_WAIT_SECONDS = 1.0
UNNAMED_WAIT_SECONDS = 30.0
"""First wait after a refusal without a given time; the next ones grow with the time waited."""
LONGEST_UNNAMED_WAIT_SECONDS = 900.0
GROWTH = 1 / 3
SILENT_ATTEMPTS = 3
"""Attempts after which a source that does not answer ends the run; the next run has one."""
SILENT_WAIT_SECONDS = 30.0


class RunWaits:
    """Puts runs off."""

    def __init__(self, rows: Repositories) -> None:
        self._connection = rows.connection
        self._runs = rows.source_runs
        self._jobs = rows.jobs

    async def put_off(self, running: RunningJob, run: SourceRun, error: TransientError) -> NoReturn:
        """Store that the run waits, and raise what makes its job wait.

        Raises:
            PostponedError: the run goes on later.
            PermanentError: it has waited long enough, or the source did not answer again.
        """
        if isinstance(error, SourceSilentError):
            await self._after_silence(running, run, error)
        now = clock.now()
        waited = (now - run.waiting_since).total_seconds() if run.waiting_since else 0.0
        wait = error.retry_after
        if wait is None:
            wait = max(UNNAMED_WAIT_SECONDS, min(LONGEST_UNNAMED_WAIT_SECONDS, waited * GROWTH))
        wait = max(LEAST_WAIT_SECONDS, wait)
        if waited + wait > LONGEST_WAIT_SECONDS:
            hours = LONGEST_WAIT_SECONDS / 3600
            raise PermanentError(
                f"The source wants longer waits than {hours:g} hours. It said: {error.detail}",
                code="source_rate_limited",
            )
        waiting = run.model_copy(update={"waiting_since": run.waiting_since or now, "waits": run.waits + 1})
        note = RunNote(at=now, text=f"The run goes on in {wait:,.0f} s. {error.detail}")
        await self._store(running, waiting, [note] if run.waiting_since is None else [])
        raise PostponedError(error.detail, retry_after=wait)

    async def _after_silence(self, running: RunningJob, run: SourceRun, error: SourceSilentError) -> NoReturn:
        attempts = run.silent_attempts + 1
        if attempts >= SILENT_ATTEMPTS:
            raise PermanentError(error.detail, code=error.code)
        wait = SILENT_WAIT_SECONDS * attempts
        note = RunNote(at=clock.now(), text=f"{error.detail} The run tries again in {wait:g} s.")
        slow = run.model_copy(update={"silent_attempts": attempts, "is_slow": True})
        await self._store(running, slow, [note])
        raise PostponedError(error.detail, retry_after=wait, code=error.code)

    async def _store(self, running: RunningJob, run: SourceRun, notes: list[RunNote]) -> None:
        async def commit(session: Session) -> None:
            await self._jobs.hold(running.job, session=session)
            await self._runs.advance(session, run, state=RunState.RUNNING, notes=notes)
            # The request moves the job to the partition of the run.
            await self._jobs.enqueue([run_request(run)], session=session)

        await run_in_transaction(self._connection, commit)


def first_wait(source: Source) -> Mapping[str, bool | int]:
    """Return the fields of a run that begins: a source that was silent to the end of the last one has one attempt."""
    is_silent = source.problem is not None and source.problem.code == SourceSilentError.code
    return {"is_slow": is_silent, "silent_attempts": SILENT_ATTEMPTS - 1 if is_silent else 0}
