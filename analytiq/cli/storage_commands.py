"""`analytiq storage …`: its commands and their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir

app = typer.Typer(
    help="How much an organization may store, directly in the database: for whoever runs the server.",
    no_args_is_help=True,
)

OfOrganization = Annotated[str | None, typer.Option("--organization", help="Its id; the oldest, if left out.")]


@app.command("show")
def storage_show(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Show an organization's quota, and what of it is used."""
    from analytiq.cli.storage import show
    from analytiq.settings import read_settings

    with errors_as_sentences():
        show(read_settings(), data_dir, organization)


@app.command("set")
def storage_set(
    *,
    size: Annotated[
        str | None, typer.Option("--bytes", help="Of files: a number, or one with kB, MB, GB, MiB, GiB …; or `none`.")
    ] = None,
    documents: Annotated[str | None, typer.Option(help="A number, or `none`.")] = None,
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Let an organization store so much; what is left out stays. What is stored already stays, too."""
    from analytiq.cli.storage import change
    from analytiq.settings import read_settings

    with errors_as_sentences():
        change(read_settings(), data_dir, organization, size=size, documents=documents)


@app.command("lift")
def storage_lift(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Let an organization store as much as it wants."""
    from analytiq.cli.storage import change
    from analytiq.settings import read_settings

    with errors_as_sentences():
        change(read_settings(), data_dir, organization, size="none", documents="none")


@app.command("recount")
def storage_recount(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Count anew what an organization uses, as the reconciler does once a day."""
    from analytiq.cli.storage import recount
    from analytiq.settings import read_settings

    with errors_as_sentences():
        recount(read_settings(), data_dir, organization)
