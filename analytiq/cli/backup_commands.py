"""`analytiq backup` and `analytiq restore`: their options."""

from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir, DryRun, Yes

Archive = Annotated[Path, typer.Argument(metavar="FILE", help="An archive of `analytiq backup`; - for standard input.")]


def backup(
    *,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to; - for standard output.")] = None,
    check: Annotated[Path | None, typer.Option(metavar="FILE", help="Read an archive through instead.")] = None,
    organization: Annotated[list[str] | None, typer.Option(help="Its id; not needed for the only one.")] = None,
    is_whole: Annotated[
        bool, typer.Option("--everything", help="All organizations, with access tokens and encrypted keys.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Write an archive of an organization, or of everything, while the system runs; or check one."""
    from analytiq.cli import backup as backups
    from analytiq.errors import InvalidInputError
    from analytiq.settings import read_settings

    with errors_as_sentences():
        if check is not None and to is None and not organization and not is_whole:
            backups.run_verify(check)
        elif to is not None and check is None:
            backups.run_backup(read_settings(), data_dir, to, organization or [], is_whole=is_whole)
        else:
            raise InvalidInputError(
                "Say where the archive goes with --to FILE, or which one to check with --check FILE."
            )


def restore(
    *,
    archive: Archive,
    organization: Annotated[list[str] | None, typer.Option(help="Only this one of the archive's: its id.")] = None,
    is_fresh: Annotated[
        bool, typer.Option("--as-new", help="As a new organization with ids of its own, beside what is there.")
    ] = False,
    name: Annotated[str | None, typer.Option(help="Another name for the organization.")] = None,
    replaces: Annotated[
        bool, typer.Option("--replace", help="Erase what is there of the organization first; its tokens stay.")
    ] = False,
    allows_erased: Annotated[
        bool, typer.Option("--even-if-erased", help="Also an organization that was erased since the backup.")
    ] = False,
    is_dry_run: DryRun = False,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Bring an archive back, while the system runs. It is read through before anything is changed."""
    from analytiq.cli import backup as backups
    from analytiq.operations.backup.restoring import RestoreOptions
    from analytiq.settings import read_settings

    with errors_as_sentences():
        if replaces and not yes and not is_dry_run:
            typer.confirm("Erase what is there of the organization, and put the archive's in its place?", abort=True)
        options = RestoreOptions(
            organization_ids=tuple(organization) if organization else None,
            is_fresh=is_fresh,
            name=name,
            allows_erased=allows_erased,
        )
        backups.run_restore(read_settings(), data_dir, archive, options, replaces=replaces, is_dry_run=is_dry_run)
