"""`analytiq quota …`, directly in the database: a token of an organization must not raise its own quota."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences, print_rows
from analytiq.cli.options import DataDir
from analytiq.models.quota import SpuAccount
from analytiq.settings import Settings, read_settings
from analytiq.standalone.local_database import on_database, organization_of
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.tenancy.metering.charges import Metering

app = typer.Typer(help="Manage an organization's quota of SPUs, directly in the database.", no_args_is_help=True)

OfOrganization = Annotated[
    str | None, typer.Option("--organization", help="Id of the organization. Default: the oldest.")
]


@app.command("show")
def quota_show(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Show an organization's SPU quota and usage."""
    with errors_as_sentences():
        show_quota(read_settings(), data_dir, organization)


@app.command("set")
def quota_set(
    spus: Annotated[int, typer.Argument(min=0, help="Total SPUs, including used ones.")],
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Set an organization's quota of SPUs in all; waiting work resumes within seconds."""
    with errors_as_sentences():
        set_quota(read_settings(), data_dir, organization, spus)


@app.command("add")
def quota_add(
    spus: Annotated[int, typer.Argument(min=1, help="SPUs to add.")],
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Raise an organization's quota; waiting work resumes within seconds."""
    with errors_as_sentences():
        top_up(read_settings(), data_dir, organization, spus)


@app.command("lift")
def quota_lift(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Remove an organization's quota of SPUs."""
    with errors_as_sentences():
        set_quota(read_settings(), data_dir, organization, None)


Change = Callable[[Metering, str], Awaitable[SpuAccount]]


def show_quota(settings: Settings, data_dir: Path | None, organization_id: str | None) -> None:
    """Print an organization's quota."""
    _print(_on_account(settings, data_dir, organization_id, lambda metering, found: metering.account(found)))


def set_quota(settings: Settings, data_dir: Path | None, organization_id: str | None, quota: int | None) -> None:
    """Set an organization's SPU quota; None: unlimited."""
    _print(_on_account(settings, data_dir, organization_id, lambda metering, found: metering.set_quota(found, quota)))


def top_up(settings: Settings, data_dir: Path | None, organization_id: str | None, spus: int) -> None:
    """Raise an organization's quota."""
    _print(_on_account(settings, data_dir, organization_id, lambda metering, found: metering.top_up(found, spus)))


def _on_account(settings: Settings, data_dir: Path | None, organization_id: str | None, change: Change) -> SpuAccount:
    async def work(connection: MongoConnection) -> SpuAccount:
        organization = await organization_of(connection, organization_id)
        return await change(Metering(Repositories(connection)), organization.id)

    return on_database(settings, data_dir, work)


def _print(account: SpuAccount) -> None:
    figures = (account.quota, account.used, account.reserved, account.left)
    texts = ["unlimited" if figure is None else str(figure) for figure in figures]
    print_rows(("organization", "quota", "used", "reserved", "left"), [(account.organization_id, *texts)])
