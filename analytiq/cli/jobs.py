"""`analytiq jobs …`: waiting, running and failed jobs."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer

from analytiq.cli import knowledge_bases
from analytiq.cli.connection import api_client
from analytiq.cli.console import note, output, print_rows
from analytiq.cli.options import DataDir
from analytiq.client import Client, Job, JobAttempt, JobDetail
from analytiq.errors import InvalidInputError
from analytiq.models.job import JobKind, JobState

app = typer.Typer(help="Show, replay and cancel jobs.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(metavar="JOB", help="Id from `jobs list`.")]
OfKind = Annotated[JobKind | None, typer.Option("--kind", help="Only jobs of this kind.")]
OfKnowledgeBase = Annotated[str | None, typer.Option("--kb", help="Only jobs of this knowledge base (name or id).")]
OfDocument = Annotated[str | None, typer.Option("--document", help="Only jobs of the document with this id.")]
OfError = Annotated[str | None, typer.Option("--error", help="Only jobs whose last error has this code.")]


class UnfinishedState(StrEnum):
    """The states of jobs that can be cancelled."""

    AVAILABLE = JobState.AVAILABLE.value
    RUNNING = JobState.RUNNING.value


@app.command("list")
def jobs_list(
    *,
    state: Annotated[list[JobState] | None, typer.Option(help="Only jobs in this state. Repeatable.")] = None,
    kind: OfKind = None,
    kb: OfKnowledgeBase = None,
    document: OfDocument = None,
    error: OfError = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of rows.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List jobs, latest change first. `--state dead` shows failed ones."""
    with api_client(data_dir) as client:
        states = [item.value for item in state or []]
        kinds = [kind.value] if kind else []
        print_table(client, states=states, kinds=kinds, kb=kb, document_id=document, error_code=error, limit=limit)


@app.command("show")
def jobs_show(job: JobId, data_dir: DataDir = None) -> None:
    """Show a job: the cause and place of its last failure, and its earlier attempts."""
    with api_client(data_dir) as client:
        print_one(client, job)


@app.command("replay")
def jobs_replay(
    *,
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="Id from `jobs list`.")] = None,
    is_all: Annotated[bool, typer.Option("--all", help="All failed jobs.")] = False,
    kind: OfKind = None,
    kb: OfKnowledgeBase = None,
    document: OfDocument = None,
    error: OfError = None,
    data_dir: DataDir = None,
) -> None:
    """Run failed jobs again, as if they had never been tried."""
    with api_client(data_dir) as client:
        of_kind = kind.value if kind else None
        replay(client, job, is_all=is_all, kind=of_kind, kb=kb, document_id=document, error_code=error)


