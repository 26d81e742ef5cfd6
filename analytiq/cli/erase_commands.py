"""`analytiq erase …`: its commands and their options."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir, DryRun, Yes
from analytiq.models.erasure import CacheFate, LedgerFate

app = typer.Typer(help="Delete for good, with a report; directly in the database.", no_args_is_help=True)

OrganizationId = Annotated[str, typer.Argument(metavar="ORGANIZATION", help="Its id.")]
Reason = Annotated[str | None, typer.Option(help="Why; it is kept in the report.")]


@app.command("organization")
def erase_organization(
    *,
    organization: OrganizationId,
    ledger: Annotated[LedgerFate, typer.Option(help="What becomes of its charges.")] = LedgerFate.ANONYMIZE,
    cache: Annotated[CacheFate, typer.Option(help="And of embeddings that others may use and it has paid for.")] = (
        CacheFate.DELETE
    ),
    reason: Reason = None,
    is_dry_run: DryRun = False,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Erase an organization with everything it has. Nobody can open it from then on."""
    from analytiq.cli import erase
    from analytiq.models.erasure import ErasureOptions
    from analytiq.settings import read_settings

    with errors_as_sentences():
        settings = read_settings()
        if not yes and not is_dry_run:
            name = erase.describe_organization(settings, data_dir, organization)
            typer.confirm(f"Erase {name!r} for good?", abort=True)
        options = ErasureOptions(ledger=ledger, cache=cache)
        erase.erase_organization(settings, data_dir, organization, options, is_dry_run=is_dry_run, reason=reason)


@app.command("documents")
def erase_documents(
    *,
    organization: OrganizationId,
    document: Annotated[list[str] | None, typer.Option(help="Its id. May be repeated.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="With this tag, by name; with all, if repeated.")] = None,
    name_contains: Annotated[str | None, typer.Option("--name", help="With this in the name.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="With this metadata; with all, if repeated.")
    ] = None,
    uploaded_before: Annotated[datetime | None, typer.Option(help="Uploaded before then, UTC.")] = None,
    reason: Reason = None,
    is_dry_run: DryRun = False,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Erase the documents that fit everything that is given, with all that hangs on them."""
    from analytiq.cli import erase
    from analytiq.settings import read_settings

    with errors_as_sentences():
        if not yes and not is_dry_run:
            typer.confirm("Erase these documents for good? --dry-run tells how many they are.", abort=True)
        erase.erase_documents(
            read_settings(),
            data_dir,
            organization,
            document_ids=document or [],
            tags=tag or [],
            name_contains=name_contains,
            metadata=metadata or [],
            uploaded_before=uploaded_before.replace(tzinfo=UTC) if uploaded_before else None,
            is_dry_run=is_dry_run,
            reason=reason,
        )


@app.command("cache")
def erase_cache(
    *,
    organization: OrganizationId,
    includes_shared: Annotated[
        bool, typer.Option("--shared", help="Also what others may use and it has paid for.")
    ] = False,
    reason: Reason = None,
    is_dry_run: DryRun = False,
    data_dir: DataDir = None,
) -> None:
    """Erase an organization's cached embeddings; its knowledge bases stay as they are."""
    from analytiq.cli import erase
    from analytiq.settings import read_settings

    with errors_as_sentences():
        erase.erase_cache(
            read_settings(),
            data_dir,
            organization,
            includes_shared=includes_shared,
            is_dry_run=is_dry_run,
            reason=reason,
        )


@app.command("list")
def erase_list(
    organization: Annotated[str | None, typer.Option(help="Only of this one: its id.")] = None,
    data_dir: DataDir = None,
) -> None:
    """List erasures, latest first."""
    from analytiq.cli import erase
    from analytiq.settings import read_settings

    with errors_as_sentences():
        erase.print_table(read_settings(), data_dir, organization)


@app.command("show")
def erase_show(
    erasure: Annotated[str, typer.Argument(metavar="ERASURE", help="As `erase list` shows it.")],
    data_dir: DataDir = None,
) -> None:
    """Show the report of an erasure: what went, and the proof that nothing is left."""
    from analytiq.cli import erase
    from analytiq.settings import read_settings

    with errors_as_sentences():
        erase.print_one(read_settings(), data_dir, erasure)


@app.command("continue")
def erase_continue(
    erasure: Annotated[str, typer.Argument(metavar="ERASURE", help="As `erase list` shows it.")],
    data_dir: DataDir = None,
) -> None:
    """Go on with an erasure whose command was stopped, where no worker does."""
    from analytiq.cli import erase
    from analytiq.settings import read_settings

    with errors_as_sentences():
        erase.go_on(read_settings(), data_dir, erasure)


@app.command("retention")
def erase_retention(
    *,
    organization: OrganizationId,
    days: Annotated[int | None, typer.Option(help="Delete documents so long after the upload of their file.")] = None,
    is_off: Annotated[bool, typer.Option("--off", help="Keep documents until somebody deletes them.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Say how long an organization's documents are kept; for good, unless said otherwise."""
    from analytiq.cli import erase
    from analytiq.errors import InvalidInputError
    from analytiq.settings import read_settings

    with errors_as_sentences():
        if (days is None) != is_off:
            raise InvalidInputError("Give either --days or --off.")
        erase.set_retention(read_settings(), data_dir, organization, days)
