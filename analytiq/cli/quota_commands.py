"""`analytiq quota …`: its commands and their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir

app = typer.Typer(help="How many SPUs an organization may use, directly in the database.", no_args_is_help=True)

OfOrganization = Annotated[str | None, typer.Option("--organization", help="Its id; the oldest, if left out.")]


@app.command("show")
def quota_show(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Show an organization's quota, and what of it is used."""
    from analytiq.cli.usage import show_quota
    from analytiq.settings import read_settings

    with errors_as_sentences():
        show_quota(read_settings(), data_dir, organization)


@app.command("set")
def quota_set(
    spus: Annotated[int, typer.Argument(min=0, help="In all, those used included.")],
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Let an organization use so many SPUs in all; what waits for them goes on within seconds."""
    from analytiq.cli.usage import set_quota
    from analytiq.settings import read_settings

    with errors_as_sentences():
        set_quota(read_settings(), data_dir, organization, spus)


@app.command("add")
def quota_add(
    spus: Annotated[int, typer.Argument(min=1, help="More than until now.")],
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Raise an organization's quota; what waits for SPUs goes on within seconds."""
    from analytiq.cli.usage import top_up
    from analytiq.settings import read_settings

    with errors_as_sentences():
        top_up(read_settings(), data_dir, organization, spus)


@app.command("lift")
def quota_lift(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Let an organization use as many SPUs as it wants."""
    from analytiq.cli.usage import set_quota
    from analytiq.settings import read_settings

    with errors_as_sentences():
        set_quota(read_settings(), data_dir, organization, None)