@app.command("cancel")
def jobs_cancel(
    *,
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="Id from `jobs list`.")] = None,
    is_all: Annotated[bool, typer.Option("--all", help="All jobs except deletions.")] = False,
    state: Annotated[
        UnfinishedState | None, typer.Option(help="Only waiting jobs (available), or only running ones.")
    ] = None,
    kind: OfKind = None,
    kb: OfKnowledgeBase = None,
    document: OfDocument = None,
    error: OfError = None,
    data_dir: DataDir = None,
) -> None:
    """Cancel waiting and running jobs; they can be replayed."""
    with api_client(data_dir) as client:
        cancel(
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
    """Count waiting, running and failed jobs of each kind, and the errors of failed ones."""
    with api_client(data_dir) as client:
        print_counts(client)


SECOND = "%Y-%m-%d %H:%M:%S UTC"


def print_table(
    client: Client,
    *,
    states: list[str],
    kinds: list[str],
    kb: str | None,
    document_id: str | None,
    error_code: str | None,
    limit: int,
) -> None:
    """Print the matching jobs, latest change first; `kb` is a name or an id."""
    page = client.jobs_page(
        states=states,
        kinds=kinds,
        kb_id=_kb_id(client, kb),
        document_id=document_id,
        error_code=error_code,
        limit=limit,
    )
    if not page.items:
        note("No jobs match: none is waiting, running or failed.")
        return
    headings = ("job", "state", "attempt", "changed", "progress", "last error")
    print_rows(headings, [_row(job) for job in page.items])
    if page.total_count > len(page.items):
        total = f"more than {page.total_count}" if page.total_count_is_at_least else page.total_count
        note(f"{len(page.items)} of {total}; --limit shows more.")


def print_one(client: Client, job_id: str) -> None:
    """Print a job with all details."""
    job = client.job(job_id)
    for name, value in _lines(job):
        output.print(f"{name:<10} {value}", markup=False)
    if job.stack:
        output.print()
        output.print(job.stack.rstrip(), markup=False)
    if job.attempts:
        output.print()
        print_rows(
            ("attempt", "outcome", "began", "seconds", "worker", "error"), [_past(item) for item in job.attempts]
        )


def replay(
    client: Client,
    job_id: str | None,
    *,
    is_all: bool,
    kind: str | None,
    kb: str | None,
    document_id: str | None,
    error_code: str | None,
) -> None:
    """Run one failed job again, or the matching ones, or all.

    Raises:
        InvalidInputError: not exactly one of these is given.
    """
    is_narrowed = any(item is not None for item in (kind, kb, document_id, error_code))
    if [job_id is not None, is_all, is_narrowed].count(True) != 1:
        raise InvalidInputError(
            "Name either one job, or --all, or which ones by --kind, --kb, --document and --error;"
            " `analytiq jobs list --state dead` shows them."
        )
    if job_id is not None:
        client.replay_job(job_id)
        note(f"The job {job_id} is waiting again.")
        return
    count = client.replay_jobs(
        kind=kind, kb_id=_kb_id(client, kb), document_id=document_id, error_code=error_code, is_all=is_all
    )
    note(f"{count} {'job is' if count == 1 else 'jobs are'} waiting again.")


def cancel(
    client: Client,
    job_id: str | None,
    *,
    is_all: bool,
    state: str | None,
    kind: str | None,
    kb: str | None,
    document_id: str | None,
    error_code: str | None,
) -> None:
    """Cancel one job, or the matching ones, or all except deletions.

    Raises:
        InvalidInputError: not exactly one of these is given.
    """
    is_narrowed = any(item is not None for item in (kind, kb, document_id, error_code))
    if [job_id is not None, is_all, is_narrowed].count(True) != 1 or (job_id is not None and state is not None):
        raise InvalidInputError(
            "Name either one job, or --all, or which ones by --kind, --kb, --document and --error, and with these by"
            " --state; `analytiq jobs list` shows them."
        )
    if job_id is not None:
        _cancel_one(client, job_id)
        return
    found = client.cancel_jobs(
        state=state, kind=kind, kb_id=_kb_id(client, kb), document_id=document_id, error_code=error_code, is_all=is_all
    )
    are = "job is" if found.cancelled == 1 else "jobs are"
    note(f"{found.cancelled} {are} cancelled. `analytiq jobs replay --error cancelled` runs them after all.")
    if found.stopping:
        note(f"{found.stopping} more {'is' if found.stopping == 1 else 'are'} being stopped. This takes a few seconds.")


def print_counts(client: Client) -> None:
    """Print the number of jobs of each kind, and the errors of failed ones."""
    counts = client.job_counts()
    if not counts.kinds:
        note("No jobs are waiting, running or failed.")
        return
    rows = [(item.kind, str(item.waiting), str(item.running), str(item.dead)) for item in counts.kinds]
    print_rows(("kind", "waiting", "running", "dead"), rows)
    if counts.dead:
        output.print()
        errors = [(str(item.count), item.error_code, item.detail) for item in client.job_errors()]
        print_rows(("dead", "error", "one of them says"), errors)


def _cancel_one(client: Client, job_id: str) -> None:
    job = client.cancel_job(job_id)
    if job.state == "running":
        note(f"The job {job_id} is being stopped. This takes a few seconds.")
    else:
        note(f"The job {job_id} is cancelled. `analytiq jobs replay {job_id}` runs it after all.")


def _kb_id(client: Client, name_or_id: str | None) -> str | None:
    return None if name_or_id is None else knowledge_bases.choose(client, name_or_id).kb_id


def _row(job: Job) -> tuple[str, ...]:
    return (
        job.job_id,
        _state(job),
        f"{job.attempt}/{job.max_attempts}",
        _moment(job.updated_at),
        _progress(job),
        job.error.code if job.error else "",
    )


def _state(job: Job) -> str:
    return f"{job.state}, to be stopped" if job.is_cancel_wanted else job.state


def _progress(job: Job) -> str:
    return f"{job.progress.done}/{job.progress.total} {job.progress.unit}" if job.progress else ""


def _lines(job: JobDetail) -> list[tuple[str, str]]:
    lines = [
        ("job", job.job_id),
        ("state", f"{_state(job)} ({job.task_state})"),
        ("attempt", f"{job.attempt} of at most {job.max_attempts}"),
        ("priority", str(job.priority)),
        ("made", _moment(job.created_at)),
        ("changed", _moment(job.updated_at)),
        ("due", _moment(job.run_at)),
        ("progress", _progress(job)),
        ("worker", job.worker or ""),
        ("request", job.request_id or ""),
        ("error", f"{job.error.code}: {job.error.detail}" if job.error else ""),
    ]
    return [(name, value) for name, value in lines if value]


def _past(attempt: JobAttempt) -> tuple[str, ...]:
    seconds = (attempt.ended_at - attempt.started_at).total_seconds()
    error = attempt.error.code if attempt.error else ""
    began = _moment(attempt.started_at)
    return str(attempt.attempt), attempt.outcome, began, f"{seconds:.1f}", attempt.worker or "", error


def _moment(moment: datetime) -> str:
    return f"{moment:{SECOND}}"
