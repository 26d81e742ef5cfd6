"""`analytiq workers …`, directly in the database: workers belong to the system, not to an organization."""

from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences, note, print_rows
from analytiq.cli.options import DataDir
from analytiq.jobs.queue.registry import OBEY_SECONDS, SILENT_SECONDS
from analytiq.models.worker import Worker
from analytiq.settings import Settings, read_settings
from analytiq.standalone.local_database import address_of_database, on_database, run_on_database
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.workers import RuntimeSettingRepository, WorkerRepository

app = typer.Typer(help="Manage worker processes, directly in the database.", no_args_is_help=True)


@app.command("list")
def workers_list(data_dir: DataDir = None) -> None:
    """List worker processes with their numbers of jobs."""
    with errors_as_sentences():
        print_table(read_settings(), data_dir)


@app.command("set")
def workers_set(
    concurrency: Annotated[int, typer.Argument(min=1, max=256, help="Concurrent jobs of each worker.")],
    data_dir: DataDir = None,
) -> None:
    """Set the number of concurrent jobs of each worker, from now on and after restarts."""
    with errors_as_sentences():
        set_concurrency(read_settings(), data_dir, concurrency)


@app.command("reset")
def workers_reset(data_dir: DataDir = None) -> None:
    """Reset each worker's number of concurrent jobs to its own setting."""
    with errors_as_sentences():
        set_concurrency(read_settings(), data_dir, None)


SECOND = "%Y-%m-%d %H:%M:%S UTC"


def print_table(settings: Settings, data_dir: Path | None) -> None:
    """Print the live worker processes, and the common setting.

    Raises:
        AnalytiqError: no database is known, or it cannot be reached.
    """

    async def read(connection: MongoConnection) -> tuple[list[Worker], object]:
        found = await WorkerRepository(connection).seen_within(SILENT_SECONDS)
        return found, await RuntimeSettingRepository(connection).worker_concurrency()

    uri = address_of_database(settings, data_dir)
    workers, wanted = run_on_database(uri, settings.mongo.database, read)
    if workers:
        print_rows(("worker", "host", "process", "running", "at most", "since"), [_row(item) for item in workers])
    else:
        note("No worker is running. Start one with `analytiq up` or `python -m workers`.")
    for problem in dict.fromkeys(problem for worker in workers for problem in worker.problems):
        names = ", ".join(worker.id for worker in workers if problem in worker.problems)
        note(f"{names}: {problem}")
    if wanted is None:
        note("Each has its own number of concurrent jobs (ANALYTIQ_WORKER__CONCURRENCY).")
    else:
        note(f"Each runs {wanted} concurrent jobs; `analytiq workers reset` restores their own settings.")


def _row(worker: Worker) -> tuple[str, ...]:
    since = f"{worker.started_at:{SECOND}}"
    return worker.id, worker.host, str(worker.pid), str(worker.running), str(worker.concurrency), since


def set_concurrency(settings: Settings, data_dir: Path | None, concurrency: int | None) -> None:
    """Set the number of concurrent jobs of each worker; None restores the workers' own settings."""

    async def write(connection: MongoConnection) -> None:
        await RuntimeSettingRepository(connection).set_worker_concurrency(concurrency)

    on_database(settings, data_dir, write)
    wanted = "its own number of" if concurrency is None else str(concurrency)
    note(f"Within {OBEY_SECONDS:g} s each worker runs {wanted} concurrent jobs; running jobs finish.")
