"""`analytiq backup` and `analytiq restore`, directly on the database."""

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import structlog
import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from analytiq.cli.console import errors_as_sentences, messages, note, output, print_rows
from analytiq.cli.options import DataDir, DryRun, Yes
from analytiq.composition.services import Services
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.models.erasure import DocumentSelection, ErasureOptions, LedgerFate
from analytiq.operations.backup.files import opened, write_file
from analytiq.operations.backup.making import Made
from analytiq.operations.backup.progress import OnStep, Step
from analytiq.operations.backup.restoring import Restore, Restored, RestoreOptions, verified
from analytiq.operations.backup.verification import Contents
from analytiq.settings import Settings, read_settings
from analytiq.standalone.local_database import on_database
from analytiq.storage.client import MongoConnection
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.archives import ArchiveSource
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.telemetry import logs

Archive = Annotated[
    Path, typer.Argument(metavar="FILE", help="Archive file written by `analytiq backup`; - for standard input.")
]


app = typer.Typer()


@app.command()
def backup(
    *,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="File to write; - for standard output.")] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Verify an archive instead of writing one.")
    ] = None,
    organization: Annotated[
        list[str] | None, typer.Option(help="Id of the organization; optional if there is only one.")
    ] = None,
    is_whole: Annotated[
        bool, typer.Option("--everything", help="All organizations, with access tokens and encrypted keys.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Write an archive of an organization, or of everything, while the system runs; or verify one."""
    with errors_as_sentences():
        if check is not None and to is None and not organization and not is_whole:
            run_verify(check)
        elif to is not None and check is None:
            run_backup(read_settings(), data_dir, to, organization or [], is_whole=is_whole)
        else:
            raise InvalidInputError("Name the archive to write with --to FILE, or the one to verify with --check FILE.")


@app.command()
def restore(
    *,
    archive: Archive,
    organization: Annotated[list[str] | None, typer.Option(help="Id of the one organization to restore.")] = None,
    is_fresh: Annotated[bool, typer.Option("--as-new", help="Restore as a new organization with new ids.")] = False,
    name: Annotated[str | None, typer.Option(help="New name of the organization.")] = None,
    replaces: Annotated[
        bool, typer.Option("--replace", help="Erase the existing organization first; keep its tokens.")
    ] = False,
    allows_erased: Annotated[
        bool, typer.Option("--even-if-erased", help="Also restore an organization erased since the backup.")
    ] = False,
    is_dry_run: DryRun = False,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Restore an archive while the system runs. The archive is verified before anything is changed."""
    with errors_as_sentences():
        if replaces and not yes and not is_dry_run:
            typer.confirm("Erase the organization's present data, and replace it by the archive's?", abort=True)
        options = RestoreOptions(
            organization_ids=tuple(organization) if organization else None,
            is_fresh=is_fresh,
            name=name,
            allows_erased=allows_erased,
        )
        run_restore(read_settings(), data_dir, archive, options, replaces=replaces, is_dry_run=is_dry_run)


log = structlog.get_logger(__name__)

LOG_SECONDS = 10.0
"""Seconds between lines of progress if the output is not a terminal."""
MEBIBYTE = 1024 * 1024


def run_backup(
    settings: Settings, data_dir: Path | None, path: Path, organization_ids: Sequence[str], *, is_whole: bool
) -> None:
    """Write an archive, and describe its content.

    Raises:
        InvalidInputError: the options do not name exactly one subject.
        AnalytiqError: no database is known, or making the archive failed.
    """
    if is_whole and organization_ids:
        raise InvalidInputError("Name organizations or --everything, not both.")
    configure_logs(settings, "backup")

    async def work(connection: MongoConnection) -> Made:
        wanted = None if is_whole else await _chosen(connection, organization_ids)
        with watching() as on_step:
            return await write_file(connection, path, wanted, on_step=on_step)

    made = on_database(settings, data_dir, work)
    for warning in made.trailer.warnings:
        note(f"Warning: {warning}.")
    names = ", ".join(organization.name for organization in made.header.organizations)
    rows = sum(total.rows for total in made.trailer.totals)
    note(f"{names}: {rows} rows in {made.byte_size / MEBIBYTE:.1f} MiB; SHA-256 chain {made.sha256}")
    if is_whole:
        note(
            "It holds the keys of providers, encrypted: they can be read with this installation's ANALYTIQ_SECRET_KEY"
            " only. Keep that key apart from the archive."
        )
    else:
        note("It contains no access tokens. After a restore, create one with `analytiq token create --database`.")


def run_restore(
    settings: Settings,
    data_dir: Path | None,
    path: Path,
    options: RestoreOptions,
    *,
    replaces: bool,
    is_dry_run: bool,
) -> None:
    """Verify an archive, then restore it; a dry run verifies, checks, and prints the planned steps.

    Raises:
        AnalytiqError: no database is known; the archive is damaged; see `Restore.restore`.
    """
    if replaces and options.is_fresh:
        raise InvalidInputError("--replace and --as-new exclude each other. Choose one.")
    configure_logs(settings, "restore")

    async def work(connection: MongoConnection) -> list[Restored]:
        with opened(path) as (stream, byte_size):
            with watching() as on_step:
                contents = await verified(stream, on_step=on_step, total_bytes=byte_size)
            print_contents(contents)
            await migrate(connection)
            if replaces:
                await _make_way(connection, settings, contents, options, is_dry_run=is_dry_run)
            restore = Restore(connection)
            if is_dry_run:
                if not replaces:
                    await restore.check(contents, options)
                return []
            with watching() as on_step:
                restored = await restore.restore(stream, contents, options, on_step=on_step)
            await _erase_again(connection, settings, restored)
            return restored

    if replaces:
        # The replaced data was erased after the archive was made.
        options = RestoreOptions(organization_ids=options.organization_ids, name=options.name, allows_erased=True)
    restored = on_database(settings, data_dir, work)
    if is_dry_run:
        note("The archive is complete and can be restored. Nothing was changed.")
    for item in restored:
        output.print(item.organization_id)
        note(
            f"Restored {item.rows} rows of {item.source_organization_id} into {item.organization_id}. A token for it:"
            f" `analytiq token create NAME --database --organization {item.organization_id}`"
        )
        if item.erased_documents:
            note(f"{len(item.erased_documents)} documents erased since the backup are being erased again.")
    if restored:
        note("Work in progress at the time of the backup resumes; the rest calls no provider.")


def run_verify(path: Path) -> None:
    """Verify an archive without a database.

    Raises:
        InvalidInputError: it is damaged, incomplete, or not an archive.
    """

    async def work() -> Contents:
        with opened(path) as (stream, byte_size), watching() as on_step:
            return await verified(stream, on_step=on_step, total_bytes=byte_size)

    print_contents(asyncio.run(work()))
    note("The archive is complete and undamaged.")


def print_contents(contents: Contents) -> None:
    """Print the contents of an archive."""
    header = contents.header
    whole = ", with access tokens and encrypted keys" if header.is_whole else ""
    note(f"Made by {header.product_version} on {header.created_at:%Y-%m-%d %H:%M UTC}{whole}.")
    for organization in header.organizations:
        note(f"Organization {organization.id}: {organization.name}")
    print_rows(
        ("collection", "rows", "MiB"),
        [(item.collection, str(item.rows), f"{item.byte_size / MEBIBYTE:.1f}") for item in contents.trailer.totals],
    )
    for warning in contents.trailer.warnings:
        note(f"Warning: {warning}.")


def configure_logs(settings: Settings, command: str) -> None:
    """Log to standard error, since standard output may be the archive; on a terminal, warnings and errors only."""
    level = "WARNING" if messages.is_terminal else settings.log_level
    logs.configure(as_json=settings.log_json, level=level, process=command)


@contextmanager
def watching() -> Generator[OnStep]:
    """Show progress: on a terminal a line that is redrawn, else a log line from time to time."""
    if not messages.is_terminal:
        yield _logged()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn())
    with Progress(*columns, console=messages, transient=True) as progress:
        task: TaskID = progress.add_task("", total=None)

        def draw(step: Step) -> None:
            progress.update(task, description=step.what, completed=step.byte_size, total=step.total_bytes)

        yield draw


def _logged() -> OnStep:
    last = time.monotonic()

    def write(step: Step) -> None:
        nonlocal last
        if time.monotonic() - last >= LOG_SECONDS:
            last = time.monotonic()
            log.info("archive.progress", what=step.what, rows=step.rows, mebibytes=step.byte_size // MEBIBYTE)

    return write


async def _chosen(connection: MongoConnection, organization_ids: Sequence[str]) -> list[str]:
    """Return the named organizations, by default the only one."""
    if organization_ids:
        return list(organization_ids)
    found = await ArchiveSource(connection).organizations()
    if not found:
        raise NotFoundError("There is no organization to back up yet.")
    if len(found) > 1:
        listed = "; ".join(f"{item.organization_id} ({item.name})" for item in found[:20])
        raise InvalidInputError(
            f"There are {len(found)} organizations. Choose one with --organization, or use --everything. {listed}"
        )
    return [found[0].organization_id]


async def _make_way(
    connection: MongoConnection, settings: Settings, contents: Contents, options: RestoreOptions, *, is_dry_run: bool
) -> None:
    """Erase the organization to be replaced, except its access tokens, once the archive is verified."""
    held = [organization.id for organization in contents.header.organizations]
    wanted = held if options.organization_ids is None else options.organization_ids
    rows = OrganizationRepository(connection)
    erasures = Services(settings, connection).operations.erasures
    for organization_id in wanted:
        if organization_id not in held or await rows.get(organization_id) is None:
            continue
        requested = await erasures.request_organization(
            organization_id,
            requested_by="restore --replace",
            options=ErasureOptions(ledger=LedgerFate.DELETE, keeps_tokens=True),
            is_dry_run=is_dry_run,
        )
        if is_dry_run:
            note(f"{sum(requested.counts.values())} rows of {organization_id} would be erased first.")
            continue
        note(f"Erasing {organization_id} first (erasure {requested.id}) …")
        await erasures.run(requested.id, on_wait=lambda wait: note(f"… {wait.reason}: {wait.seconds:.0f} s"))


async def _erase_again(connection: MongoConnection, settings: Settings, restored: Sequence[Restored]) -> None:
    """Re-apply the erasures completed after the backup was taken."""
    erasures = Services(settings, connection).operations.erasures
    for item in restored:
        if item.erased_documents:
            await erasures.request_documents(
                item.organization_id,
                DocumentSelection(document_ids=item.erased_documents),
                requested_by="restore",
            )
