"""`analytiq reconcile` and `analytiq reports`: what is not as it should be, and what was mended."""

from analytiq.cli import knowledge_bases
from analytiq.cli.console import fail, note, output, print_rows
from analytiq.client import Client, FoundDrift, ReconcileReport, ReconcileRun

SECOND = "%Y-%m-%d %H:%M:%S UTC"


def run(client: Client, kb: str | None, *, is_full: bool, is_dry: bool, rebuilds_cache: bool, waits: bool) -> bool:
    """Have the organization, or a knowledge base (its name or id), looked at; False where that failed."""
    kb_id = None if kb is None else knowledge_bases.choose(client, kb).kb_id
    depth = "full" if is_full else "quick"
    asked = client.reconcile(kb_id=kb_id, depth=depth, dry_run=is_dry, rebuild_cache=rebuilds_cache)
    if not waits:
        note(f"The run {asked.run_id} waits for a worker; `analytiq reports {asked.run_id}` shows it.")
        return True
    report = client.wait_for_reconcile(asked.run_id)
    print_report(report)
    return report.state == "done"


def print_table(client: Client, limit: int) -> None:
    """Print the latest runs."""
    page = client.reconcile_runs(limit=limit)
    if not page.items:
        note("No run was asked for, and no pass has found anything of this organization's.")
        return
    print_rows(("run", "asked", "depth", "state", "found", "repairs"), [row_of(item) for item in page.items])
    if page.total_count > len(page.items):
        note(f"{len(page.items)} of {page.total_count}; --limit shows more.")


def print_one(client: Client, run_id: str) -> None:
    """Print a run with what it found."""
    print_report(client.reconcile_report(run_id))


def print_report(report: ReconcileReport) -> None:
    """Print what a run found, by name, and what becomes of it."""
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
    looked = f"{report.knowledge_bases} knowledge bases and {report.checked} index entries were looked at."
    if not report.counts:
        return f"Nothing was found. {looked}"
    found = sum(report.counts.values())
    if report.dry_run:
        return f"{found} found, nothing changed. {looked}"
    more = " More is left to the next run." if report.is_cut else ""
    return f"{found} found, {report.repairs} being mended. {looked}{more}"


def row_of(run: ReconcileRun) -> tuple[str, ...]:
    """A run as a line of a table."""
    found = ", ".join(f"{count} {kind}" for kind, count in run.counts.items())
    depth = f"{run.depth}, dry" if run.dry_run else run.depth
    return run.run_id, f"{run.created_at:{SECOND}}", depth, run.state, found or "nothing", str(run.repairs)


def _line(item: FoundDrift) -> tuple[str, ...]:
    return (
        item.kind,
        item.kb_name or item.kb_id or "",
        item.document_name or item.document_id or "",
        item.detail or "",
    )
