"""`analytiq erase …`, directly in the database, since an erased organization has no token for the API."""

import asyncio
import getpass
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences, note, output, print_rows
from analytiq.cli.options import DataDir, DryRun, Yes
from analytiq.composition.services import Services
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.models.erasure import CacheFate, DocumentSelection, Erasure, ErasureOptions, ErasureState, LedgerFate
from analytiq.operations.erasure.erasing import Wait
from analytiq.operations.erasure.service import Erasures
from analytiq.settings import Settings, read_settings
from analytiq.standalone.local_database import on_database
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.tags import TagRepository
from analytiq.telemetry import logs

app = typer.Typer(help="Delete permanently, with a report. Works directly on the database.", no_args_is_help=True)

OrganizationId = Annotated[str, typer.Argument(metavar="ORGANIZATION", help="Id of the organization.")]
Reason = Annotated[str | None, typer.Option(help="Reason, stored in the report.")]


@app.command("organization")
def erase_organization(
    *,
    organization: OrganizationId,
    ledger: Annotated[LedgerFate, typer.Option(help="Treatment of the charges.")] = LedgerFate.ANONYMIZE,
    cache: Annotated[CacheFate, typer.Option(help="Treatment of shared embeddings that it paid for.")] = (
        CacheFate.DELETE
    ),
    reason: Reason = None,
    is_dry_run: DryRun = False,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Erase an organization with all of its data. Nobody can open it afterwards."""
    from analytiq.models.erasure import ErasureOptions

    with errors_as_sentences():
        settings = read_settings()
        if not yes and not is_dry_run:
            name = describe_organization(settings, data_dir, organization)
            typer.confirm(f"Erase {name!r} for good?", abort=True)
        options = ErasureOptions(ledger=ledger, cache=cache)
        _erase_organization(settings, data_dir, organization, options, is_dry_run=is_dry_run, reason=reason)


@app.command("documents")
def erase_documents(
    *,
    organization: OrganizationId,
    document: Annotated[list[str] | None, typer.Option(help="Id of a document. Repeatable.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Documents with this tag name; with all of them, if repeated.")
    ] = None,
    name_contains: Annotated[str | None, typer.Option("--name", help="Documents with this text in the name.")] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Documents with this metadata; with all of it, if repeated."),
    ] = None,
    uploaded_before: Annotated[datetime | None, typer.Option(help="Documents uploaded before this time (UTC).")] = None,
    reason: Reason = None,
    is_dry_run: DryRun = False,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Erase the documents that match all criteria, with their derived data."""
    with errors_as_sentences():
        if not yes and not is_dry_run:
            typer.confirm("Erase these documents for good? --dry-run tells how many they are.", abort=True)
        _erase_documents(
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
        bool, typer.Option("--shared", help="Also erase shared embeddings that it paid for.")
    ] = False,
    reason: Reason = None,
    is_dry_run: DryRun = False,
    data_dir: DataDir = None,
) -> None:
    """Erase an organization's cached embeddings; its knowledge bases stay unchanged."""
    with errors_as_sentences():
        _erase_cache(
            read_settings(),
            data_dir,
            organization,
            includes_shared=includes_shared,
            is_dry_run=is_dry_run,
            reason=reason,
        )


@app.command("list")
def erase_list(
    organization: Annotated[str | None, typer.Option(help="Id of the one organization to show.")] = None,
    data_dir: DataDir = None,
) -> None:
    """List erasures, latest first."""
    with errors_as_sentences():
        print_table(read_settings(), data_dir, organization)


