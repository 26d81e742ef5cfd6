"""`analytiq reconcile` and `analytiq reports`: consistency checks, their findings and repairs."""

from typing import Annotated

import typer

from analytiq.cli import knowledge_bases
from analytiq.cli.connection import api_client
from analytiq.cli.console import errors_as_sentences, fail, note, output, print_rows
from analytiq.cli.options import DataDir, DryRun
from analytiq.client import Client, FoundDrift, ReconcileReport, ReconcileRun
from analytiq.errors import InvalidInputError
from analytiq.settings import read_settings

Everything = Annotated[
    bool, typer.Option("--everything", help="Check all organizations, directly in the database; for operators.")
]


app = typer.Typer()


@app.command()
def reconcile(
    *,
    kb: Annotated[str | None, typer.Option(help="Name or id of the one knowledge base to check.")] = None,
    is_full: Annotated[bool, typer.Option("--full", help="Check every vector, file and text.")] = False,
    is_dry: DryRun = False,
    rebuilds_cache: Annotated[
        bool, typer.Option("--rebuild-cache", help="Put embeddings back into the cache, without calling a provider.")
    ] = False,
    is_everything: Everything = False,
    waits: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the end of the run.")] = True,
    data_dir: DataDir = None,
) -> None:
    """Check consistency now and repair the findings. Exit code 1 if the run failed."""
    from analytiq.cli import reconcile_everything

    if is_everything:
        with errors_as_sentences():
            if kb is not None:
                raise InvalidInputError("--everything and --kb exclude each other. Leave one out.")
            is_well = reconcile_everything.run(
                read_settings(), data_dir, is_full=is_full, is_dry=is_dry, rebuilds_cache=rebuilds_cache, waits=waits
            )
        raise typer.Exit(0 if is_well else 1)
    with api_client(data_dir) as client:
        is_well = run(client, kb, is_full=is_full, is_dry=is_dry, rebuilds_cache=rebuilds_cache, waits=waits)
    raise typer.Exit(0 if is_well else 1)


@app.command()
def reports(
    *,
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Id of one run to show in full.")] = None,
    is_everything: Everything = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of rows.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List the latest runs, and passes with findings; or show one."""
    from analytiq.cli import reconcile_everything

    if is_everything:
        with errors_as_sentences():
            if run is None:
                reconcile_everything.print_table(read_settings(), data_dir, limit)
            else:
                reconcile_everything.print_one(read_settings(), data_dir, run)
        return
    with api_client(data_dir) as client:
        if run is None:
            print_table(client, limit)
        else:
            print_one(client, run)


COLUMNS = ("run", "created", "by", "depth", "state", "found", "repairs")

SECOND = "%Y-%m-%d %H:%M:%S UTC"


def run(client: Client, kb: str | None, *, is_full: bool, is_dry: bool, rebuilds_cache: bool, waits: bool) -> bool:
    """Check the organization, or a knowledge base (by name or id); return False if the run failed."""
    kb_id = None if kb is None else knowledge_bases.choose(client, kb).kb_id
    depth = "full" if is_full else "quick"
    asked = client.reconcile(kb_id=kb_id, depth=depth, dry_run=is_dry, rebuild_cache=rebuilds_cache)
    if not waits:
        note(f"The run {asked.run_id} is waiting for a worker; `analytiq reports {asked.run_id}` shows it.")
        return True
    report = client.wait_for_reconcile(asked.run_id)
    print_report(report)
    return report.state == "done"


def print_table(client: Client, limit: int) -> None:
    """Print the latest runs."""
    page = client.reconcile_runs(limit=limit)
    if not page.items:
        note("There are no requested runs, and no findings in this organization.")
        return
    print_rows(COLUMNS, [row_of(item) for item in page.items])
    if page.total_count > len(page.items):
        note(f"{len(page.items)} of {page.total_count}; --limit shows more.")


def print_one(client: Client, run_id: str) -> None:
    """Print a run with its findings."""
    print_report(client.reconcile_report(run_id))


def print_report(report: ReconcileReport) -> None:
    """Print the findings of a run by name, with their repairs."""
    if report.drift:
        print_rows(("what", "knowledge base", "document", "detail"), [_line(item) for item in report.drift])
    for kind, count in report.more.items():
        output.print(f"and {count} more: {kind}", markup=False)
    if report.error is not None:
        fail(f"The run has failed: {report.error.detail}")
    elif not report.is_over:
        progress = f" ({report.progress.done} of {report.progress.total} parts)" if report.progress else ""
        note(f"The run is {report.state}{progress}.")
    else:
        note(_verdict(report))


def _verdict(report: ReconcileReport) -> str:
    looked = f"{report.knowledge_bases} knowledge bases and {report.checked} index entries were checked."
    if not report.counts:
        return f"Nothing was found. {looked}"
    found = sum(report.counts.values())
    if report.dry_run:
        return f"{found} found, nothing changed. {looked}"
    more = " More is left to the next run." if report.is_cut else ""
    return f"{found} found, {report.repairs} being mended. {looked}{more}"


def row_of(run: ReconcileRun) -> tuple[str, ...]:
    """Format a run as a table row."""
    found = ", ".join(f"{count} {kind}" for kind, count in run.counts.items())
    depth = f"{run.depth}, dry" if run.dry_run else run.depth
    by = "schedule" if run.periodic else "request"
    return run.run_id, f"{run.created_at:{SECOND}}", by, depth, run.state, found or "nothing", str(run.repairs)


def _line(item: FoundDrift) -> tuple[str, ...]:
    return (
        item.kind,
        item.kb_name or item.kb_id or "",
        item.document_name or item.document_id or "",
        item.detail or "",
    )
