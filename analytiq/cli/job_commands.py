"""`analytiq jobs …`: its commands and their options."""

from enum import StrEnum
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir
from analytiq.models.job import JobKind, JobState

app = typer.Typer(help="What waits, runs, or was given up.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(metavar="JOB", help="As `jobs list` shows it.")]
OfKind = Annotated[JobKind | None, typer.Option("--kind", help="Only of this kind.")]
OfKnowledgeBase = Annotated[str | None, typer.Option("--kb", help="Only of this knowledge base: its name or id.")]
OfDocument = Annotated[str | None, typer.Option("--document", help="Only of this document: its id.")]
OfError = Annotated[str | None, typer.Option("--error", help="Only those whose last error has this code.")]


class UnfinishedState(StrEnum):
    """The states of jobs that can be cancelled."""

    AVAILABLE = JobState.AVAILABLE.value
    RUNNING = JobState.RUNNING.value


@app.command("list")
def jobs_list(
    *,
    state: Annotated[list[JobState] | None, typer.Option(help="Any of these. May be repeated.")] = None,
    kind: OfKind = None,
    kb: OfKnowledgeBase = None,
    document: OfDocument = None,
    error: OfError = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many to show at most.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List jobs, latest change first. `--state dead` shows those that were given up."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        states = [item.value for item in state or []]
        kinds = [kind.value] if kind else []
        jobs.print_table(client, states=states, kinds=kinds, kb=kb, document_id=document, error_code=error, limit=limit)


@app.command("show")
def jobs_show(job: JobId, data_dir: DataDir = None) -> None:
    """Show a job: why its last attempt failed, where, and what became of those before."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        jobs.print_one(client, job)


@app.command("replay")
def jobs_replay(
    *,
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="As `jobs list` shows it.")] = None,
    is_all: Annotated[bool, typer.Option("--all", help="Every job that was given up.")] = False,
    kind: OfKind = None,
    kb: OfKnowledgeBase = None,
    document: OfDocument = None,
    error: OfError = None,
    data_dir: DataDir = None,
) -> None:
    """Run jobs again that were given up, as if they had never been tried."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        of_kind = kind.value if kind else None
        jobs.replay(client, job, is_all=is_all, kind=of_kind, kb=kb, document_id=document, error_code=error)


@app.command("cancel")
def jobs_cancel(
    *,
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="As `jobs list` shows it.")] = None,
    is_all: Annotated[bool, typer.Option("--all", help="Every job but those that delete.")] = False,
    state: Annotated[
        UnfinishedState | None, typer.Option(help="Only those that wait (available), or only those that run.")
    ] = None,
    kind: OfKind = None,
    kb: OfKnowledgeBase = None,
    document: OfDocument = None,
    error: OfError = None,
    data_dir: DataDir = None,
) -> None:
    """Stop jobs that wait or run; they can be replayed."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        jobs.cancel(
            client,
            job,
            is_all=is_all,
            state=state.value if state else None,
            kind=kind.value if kind else None,
            kb=kb,
            document_id=document,
            error_code=error,
        )


@app.command("count")
def jobs_count(data_dir: DataDir = None) -> None:
    """Say how many jobs of each kind wait, run, or were given up, and what made them fail."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        jobs.print_counts(client)