@app.command("show")
def erase_show(
    *,
    erasure: Annotated[str, typer.Argument(metavar="ERASURE", help="Id from `erase list`.")],
    names_documents: Annotated[
        bool, typer.Option("--documents", help="Also list the ids of the erased documents and their parts.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Show the report of an erasure: the deleted rows, and the proof that none is left."""
    with errors_as_sentences():
        print_one(read_settings(), data_dir, erasure, names_documents=names_documents)


@app.command("continue")
def erase_continue(
    erasure: Annotated[str, typer.Argument(metavar="ERASURE", help="Id from `erase list`.")],
    data_dir: DataDir = None,
) -> None:
    """Continue an erasure whose command was stopped, if no worker does."""
    with errors_as_sentences():
        go_on(read_settings(), data_dir, erasure)


@app.command("retention")
def erase_retention(
    *,
    organization: OrganizationId,
    days: Annotated[
        int | None, typer.Option(help="Delete documents this many days after the upload of their file.")
    ] = None,
    is_off: Annotated[bool, typer.Option("--off", help="Keep documents until they are deleted by hand.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show or set how long an organization's documents are kept; forever by default."""
    with errors_as_sentences():
        if (days is None) != is_off:
            raise InvalidInputError("Give either --days or --off.")
        set_retention(read_settings(), data_dir, organization, days)


SECOND = "%Y-%m-%d %H:%M:%S UTC"
MOST_HOLDERS = 20
Request = Callable[[Erasures, MongoConnection], Awaitable[Erasure]]


def _erase_organization(
    settings: Settings,
    data_dir: Path | None,
    organization_id: str,
    options: ErasureOptions,
    *,
    is_dry_run: bool,
    reason: str | None,
) -> None:
    """Erase an organization, and wait for the proof."""

    async def request(erasures: Erasures, connection: MongoConnection) -> Erasure:
        del connection
        return await erasures.request_organization(
            organization_id, requested_by=_operator(), options=options, is_dry_run=is_dry_run, reason=reason
        )

    _run(settings, data_dir, request)


def _erase_documents(
    settings: Settings,
    data_dir: Path | None,
    organization_id: str,
    *,
    document_ids: Sequence[str],
    tags: Sequence[str],
    name_contains: str | None,
    metadata: Sequence[str],
    uploaded_before: datetime | None,
    is_dry_run: bool,
    reason: str | None,
) -> None:
    """Erase an organization's documents that match all criteria; `tags` are names."""

    async def request(erasures: Erasures, connection: MongoConnection) -> Erasure:
        known = await TagRepository(connection).ids_of_names(organization_id, tags)
        for name in tags:
            if name not in known:
                raise NotFoundError(f"The organization {organization_id} has no tag named {name!r}.")
        selection = DocumentSelection(
            document_ids=tuple(document_ids),
            tag_ids=tuple(known[name] for name in tags),
            name_contains=name_contains,
            metadata=dict(_pair(item) for item in metadata),
            uploaded_before=uploaded_before,
        )
        return await erasures.request_documents(
            organization_id, selection, requested_by=_operator(), is_dry_run=is_dry_run, reason=reason
        )

    _run(settings, data_dir, request)


def _erase_cache(
    settings: Settings,
    data_dir: Path | None,
    organization_id: str,
    *,
    includes_shared: bool,
    is_dry_run: bool,
    reason: str | None,
) -> None:
    """Erase cached embeddings of an organization."""

    async def request(erasures: Erasures, connection: MongoConnection) -> Erasure:
        del connection
        return await erasures.request_cache(
            organization_id,
            requested_by=_operator(),
            includes_shared=includes_shared,
            is_dry_run=is_dry_run,
            reason=reason,
        )

    _run(settings, data_dir, request)


def print_table(settings: Settings, data_dir: Path | None, organization_id: str | None) -> None:
    """Print erasures, latest first."""

    async def read(connection: MongoConnection) -> list[Erasure]:
        page, _ = await Services(settings, connection).operations.erasures.page(organization_id, skip=0, limit=100)
        return page

    found = on_database(settings, data_dir, read)
    if not found:
        note("There are no erasures yet.")
        return
    headings = ("erasure", "kind", "organization", "state", "requested", "finished", "rows")
    print_rows(headings, [_row(item) for item in found])


def print_one(settings: Settings, data_dir: Path | None, erasure_id: str, *, names_documents: bool) -> None:
    """Print the report of an erasure, and the ids of its documents if they are wanted."""

    async def read(connection: MongoConnection) -> Erasure:
        return await Services(settings, connection).operations.erasures.get(erasure_id)

    erasure = on_database(settings, data_dir, read)
    print_report(erasure)
    if names_documents:
        output.print()
        for document_id in erasure.document_ids:
            output.print(document_id, markup=False)


def go_on(settings: Settings, data_dir: Path | None, erasure_id: str) -> None:
    """Continue an erasure whose command was stopped."""

    async def find(erasures: Erasures, connection: MongoConnection) -> Erasure:
        del connection
        return await erasures.get(erasure_id)

    _run(settings, data_dir, find)


def set_retention(settings: Settings, data_dir: Path | None, organization_id: str, days: int | None) -> None:
    """Set the number of days after which an organization's documents are deleted; None: never."""

    async def write(connection: MongoConnection) -> None:
        retention = Services(settings, connection).operations.retention
        await retention.set_days(organization_id, days)

    on_database(settings, data_dir, write)
    if days is None:
        note("Its documents are kept until they are deleted by hand.")
    else:
        note(f"The reconciler deletes its documents {days} days after the upload of their file.")


def describe_organization(settings: Settings, data_dir: Path | None, organization_id: str) -> str:
    """Return the organization's name for the confirmation of its erasure; its id if only remains of it are left."""

    async def read(connection: MongoConnection) -> str:
        organization = await OrganizationRepository(connection).get(organization_id)
        return organization_id if organization is None else organization.name

    return on_database(settings, data_dir, read)


def print_report(erasure: Erasure) -> None:
    """Print the erased rows and the proof."""
    lines = [
        ("erasure", erasure.id),
        ("kind", f"{erasure.kind.value}{', a dry run: nothing was erased' if erasure.is_dry_run else ''}"),
        ("organization", erasure.organization_id),
        ("state", erasure.state.value),
        ("requested", f"{erasure.requested_at:{SECOND}} by {erasure.requested_by}"),
        ("reason", erasure.reason or ""),
        ("finished", f"{erasure.finished_at:{SECOND}}" if erasure.finished_at else ""),
        ("documents", str(erasure.documents) if erasure.documents else ""),
        ("kept", _kept(erasure)),
        ("error", f"{erasure.error.code}: {erasure.error.detail}" if erasure.error else ""),
        ("proof", _proof(erasure)),
    ]
    for name, value in lines:
        if value:
            output.print(f"{name:<12} {value}", markup=False)
    if erasure.counts:
        output.print()
        print_rows(("collection", "rows"), [(name, str(count)) for name, count in sorted(erasure.counts.items())])


def _run(settings: Settings, data_dir: Path | None, request: Request) -> None:
    logs.configure(as_json=settings.log_json, level="WARNING", process="erase")

    async def work(connection: MongoConnection) -> Erasure:
        erasures = Services(settings, connection).operations.erasures
        erasure = await request(erasures, connection)
        if erasure.state is ErasureState.DONE:
            return erasure
        note(f"Erasure {erasure.id} has begun. A worker continues it if this command is stopped.")
        try:
            return await erasures.run(erasure.id, on_wait=_told)
        except asyncio.CancelledError:
            note(f"`analytiq erase show {erasure.id}` shows its progress.")
            raise

    print_report(on_database(settings, data_dir, work))


def _told(wait: Wait) -> None:
    note(f"… {wait.reason}: {wait.seconds:.0f} s")


def _proof(erasure: Erasure) -> str:
    if erasure.is_dry_run or erasure.left is None:
        return ""
    if erasure.left:
        return ", ".join(f"{count} left in {name}" for name, count in erasure.left.items())
    if erasure.state is ErasureState.DONE:
        return "a search of every collection afterwards found nothing"
    return "nothing is left; running work gets time to end before this counts"


def _kept(erasure: Erasure) -> str:
    """Name the documents around erased parts whose files still contain them."""
    if not erasure.holder_ids:
        return ""
    named = ", ".join(erasure.holder_ids[:MOST_HOLDERS]) + (", …" if len(erasure.holder_ids) > MOST_HOLDERS else "")
    return f"{named}: their files still contain erased parts; erase them too"


def _row(erasure: Erasure) -> tuple[str, ...]:
    finished = f"{erasure.finished_at:{SECOND}}" if erasure.finished_at else ""
    kind = f"{erasure.kind.value} (dry run)" if erasure.is_dry_run else erasure.kind.value
    rows = str(sum(erasure.counts.values()))
    requested = f"{erasure.requested_at:{SECOND}}"
    return erasure.id, kind, erasure.organization_id, erasure.state.value, requested, finished, rows


def _pair(item: str) -> tuple[str, str | int | float | bool]:
    """Parse `key=value`; a value that is a number or true/false becomes one."""
    name, separator, text = item.partition("=")
    if not separator or not name:
        raise InvalidInputError.of_field("--metadata", f"{item!r} is not of the form KEY=VALUE.")
    try:
        value = json.loads(text)
    except ValueError:
        return name, text
    return name, value if isinstance(value, int | float | bool) else text


def _operator() -> str:
    return f"operator {getpass.getuser()}"
